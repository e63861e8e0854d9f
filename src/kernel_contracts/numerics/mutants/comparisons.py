"""Choices written as comparisons, which are false for NaN whichever way round they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.mutants.base import Mutant, once
from kernel_contracts.numerics.program import Node, Program

_LOSER_FIRST = {"maximum": "greater", "minimum": "less"}


def _by_comparison(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """maximum(a, b) as `a if a > b else b`: NaN in a gives b, NaN in b gives NaN."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op not in _LOSER_FIRST:
            return None
        return builder.op("where", [builder.op(_LOSER_FIRST[node.op], args), *args])

    yield from once("the second operand wherever the comparison is false", program, hook)


MUTANTS = (Mutant("max_by_comparison", "maximum and minimum by comparison", "nan_lost", _by_comparison),)
