"""From observations to a verdict, for every class that compares values with the oracle.

Order matters and is the same everywhere: refusals, then what happened to the process, then what came back, then
values. A kernel is never accused on evidence whose oracle is too weak, and never cleared on evidence that admits
every answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernel_contracts.contracts.evidence import Finding, Observation, Outcome, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.signatures import Evidence, recognize

#: Above this share of elements that admit every answer the evidence decides nothing.
MOSTLY_FREE = 0.9


def judge_values(contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
    """The verdict on one contract and one choice of dtypes."""
    measured = [o for o in observations if not o.skipped]
    if not measured:
        reasons = sorted({o.skipped for o in observations})
        why = reasons[0] if reasons else "no case was planned"
        return Finding(Verdict.INCONCLUSIVE, f"nothing could be measured: {why}")
    refused = [o for o in measured if is_refusal(o)]
    rest = [o for o in measured if not is_refusal(o)]
    if not rest:
        return Finding(Verdict.CONFORMS, "refuses what the contract lets it refuse", samples=len(refused))
    general = _general_refusal(rest)
    if general:
        return Finding(Verdict.INAPPLICABLE, general, samples=len(rest))
    failing = [o for o in rest if fails(o) and (o.oracle_ok or o.mutated)]
    if failing:
        return violation(bound, rest, failing)
    weak = [o for o in rest if not o.oracle_ok]
    if weak:
        return Finding(
            Verdict.INCONCLUSIVE,
            f"the oracle's own error is not under 1% of the tolerance in {len(weak)} of {len(rest)} cases",
            samples=len(rest),
            ratio=_ratio(rest),
            notes=("a wider oracle or smaller shapes would decide",),
        )
    return conformance(rest, refused)


def is_refusal(o: Observation) -> bool:
    """A documented refusal: it raised where the contract says `or raise`."""
    return o.outcome is Outcome.RAISED and o.readings.get("may_refuse") == 1.0


def fails(o: Observation) -> bool:
    """Whether this observation alone breaks the contract."""
    return (o.outcome is not Outcome.RETURNED and not is_refusal(o)) or bool(o.mutated) or o.violating


def _general_refusal(rest: Sequence[Observation]) -> str:
    """A kernel that raises the same on every ordinary input does not offer this scope; one that raises on some does."""
    if any(o.outcome is not Outcome.RAISED for o in rest):
        return ""
    kinds = {o.detail.partition(":")[0] for o in rest}
    return f"the kernel refuses every input of this scope: {rest[0].detail}" if len(kinds) == 1 else ""


def violation(bound: Bound, rest: Sequence[Observation], failing: Sequence[Observation]) -> Finding:
    """Names the defect on the smallest failing case, values before crashes of the same size."""
    witness = min(failing, key=lambda o: (_severity(o), o.case.work, o.case.id))
    output = next(iter(bound.outputs.values()))
    evidence = Evidence(tuple(rest), witness, bound.accumulator.precision, output.name, any(bound.contracted.values()))
    signature = recognize(evidence)
    sizes = ", ".join(f"{k} = {v}" for k, v in witness.case.dims.items())
    return Finding(
        Verdict.VIOLATES,
        f"{len(failing)} of {len(rest)} cases fail, "
        f"the smallest at {sizes or 'rank 0'} with {witness.case.family} inputs",
        signature=signature,
        witness=witness,
        ratio=_ratio(rest),
        samples=len(rest),
        failures=len(failing),
        undetermined=_share(rest, "undetermined"),
        tolerance_free=sum(r.exact for o in rest for r in o.outputs),
    )


DECEITS = ("judge_tampered", "fallback_used", "cached_output", "seed_replay", "late_write")
"""Defects that explain every other one of the same kernel."""


def _severity(o: Observation) -> int:
    """What happened to the process explains more than what the numbers say."""
    if o.defect in DECEITS:
        return -1
    if o.outcome in (Outcome.CRASHED, Outcome.HUNG, Outcome.OUT_OF_MEMORY):
        return 0
    if o.mutated or o.defect or o.outcome is Outcome.RAISED:
        return 1
    return 2


def conformance(rest: Sequence[Observation], refused: Sequence[Observation]) -> Finding:
    free = _share(rest, "undetermined")
    notes = (
        [f"{free:.1%} of the elements admit every answer (overflow or an undecidable choice)"] if free > 0.01 else []
    )
    if refused:
        notes.append(f"{len(refused)} documented refusals")
    sized = [o for o in rest if any(r.size for r in o.outputs)]
    if sized and free > MOSTLY_FREE:
        return Finding(
            Verdict.INCONCLUSIVE,
            f"{free:.0%} of all elements admit every answer; these inputs decide nothing",
            samples=len(rest),
            undetermined=free,
        )
    return Finding(
        Verdict.CONFORMS,
        f"all {len(rest)} cases within the bound",
        ratio=_ratio(rest),
        samples=len(rest),
        undetermined=free,
        tolerance_free=sum(r.exact for o in rest for r in o.outputs),
        notes=tuple(notes),
    )


def _share(observations: Sequence[Observation], field: str) -> float:
    size = sum(r.size for o in observations for r in o.outputs)
    return sum(getattr(r, field) for o in observations for r in o.outputs) / size if size else 0.0


def _ratio(observations: Sequence[Observation]) -> float:
    return max((o.ratio for o in observations), default=0.0)
