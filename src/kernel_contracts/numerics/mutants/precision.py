"""Too few bits: a narrow accumulator, coerced operands, partial results or intermediates in a narrower format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kernel_contracts.formats import Format
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.dims import Dim, make, product
from kernel_contracts.numerics.mutants.base import Mutant, copy, each, finals, format_argument, once
from kernel_contracts.numerics.operators import adds_up
from kernel_contracts.numerics.program import Node, Program


def _accumulate(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    fmt = format_argument(arguments)

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if not adds_up(node.op) or node.type.kind != "real" or node.format.precision <= fmt.precision:
            return None
        builder.format = fmt
        return copy(builder, node, args)

    yield from once(f"sums kept in {fmt}", program, hook)


def _operands(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    fmt = format_argument(arguments, "tf32")

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if not adds_up(node.op) or node.type.kind != "real":
            return None
        wide = [builder.type(a).format.precision > fmt.precision and builder.type(a).kind == "real" for a in args]
        if not any(wide):
            return None
        args = [builder.op("round", [a], {"format": fmt}) if w else a for a, w in zip(args, wide, strict=True)]
        builder.format = node.format
        return copy(builder, node, args)

    yield from once(f"operands of sums taken in {fmt}", program, hook)


def _narrow(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """One intermediate at a time; the reduced-to-nothing ones (sizes, constants) are left alone."""
    fmt = format_argument(arguments, "bf16")
    last = finals(program)
    places = [
        i
        for i, n in enumerate(program.nodes)
        if n.args
        and n.type.kind == "real"
        and n.op not in ("round", "cast", "at_least")
        and i not in last
        and n.type.format.precision > fmt.precision
        and _carries_data(program, i)
    ]
    carried = {a for n in program.nodes if n.op == "at_least" for a in n.args}
    places = [i for i in places if i not in carried]

    def make_hook(place: int) -> Any:
        def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
            if index != place:
                return None
            return builder.op("round", [copy(builder, node, args)], {"format": fmt})

        return hook

    say = {i: f"{program.nodes[i].label or program.nodes[i].op} held in {fmt}" for i in places}
    yield from each(program, places, make_hook, say)


def _carries_data(program: Program, index: int) -> bool:
    """Whether an input array reaches this node."""
    node = program.nodes[index]
    return node.op == "input" or any(_carries_data(program, a) for a in node.args)


def _unrounded(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    places = [
        i
        for i, n in enumerate(program.nodes)
        if n.op == "round" and (i not in program.outputs.values() or _wider_output(program, i))
    ]

    def make_hook(place: int) -> Any:
        def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
            return args[0] if index == place else None

        return hook

    yield from each(
        program, places, make_hook, {i: f"rounding to {program.nodes[i].type.format} skipped" for i in places}
    )


def _wider_output(program: Program, index: int) -> bool:
    """A final rounding to less than fp32 of a value that was held in fp32 input: a cast chain."""
    node = program.nodes[index]
    return program.nodes[node.args[0]].op == "input"


def _partial(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """Split-K: each part accumulated as declared, rounded to `fmt`, the parts added in `fmt`."""
    fmt = format_argument(arguments, "fp16")
    parts = int(arguments[1]) if len(arguments) > 1 else 4

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op == "affine":  # the parts of the product alone; the bias joins at the end
            product = builder.op("matmul", args[:2])
            split = hook(builder, index, replace(node, op="matmul", type=builder.type(product)), args[:2])
            builder.format = node.format
            return None if split is None else builder.op("add", [split, args[2]])
        if node.op not in ("matmul", "sum") or node.type.kind != "real" or node.format.precision <= fmt.precision:
            return None
        shapes = [builder.type(a).shape for a in args]
        axes = [len(shapes[0]) - 1, len(shapes[1]) - 2] if node.op == "matmul" else [node.attrs["axis"][-1]]
        if min(axes) < 0 or (node.op == "sum" and len(node.attrs["axis"]) != 1):
            return None
        size: Dim = shapes[0][axes[0]]
        total: int | None = None
        for k in range(parts):
            builder.format = node.format
            start = make("//", make("*", size, k), parts)
            stop = make("//", make("*", size, k + 1), parts)
            cut = [
                builder.op("slice", [a], {"axis": axis, "start": start, "stop": stop, "step": 1})
                for a, axis in zip(args, axes, strict=True)
            ]
            part = builder.op("round", [copy(builder, node, cut)], {"format": fmt})
            builder.format = node.format
            total = part if total is None else builder.op("round", [builder.op("add", [total, part])], {"format": fmt})
        return total

    yield from once(f"{parts} partial sums added in {fmt}", program, hook)
    yield from _narrow_mean(program, fmt)


def _narrow_mean(program: Program, fmt: Format) -> Iterator[tuple[str, Program]]:
    """A mean from a sum and a count that are both held in `fmt`."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "mean" or node.type.kind != "real" or node.format.precision <= fmt.precision:
            return None
        how = {"axis": node.attrs["axis"], "keep": node.attrs["keep"]}
        total = builder.op("round", [builder.op("sum", args, how)], {"format": fmt})
        shape = builder.type(args[0]).shape
        size = builder.size(product(tuple(shape[a] for a in node.attrs["axis"])))
        return builder.op("div", [total, builder.op("cast", [size], {"format": fmt})])

    yield from once(f"sum and count of a mean held in {fmt}", program, hook)


def _truncate(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    outputs = set(program.outputs.values())

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if (
            index not in outputs
            or node.op != "round"
            or node.attrs["format"].precision >= node.attrs["source"].precision
        ):
            return None
        return builder.op("round", args, {"format": node.attrs["format"], "mode": "truncate"})

    yield from once("the result truncated instead of rounded", program, hook)


def _lower_arithmetic(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """Everything done in `fmt`: the kernel that ignores its declared arithmetic altogether."""
    fmt = format_argument(arguments, "fp16")

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if not node.args or node.type.kind != "real" or node.format.precision <= fmt.precision:
            return None
        if node.op in ("round", "cast", "at_least"):
            return None
        builder.format = fmt
        return copy(builder, replace(node, format=fmt), args)

    yield from once(f"all arithmetic in {fmt}", program, hook)


MUTANTS = (
    Mutant(
        "accumulate",
        "sums kept in a narrower format",
        "accumulator_narrowed",
        _accumulate,
        True,
        (("fp32",), ("fp16",), ("bf16",), ("acc14",)),
    ),
    Mutant(
        "operands",
        "operands of sums rounded first",
        "operand_coerced",
        _operands,
        False,
        (("fp32",), ("tf32",), ("bf16",)),
    ),
    Mutant(
        "narrow",
        "one intermediate held in a narrower format",
        "intermediate_narrowed",
        _narrow,
        False,
        (("fp32",), ("bf16",)),
    ),
    Mutant("unrounded", "a mandated rounding skipped", "rounding_skipped", _unrounded),
    Mutant(
        "partial",
        "parts of a sum rounded before they are added",
        "partial_sums_narrowed",
        _partial,
        False,
        (("fp16", 4), ("bf16", 4)),
    ),
    Mutant("truncate", "the result truncated instead of rounded", "rounding_truncated", _truncate, True),
    Mutant(
        "arithmetic",
        "all arithmetic in a narrower format",
        "arithmetic_narrowed",
        _lower_arithmetic,
        True,
        (("fp32",), ("fp16",), ("bf16",)),
    ),
)
