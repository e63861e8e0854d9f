"""C-PRC-01, the declared accumulator is kept.

Claim: every sum is accumulated in the declared format; nothing is silently narrowed on the way. It says nothing about
the order of summation (C-ORD-01) or about NaN and infinities (C-EXC-01).

Decided by probes that admit exactly one answer: integers whose every partial sum is representable in the declared
accumulator (`exact`), one large addend among many small ones (`swamping`), a sweep of 2^q beside 1 (`width`), copies
through 0/1 matrices (`permutation`); and by the derived bound gamma |A||B| on ordinary data. The paper's own tolerance,
1 ulp of the accumulator (section 4.1), is exceeded by 63% to 97% of honest fp32 dot products and is not used.
"""

from __future__ import annotations

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.model import MeasureItem

CLASS = ValueClass(
    id="C-PRC-01",
    title="Precision preservation under the declared accumulator",
    family="precision",
    claim="Every sum is accumulated in the declared format.",
    mutants=("accumulate", "operands", "partial", "arithmetic", "drop_tail"),
    extra_inputs=(
        MeasureItem("normal"),
        MeasureItem("exact"),
        MeasureItem("swamping"),
        MeasureItem("width"),
        MeasureItem("permutation"),
    ),
)
