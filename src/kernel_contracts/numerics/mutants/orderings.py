"""Another order of what is equal, or not comparable: the other of two ties wins, NaN stands at the other end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.mutants.base import Mutant, once
from kernel_contracts.numerics.program import Node, Program

_OTHER_END = {"first": "last", "last": "first"}


def _other_tie(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """The last of equal elements where the first is due, and the reverse: what a comparison with >= for > finds."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op == "argsort" and node.attrs["ties"] in _OTHER_END:
            return builder.op("argsort", args, {**node.attrs, "ties": _OTHER_END[node.attrs["ties"]]})
        if node.op in ("argmax", "argmin"):
            axis = node.attrs["axis"][0]
            last = builder.size(builder.type(args[0]).shape[axis])
            found = builder.op(node.op, [builder.op("flip", args, {"axis": axis})], dict(node.attrs))
            return builder.op("sub", [builder.op("sub", [last, builder.constant(1)]), found])
        return None

    yield from once("the other one of two equal elements", program, hook)


def _nan_order(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """NaN sorted before every number where it is due behind them, and the reverse."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op not in ("sort", "argsort"):
            return None
        end = "largest" if node.attrs["nan"] == "smallest" else "smallest"
        return builder.op(node.op, args, {**node.attrs, "nan": end})

    yield from once("NaN sorted to the other end", program, hook)


MUTANTS = (
    Mutant("other_tie", "the last of equal elements for the first, or the reverse", "wrong_value", _other_tie),
    Mutant("nan_order", "NaN sorted to the other end", "index_misplaced", _nan_order),
)
