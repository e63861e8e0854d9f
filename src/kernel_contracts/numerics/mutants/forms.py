"""The same formula written so that digits cancel, or read along the wrong axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.mutants.base import Hook, Mutant, copy, each, once
from kernel_contracts.numerics.program import Node, Program


def _cancelling_form(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """erfc(x) as 1 - erf(x) and the reverse, sigmoid(x) as (1 + tanh(x / 2)) / 2, log1p and expm1 by log and exp."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op not in ("erf", "erfc", "sigmoid", "log1p", "expm1"):
            return None
        one = builder.constant(1.0)
        if node.op in ("erf", "erfc"):
            other = "erf" if node.op == "erfc" else "erfc"
            return builder.op("sub", [one, builder.op(other, args)])
        if node.op == "log1p":
            return builder.op("log", [builder.op("add", [one, *args])])
        if node.op == "expm1":
            return builder.op("sub", [builder.op("exp", args), one])
        half = builder.constant(0.5)
        inner = builder.op("tanh", [builder.op("mul", [half, *args])])
        return builder.op("mul", [half, builder.op("add", [one, inner])])

    yield from once("a form in which nearly equal numbers are subtracted", program, hook)


def _reciprocal_root(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """sqrt(x) as 1 / rsqrt(x), both rounded to the format of the output: up to an ulp off."""
    fmt = program.nodes[next(iter(program.outputs.values()))].type.format

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "sqrt":
            return None
        builder.format = fmt
        return builder.op("div", [builder.constant(1.0), builder.op("rsqrt", args)])

    yield from once("a root taken as the reciprocal of its reciprocal", program, hook)


def _expanded_square(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """(a - b)^2 as a^2 + b^2 - 2 a b: distances by way of a matrix product."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "mul" or node.args[0] != node.args[1] or builder.nodes[args[0]].op != "sub":
            return None
        a, b = builder.nodes[args[0]].args
        squares = builder.op("add", [builder.op("mul", [a, a]), builder.op("mul", [b, b])])
        return builder.op("sub", [squares, builder.op("mul", [builder.constant(2.0), builder.op("mul", [a, b])])])

    yield from once("squared differences multiplied out", program, hook)


def _broadcast_axis(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """An input with one entry a row, read as if it had one a column; beyond its end it starts again."""
    operand = {
        i: k
        for i, node in enumerate(program.nodes)
        if node.op in ("mul", "div", "add", "sub") and len(node.type.shape) == 2
        for k, a in enumerate(node.args)
        if program.nodes[a].op == "input" and program.nodes[a].type.shape == (node.type.shape[0], 1)
    }

    def hook_at(place: int) -> Hook:
        def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
            if index != place:
                return None
            rows, columns = node.type.shape
            flat = builder.op("reshape", [args[operand[index]]], {"shape": (rows,)})
            at = builder.op("mod", [builder.op("iota", [], {"size": columns}), builder.size(rows)])
            read = builder.op("gather", [flat, at], {"axis": 0})
            return copy(builder, node, [read if k == operand[index] else a for k, a in enumerate(args)])

        return hook

    yield from each(program, sorted(operand), hook_at, dict.fromkeys(operand, "one entry a row read as one a column"))


MUTANTS = (
    Mutant("cancelling_form", "a function written so that digits cancel", "cancelled", _cancelling_form, True),
    Mutant("expanded_square", "(a - b)^2 multiplied out", "cancelled", _expanded_square, True),
    Mutant("reciprocal_root", "sqrt(x) as 1 / rsqrt(x)", "wrong_value", _reciprocal_root, True),
    Mutant("broadcast_axis", "one entry a row read as one a column", "broadcast_misaligned", _broadcast_axis),
)
