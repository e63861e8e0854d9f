"""C-EXC-01, NaN and infinities are treated as declared.

Claim: where NaN, an infinity or a negative zero goes in, what comes out is what IEEE 754 makes of the reference, or
what the declared policy says instead; everything that does not depend on it stays as it was.

Decided by putting one special value after another into every lane of a short row, at tile edges and into the tail, in
each operand. Sparse random injection, as in the author's code, misses the one lane that a vector unit treats apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_contracts.classes.base import Plan
from kernel_contracts.classes.policies import judge_policies, untried
from kernel_contracts.contracts.evidence import Finding, Observation
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem


@dataclass(frozen=True, slots=True)
class ExceptionalValues:
    """A class decided by a policy on values."""

    id: str = "C-EXC-01"
    title: str = "NaN and Inf propagation semantics"
    family: str = "exception"
    claim: str = "NaN and infinities are treated as the contract declares, at every position of every operand."
    mutants: tuple[str, ...] = ("max_by_comparison", "nan_order")
    faults: tuple[str, ...] = (
        "nan_to_zero", "nan_found_first", "nan_lost_in_tail", "nan_spreads", "nan_to_inf", "inf_to_largest",
        "inf_unsigned", "zero_unsigned",
    )  # fmt: skip
    extra_inputs: tuple[MeasureItem, ...] = ()

    def plan(self, contract: Contract, bound: Bound) -> Plan:
        measure = contract.measure
        return Plan(measure.inputs, measure.shapes, measure.samples, experiment="special_values")

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        finding = judge_policies(contract, bound, observations, ("nan", "inf"))
        finding = untried(finding, observations, ("nan",), "NaN")
        return untried(finding, observations, ("inf",), "an infinity")


CLASS = ExceptionalValues()
