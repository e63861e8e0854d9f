"""C-PRC-03, subnormal numbers are treated as declared, on every path.

Claim: subnormal inputs, subnormal results and those in between are kept or count as zero, as the contract says for
each; vector body and tail, contiguous and strided, small and large follow one policy; a move keeps every bit; and the
caller's floating-point switches are after the call what they were before it.

Decided by answers that need no tolerance, or one far below the least normal number: x * 1, x + 0, half of the least
normal number, sums of subnormal numbers, scales by powers of two, all in the measured format's own range. The paper's
2^-140 is subnormal in fp32 alone (section 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel_contracts.classes.base import Plan, protocol
from kernel_contracts.classes.policies import judge_policies
from kernel_contracts.contracts.evidence import Finding, Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem

_POLICIES = ("subnormal_input", "subnormal_result")


@dataclass(frozen=True, slots=True)
class SubnormalNumbers:
    """A class decided by a policy on small numbers."""

    id: str = "C-PRC-03"
    title: str = "Denormal handling declaration"
    family: str = "precision"
    claim: str = "Subnormal numbers are treated as declared on every path, and the caller's switches are kept."
    mutants: tuple[str, ...] = ("operands",)
    faults: tuple[str, ...] = (
        "flush_inputs", "flush_results", "flush_in_tail", "flush_if_large", "flush_if_strided", "convert_copies",
        "canonical_nan", "quiet_nan", "drop_zero_sign", "leave_flushing_on",
    )  # fmt: skip
    extra_inputs: tuple[MeasureItem, ...] = ()

    def plan(self, contract: Contract, bound: Bound) -> Plan:
        return protocol(contract, "subnormals")

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        finding = judge_policies(contract, bound, observations, _POLICIES)
        measured = [o for o in observations if not o.skipped]
        if finding.verdict is Verdict.CONFORMS and not any(_shows(o) for o in measured):
            return replace(
                finding, verdict=Verdict.INCONCLUSIVE,
                reason="no case put a subnormal number at stake; larger sizes or another format would",
            )  # fmt: skip
        weak = sum(not o.oracle_ok for o in measured)
        if finding.verdict is Verdict.CONFORMS and weak:
            reason = f"the oracle's own error is not under 1% of the tolerance in {weak} of {len(measured)} cases"
            return replace(finding, verdict=Verdict.INCONCLUSIVE, reason=reason)
        return finding


def _shows(o: Observation) -> bool:
    """Whether a case could have told one treatment from another."""
    return any(o.readings.get(f"{kind}_at_stake") for kind in ("input", "result", "moved"))


CLASS = SubnormalNumbers()
