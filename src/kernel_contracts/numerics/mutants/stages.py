"""A stage done differently, in another order, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.mutants.base import Hook, Mutant, copy, each, once
from kernel_contracts.numerics.operators import adds_up
from kernel_contracts.numerics.program import Node, Program


def _no_max_subtraction(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """exp(x) for exp(x - max(x)): right until something overflows. A `+ max` elsewhere goes with it."""
    shifts = {
        i
        for i, n in enumerate(program.nodes)
        if n.op == "sub" and program.nodes[n.args[1]].op == "max" and program.nodes[n.args[1]].args[0] == n.args[0]
    }
    shifted = {program.nodes[i].args[0] for i in shifts}
    tops = {i for i, n in enumerate(program.nodes) if n.op == "max" and n.args[0] in shifted}

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if index in shifts:
            return args[0]
        if node.op == "add" and set(node.args) & tops and shifts:
            return args[1] if node.args[0] in tops else args[0]
        return None

    yield from once("the largest entry is not subtracted", program, hook)


def _naive_variance(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "var" or node.attrs["correction"] != 0:
            return None
        how = {"axis": node.attrs["axis"], "keep": node.attrs["keep"]}
        square = builder.op("mean", [builder.op("mul", [args[0], args[0]])], how)
        mean = builder.op("mean", args, how)
        return builder.op("sub", [square, builder.op("mul", [mean, mean])])

    yield from once("the variance as E[x^2] - E[x]^2", program, hook)


def _bessel(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "var" or node.attrs["correction"] not in (0, 1):
            return None
        return builder.op("var", args, {**node.attrs, "correction": 1 - node.attrs["correction"]})

    yield from once("the variance divided by n - 1 for n, or the reverse", program, hook)


def _erf_by_tanh(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """The tanh approximation where erf is claimed: erf(x / sqrt 2) -> tanh(sqrt(2/pi) (x + 0.044715 x^3))."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "erf":
            return None
        x = builder.op("mul", [args[0], builder.constant(1.4142135623730951)])
        cube = builder.op("mul", [builder.op("mul", [x, x]), x])
        inner = builder.op("add", [x, builder.op("mul", [cube, builder.constant(0.044715)])])
        return builder.op("tanh", [builder.op("mul", [inner, builder.constant(0.7978845608028654)])])

    yield from once("erf replaced by its tanh approximation", program, hook)


def _bias_after_activation(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """act(x w) + b for act(x w + b)."""
    outputs = set(program.outputs.values())
    bias: list[int] = []
    added = next((i for i, n in enumerate(program.nodes) if _adds_bias(program, n)), None)
    if added is None or not _is_transformed(program, added):
        return

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if index == added:
            late, kept = _without_bias(builder, program, node, args)
            bias.append(late)
            return kept
        if index in outputs and bias:
            if node.op == "round":
                builder.format = program.nodes[node.args[0]].format
                late = builder.op("add", [args[0], bias[0]])
                builder.format = node.format
                return copy(builder, node, [late])
            return builder.op("add", [copy(builder, node, args), bias[0]])
        return None

    yield from once("the bias added after the activation", program, hook)


def _adds_bias(program: Program, node: Node) -> bool:
    """A bias as a term of a product, or an input added to a sum."""
    if node.op == "affine":
        return True
    parts = [program.nodes[a] for a in node.args]
    return node.op == "add" and any(adds_up(p.op) for p in parts) and any(p.op == "input" for p in parts)


def _without_bias(builder: Builder, program: Program, node: Node, args: list[int]) -> tuple[int, int]:
    """The bias, and what is left without it."""
    if node.op == "affine":
        return args[2], builder.op("matmul", args[:2])
    return (args[0], args[1]) if _is_input(program, node.args[0]) else (args[1], args[0])


def _is_input(program: Program, index: int) -> bool:
    return program.nodes[index].op == "input"


def _is_transformed(program: Program, index: int) -> bool:
    """Whether anything but a rounding follows, so that the order matters."""
    return any(program.nodes[u].op != "round" for u in program.users(index))


def _drop_addend(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """One input that enters by addition left out: a bias, a skip connection."""
    places = [
        i
        for i, n in enumerate(program.nodes)
        if n.op == "affine"
        or (n.op == "add" and len({*n.args}) == 2 and sum(_is_input(program, a) for a in n.args) == 1)
    ]

    def make(place: int) -> Hook:
        def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
            if index != place:
                return None
            _, kept = _without_bias(builder, program, node, args)
            return kept if builder.type(kept).shape == node.type.shape else None

        return hook

    yield from each(program, places, make, dict.fromkeys(places, "an added input left out"))


def _no_mask(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """where(c, x, constant) without its condition."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "where" or program.nodes[node.args[2]].op != "constant":
            return None
        return args[1] if builder.type(args[1]).shape == node.type.shape else None

    yield from once("the mask ignored", program, hook)


def _drop_sqrt(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op == "sqrt" and program.nodes[node.args[0]].op in ("size", "constant", "scalar"):
            return args[0]
        return None

    yield from once("a scale of 1/D for 1/sqrt(D)", program, hook)


def _ignore_parameter(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """A parameter hard-coded: real ones to 1e-5, integers to 1, truth values to false."""
    wanted = {str(a) for a in arguments}
    fixed = {"real": 1e-5, "int": 1, "bool": False}
    for name in program.scalars:
        if wanted and name not in wanted:
            continue

        def hook(builder: Builder, index: int, node: Node, args: list[int], name: str = name) -> int | None:
            if node.op != "scalar" or node.attrs["name"] != name:
                return None
            copy(builder, node, args)
            return builder.constant(fixed[node.type.kind])

        yield from once(f"the parameter {name} ignored", program, hook)


def _wrong_last(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """The first row in place of the last one of each output: an off-by-one in a row index."""
    for output, place in program.outputs.items():
        size = program.nodes[place].type.shape[0] if program.nodes[place].type.shape else 1
        if isinstance(size, int):
            continue

        def hook(builder: Builder, index: int, node: Node, args: list[int], place: int = place) -> int | None:
            if index != place:
                return None
            x = copy(builder, node, args)
            return builder.op("flip", [x], {"axis": 0})

        yield from once(f"rows of {output} in the wrong order", program, hook)


MUTANTS = (
    Mutant("no_max_subtraction", "exponentials of unshifted arguments", "overflowed", _no_max_subtraction, True),
    Mutant("naive_variance", "E[x^2] - E[x]^2", "cancelled", _naive_variance, True),
    Mutant("bessel", "the other divisor of the variance", "function_substituted", _bessel),
    Mutant("erf_by_tanh", "tanh form for erf form", "function_substituted", _erf_by_tanh),
    Mutant("bias_after_activation", "bias and activation swapped", "stage_reordered", _bias_after_activation),
    Mutant("drop_addend", "an added input left out", "stage_omitted", _drop_addend),
    Mutant("no_mask", "a mask ignored", "mask_ignored", _no_mask),
    Mutant("drop_sqrt", "1/D for 1/sqrt(D)", "scale_wrong", _drop_sqrt),
    Mutant("ignore_parameter", "a parameter hard-coded", "parameter_ignored", _ignore_parameter),
    Mutant("flip_rows", "rows in the wrong order", "rows_swapped", _wrong_last),
)
