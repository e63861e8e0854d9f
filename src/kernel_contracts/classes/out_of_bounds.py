"""C-EXC-02, an index outside its table is treated as declared.

Claim: out of bounds the kernel raises, clamps, gives zero, wraps or drops, whichever the contract declares, and never
touches what no index names; indices inside are right in the same call.

Decided one index a call and among good ones, just outside and far outside, on tables of distinct numbers. Negative
indices down to -n are a policy of their own, because counting from the end is legal in Python and a bug in C.

An operation that takes no index and finds its own (the place of a largest element) is decided where such a search goes
wrong: on minus infinities and NaN, where nothing is larger than what it started with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_contracts.classes.base import Plan
from kernel_contracts.classes.policies import judge_policies, untried
from kernel_contracts.contracts.evidence import Finding, Observation
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem

_DECLARES = ("out_of_bounds", "out_of_bounds_read", "out_of_bounds_write")


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """A class decided by a policy on indices."""

    id: str = "C-EXC-02"
    title: str = "Out-of-bounds access semantics"
    family: str = "exception"
    claim: str = "An index outside its table is treated as the contract declares, and touches nothing else."
    mutants: tuple[str, ...] = ()
    faults: tuple[str, ...] = ("index",)
    extra_inputs: tuple[MeasureItem, ...] = ()

    def plan(self, contract: Contract, bound: Bound) -> Plan:
        measure = contract.measure
        experiment = "indices" if _takes_indices(bound) else "special_values"
        return Plan(measure.inputs, measure.shapes, measure.samples, experiment=experiment)

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        if not _takes_indices(bound):
            finding = judge_policies(contract, bound, observations, ())
            return untried(finding, observations, ("nan", "inf"), "NaN or an infinity")
        declares = any(p in contract.policies for p in _DECLARES)
        finding = judge_policies(contract, bound, observations, () if declares else ("out_of_bounds",))
        return untried(finding, observations, ("out_of_bounds", "negative_index"), "an index outside")


def _takes_indices(bound: Bound) -> bool:
    return any(fmt.kind == "int" for fmt in bound.inputs.values())


CLASS = OutOfBounds()
