"""C-CMP-03, the whole shape class and not the benchmarked part of it.

Claim: the companion contract holds at every shape that the precondition admits, and for every memory layout: sizes of
1, one less and one more than a tile, primes, thin, empty, strided and offset views. A documented refusal
(`D in {64, 128} or raise KIND`) is conforming; a wrong answer in its place is not.

Decided by the companion's derived bound on shapes drawn away from the usual sizes. Uniform sampling, as in the
author's code, rarely meets the sizes that break kernels.
"""

from __future__ import annotations

from kernel_contracts.classes.base import ValueClass
from kernel_contracts.contracts.evidence import Layout
from kernel_contracts.contracts.model import MeasureItem

CLASS = ValueClass(
    id="C-CMP-03",
    title="Shape-polymorphism preservation",
    family="compiler",
    claim="The contract holds for every shape and layout of the declared class.",
    mutants=("drop_tail", "pad_zero", "flip_rows"),
    extra_inputs=(MeasureItem("normal"), MeasureItem("constant_offset", (3.0,)), MeasureItem("exact")),
    extra_shapes=(
        MeasureItem("tails", (16.0,)),
        MeasureItem("tails", (128.0,)),
        MeasureItem("primes"),
        MeasureItem("thin"),
        MeasureItem("one"),
        MeasureItem("empty"),
        MeasureItem("held_out"),
    ),
    layouts=(Layout.CONTIGUOUS, Layout.TRANSPOSED, Layout.STRIDED, Layout.OFFSET),
)
