"""C-ORD-03, communication and overlap change nothing.

Claim: what ranks compute together is what one rank would: data that moves arrives bit for bit, a sum over W ranks is
within gamma_(W - 1) of the sum of magnitudes, and neither the number of ranks nor pieces, overlap or earlier calls
change that. The paper's K eps relative to the result fails under cancellation, and is too loose for a gather, which
rounds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.evidence import Finding, Observation
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem


@dataclass(frozen=True, slots=True)
class CommunicationClass(ValueClass):
    """Decided by values; says beside them on how many ranks."""

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        from kernel_contracts.classes.judging import judge_values

        finding = judge_values(contract, bound, observations)
        return replace(finding, notes=(*finding.notes, *rank_notes(observations)))


def rank_notes(observations: Sequence[Observation]) -> list[str]:
    """On how many ranks was measured, and whether the kernel could be varied at all."""
    seen = [o for o in observations if "world" in o.readings]
    if not seen:
        return []
    worlds = sorted({int(o.readings["world"]) for o in seen})
    calls = int(max(o.readings["call"] for o in seen))
    notes = [f"measured on {', '.join(map(str, worlds))} ranks, up to {calls} calls in a row"]
    asked = [n for n in ("buckets", "overlap", "in_place") if any(n in o.case.scalars for o in seen)]
    if asked and not any(o.readings.get("varied") for o in seen):
        notes.append(f"the kernel has no parameter {' or '.join(asked)}, so that it was not varied")
    return notes


CLASS = CommunicationClass(
    id="C-ORD-03",
    title="Communication-overlap preservation",
    family="ordering",
    claim="Ranks together give what one would, however many, in whatever pieces, with or without overlap.",
    mutants=("accumulate",),
    faults=(
        "slot_refilled", "stale_bucket", "sums_in_input", "last_bucket_lost", "remainder_lost", "rank_skipped",
        "own_order",
    ),
    extra_inputs=(MeasureItem("normal"), MeasureItem("exact"), MeasureItem("cancelling", (1e6,))),
    experiment="ranks",
)  # fmt: skip
