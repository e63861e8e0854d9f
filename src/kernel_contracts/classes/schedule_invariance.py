"""C-CMP-02, the choice of a schedule is neutral.

Claim: whichever schedule of its space a kernel runs under, chosen by hand, by a tuner or from a cache, its answer is
within the tolerance; the call that tunes and the calls after it give what they would give alone.

Decided by the derived bound under each schedule alone, on poisoned memory, and by calling again. The paper compares
schedules in pairs at a relative 1e-4 and takes the most accurate one as the oracle, which need not exist: two answers
within the bound of the exact one are within the sum of both bounds of each other, and two that share a fault agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel_contracts.classes.base import Plan, protocol
from kernel_contracts.contracts.evidence import Finding, Observation, Signature, Verdict
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem

#: Signatures that already say under which schedule, or that are about none.
_OWN = ("schedule_dependent", "unwritten_output", "stale_output", "first_call_differs", "tuning_leaves_trace")


@dataclass(frozen=True, slots=True)
class ScheduleClass:
    """Plans trials of every schedule; judges what they gave and says what was there to be tried."""

    id: str = "C-CMP-02"
    title: str = "Auto-tuning schedule invariance"
    family: str = "compiler"
    claim: str = "Every schedule of a kernel, and the call that chooses one, gives an answer within the tolerance."
    mutants: tuple[str, ...] = ("accumulate", "partial", "drop_tail")
    faults: tuple[str, ...] = (
        "one_row_written", "shared_output", "keeps_buffer", "adds_again", "carries_miscounted", "tuned_for_first_shape",
        "tuning_trace",
    )  # fmt: skip
    extra_inputs: tuple[MeasureItem, ...] = (MeasureItem("normal"), MeasureItem("exact"))
    extra_shapes: tuple[MeasureItem, ...] = (MeasureItem("tails", (16.0,)), MeasureItem("primes"))

    def plan(self, contract: Contract, bound: Bound) -> Plan:
        return protocol(contract, "schedules", self.extra_inputs, self.extra_shapes)

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        from kernel_contracts.classes.judging import judge_values

        finding = judge_values(contract, bound, observations)
        if finding.verdict is Verdict.VIOLATES:
            finding = replace(finding, signature=_signed(finding))
        if finding.verdict is Verdict.CONFORMS:
            finding = replace(finding, reason=_reason(finding, observations))
        return replace(finding, notes=(*finding.notes, *schedule_notes(observations)))


def _signed(finding: Finding) -> Signature | None:
    """The signature with the schedule, where one is to blame and the words leave it out."""
    label = finding.witness.facts.get("schedule") if finding.witness is not None else None
    if label is None or finding.signature is None or finding.signature.name in _OWN:
        return finding.signature
    return Signature(finding.signature.name, f"under schedule {label}: {finding.signature.detail}")


def _reason(finding: Finding, observations: Sequence[Observation]) -> str:
    tried = max((int(o.readings.get("schedules", 0.0)) for o in observations), default=0)
    if tried:
        return f"all {finding.samples} cases are within the bound under every schedule tried and again without one"
    return f"no schedule is exposed: {finding.samples} cases are within the bound on the first call and on later ones"


def schedule_notes(observations: Sequence[Observation]) -> list[str]:
    """What was there to be tried, and what was not."""
    seen = [o for o in observations if "space" in o.facts]
    if not seen:
        return []
    widest = max(seen, key=lambda o: o.readings.get("offered", 0.0))
    offered = int(widest.readings.get("offered", 0.0))
    notes = []
    if offered:
        notes.append(f"{_counted(offered)} ({widest.facts['space']}): {widest.facts.get('offered', '')}")
    else:
        notes.append(
            "the kernel exposes no schedules: only its calls and processes were compared; "
            "`kernel.schedules` and a parameter `schedule` expose them"
        )
    refused = sorted({label for o in seen for label in o.facts.get("refused", "").split("; ") if label})
    if refused:
        times = int(sum(o.readings.get("refused", 0.0) for o in seen))
        notes.append(f"{times} calls were refused, by {'; '.join(refused[:4])}")
    fresh = sum(o.readings.get("processes", 0.0) > 0 for o in seen)
    calls = int(max(o.readings.get("calls", 0.0) for o in seen))
    notes.append(f"{calls} calls without a schedule in each case; fresh processes in {fresh} of {len(seen)}")
    return notes


def _counted(n: int) -> str:
    return "1 schedule" if n == 1 else f"{n} schedules"


CLASS = ScheduleClass()
