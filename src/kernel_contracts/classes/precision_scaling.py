"""C-PRC-04, mixed-precision scaling.

Claim: a loss scale or a quantization scale is computed and applied in the declared arithmetic and order, and a power
of two leaves no trace in the result away from the ends of the range.

Decided bit for bit across powers of two, since multiplying by one is exact, and by the derived bound at every scale.
The paper's relative 1e-3 of final parameters (section 4.4) is a placeholder that the rounding of bf16 alone exceeds,
and a trajectory compared after N steps says that something differed, not what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.evidence import Finding, Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem
from kernel_contracts.contracts.scaling import scalings_of


@dataclass(frozen=True, slots=True)
class ScalingClass(ValueClass):
    """Decided by values; says beside them how much stayed away from the ends of the range, and what did not."""

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        from kernel_contracts.classes.judging import judge_values

        finding = judge_values(contract, bound, observations)
        if not scalings_of(contract):
            return finding
        notes = (*finding.notes, *scale_notes(observations))
        measured = [o for o in observations if not o.skipped]
        if finding.verdict is Verdict.CONFORMS and measured and not any(o.readings.get("away") for o in measured):
            why = "no element stayed away from the ends of the range at two scales, so nothing was compared bit for bit"
            if any(o.facts.get("scales") == "unsteady" for o in measured):
                why = "the kernel's answers change by themselves, so scales cannot be compared bit for bit"
            return replace(finding, verdict=Verdict.INCONCLUSIVE, reason=why, notes=notes)
        return replace(finding, notes=notes)


def scale_notes(observations: Sequence[Observation]) -> tuple[str, ...]:
    """How much was compared bit for bit, and how many elements met the ends of a range."""
    seen = [o for o in observations if o.readings.get("scaled_calls")]
    if not seen:
        return ()
    away, size, calls = (int(sum(o.readings[k] for o in seen)) for k in ("away", "scaled_elements", "scaled_calls"))
    notes = [f"{calls} calls at other scales: {away} of {size} elements away from range ends, compared bit for bit"]
    met = {k: int(max(o.readings.get(k, 0.0) for o in seen)) for k in ("underflowed", "lost", "overflowed")}
    if any(met.values()):
        notes.append(
            f"at range ends, in the worst case: {met['underflowed']} elements underflow, {met['lost']} to zero, "
            f"{met['overflowed']} overflow"
        )
    unsteady = sum(o.facts.get("scales") == "unsteady" for o in seen)
    if unsteady:
        notes.append(f"in {unsteady} cases the same call gives other bits, so only the bound was applied")
    return tuple(notes)


CLASS = ScalingClass(
    id="C-PRC-04",
    title="Mixed-precision scaling invariance",
    family="precision",
    claim="Scales are computed and applied in the declared arithmetic and order, and powers of two leave no trace.",
    mutants=(
        "narrow", "arithmetic", "ignore_parameter", "unscale_twice", "never_unscaled", "clip_before_unscale",
        "factor_narrowed", "decay_coupled", "decay_scaled", "found_inf_ignored", "overflow_unseen", "state_kept",
        "backward_unscaled",
    ),
    extra_inputs=(MeasureItem("normal"), MeasureItem("wide", (20.0,))),
    experiment="scales",
    faults=("stale_maximum",),
)  # fmt: skip
