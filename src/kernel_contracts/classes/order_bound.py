"""C-ORD-01, any valid order within the bound of the declared one.

Claim: a reduction's error stays within gamma_depth times the sum of magnitudes, where the depth is that of the declared
order: n - 1 for any, log2 n for pairwise, blocks for blocked. The result is compared with the exact sum, so zeros and a
dropped element fail. The paper's N eps max|x| is no bound (section 4.5): honest fp32 sums of a million uniform numbers
exceed it fifty times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.evidence import Finding, Observation
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem


@dataclass(frozen=True, slots=True)
class OrderClass(ValueClass):
    """Decided by values; says beside them in which order the kernel adds."""

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        from kernel_contracts.classes.judging import judge_values

        finding = judge_values(contract, bound, observations)
        notes = tuple(order_note(o) for o in observations if "order" in o.facts)
        return replace(finding, notes=(*finding.notes, *notes))


def order_note(o: Observation) -> str:
    """The revealed order and its depth, beside the declared depth."""
    terms, declared = int(o.readings["order_terms"]), int(o.readings["declared_depth"])
    if "depth" not in o.readings:
        return f"{terms} terms: no single order of additions explains the answers"
    depth = int(o.readings["depth"])
    than = "more than" if depth > declared else "within"
    return f"{terms} terms are added by {o.facts['order']}: depth {depth}, {than} the declared {declared}"


CLASS = OrderClass(
    id="C-ORD-01",
    title="Reduction-order tolerance bound",
    family="ordering",
    claim="A reduction in any valid order stays within the bound of the declared order.",
    mutants=("accumulate", "partial", "drop_tail"),
    extra_inputs=(MeasureItem("normal"), MeasureItem("positive"), MeasureItem("repeated"), MeasureItem("exact")),
    extra_shapes=(MeasureItem("large", (1 << 20,)),),
    experiment="orders",
)
