"""C-PRC-02, no avoidable cancellation.

Claim: the result is as accurate as a stable algorithm's, whatever the offset and the range of the input: softmax with
its maximum subtracted, a variance in two passes or updated (Welford). It says nothing about inputs that are infinite.

Decided by sweeps of offset and range against the stable algorithm's own derived bound. The paper's inputs (a span of
50 about zero) overflow nothing, and its relative 1e-3 rejects honest softmax entries near exp(-100): section 4.2.
"""

from __future__ import annotations

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.model import MeasureItem

CLASS = ValueClass(
    id="C-PRC-02",
    title="Catastrophic cancellation avoidance",
    family="precision",
    claim="The result is as accurate as a stable algorithm's at every offset and range.",
    mutants=("no_max_subtraction", "naive_variance", "cancelling_form", "expanded_square"),
    extra_inputs=(MeasureItem("normal"), MeasureItem("offset", ((1.0, 1e4),)), MeasureItem("range", (65536.0,))),
)
