"""C-PRC-04, mixed-precision scaling.

Claim: quantization and loss scales are computed and applied in the declared arithmetic and order. Decided by the
derived bound of the declared computation.
"""

from __future__ import annotations

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.model import MeasureItem

CLASS = ValueClass(
    id="C-PRC-04",
    title="Mixed-precision scaling invariance",
    family="precision",
    claim="Scales are computed and applied in the declared arithmetic and order.",
    mutants=("narrow", "arithmetic", "ignore_parameter"),
    extra_inputs=(MeasureItem("normal"), MeasureItem("wide", (20.0,))),
)
