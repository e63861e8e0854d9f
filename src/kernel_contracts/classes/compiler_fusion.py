"""C-CMP-01, fused equals unfused.

Claim: a fused kernel computes the composition that it replaces. Which intermediates are rounded is part of the claim:
`round(x, P)` must happen, `at_least(x, P)` may, and anything else stays in the declared arithmetic.

Decided by the derived bound of the sequential composition. Fusion usually improves accuracy, so the comparison is with
the exact composition and never with the unfused kernel.
"""

from __future__ import annotations

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.model import MeasureItem

CLASS = ValueClass(
    id="C-CMP-01",
    title="Fused-operation numerical equivalence",
    family="compiler",
    claim="A fused kernel computes the composition that it replaces, with the declared roundings.",
    mutants=(
        "narrow", "unrounded", "erf_by_tanh", "bessel", "bias_after_activation", "drop_addend", "no_mask", "drop_sqrt",
        "ignore_parameter", "truncate", "broadcast_axis",
    ),
    extra_inputs=(MeasureItem("normal"), MeasureItem("exact")),
)  # fmt: skip
