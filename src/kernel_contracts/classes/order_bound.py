"""C-ORD-01, any valid order within the bound of the declared one.

Claim: a reduction's error stays within gamma_depth times the sum of magnitudes, where the depth is that of the declared
order: n - 1 for any, log2 n for pairwise, blocks for blocked. The result is compared with the exact sum, so zeros and a
dropped element fail. The paper's N eps max|x| is no bound (section 4.5): honest fp32 sums of a million uniform numbers
exceed it fifty times.
"""

from __future__ import annotations

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.model import MeasureItem

CLASS = ValueClass(
    id="C-ORD-01",
    title="Reduction-order tolerance bound",
    family="ordering",
    claim="A reduction in any valid order stays within the bound of the declared order.",
    mutants=("accumulate", "partial", "drop_tail"),
    extra_inputs=(MeasureItem("normal"), MeasureItem("positive"), MeasureItem("repeated"), MeasureItem("exact")),
    extra_shapes=(MeasureItem("large", (1 << 20,)),),
)
