"""Scales applied twice, not at all, in the wrong order or in too few bits; decay and skipped steps done wrongly.

The places are found by form. A gradient is *unscaled* where data are divided by a parameter or multiplied by its
reciprocal; it is *clipped* by the minimum of one and a quotient; decay is *decoupled* where an input is multiplied by
one minus a product of parameters; a step is *skipped* where one truth value chooses for whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.mutants.base import Hook, Mutant, copy, each, format_argument, once
from kernel_contracts.numerics.program import Node, Program


def _reaches(program: Program, index: int, wanted: set[int]) -> bool:
    """Whether any of `wanted` is this node or one that it is computed from."""
    seen, queue = set(), [index]
    while queue:
        i = queue.pop()
        if i in wanted:
            return True
        if i not in seen:
            seen.add(i)
            queue += program.nodes[i].args
    return False


def _carries_data(program: Program, index: int) -> bool:
    return _reaches(program, index, set(program.inputs.values()))


def _parameter(program: Program, index: int) -> bool:
    node = program.nodes[index]
    return node.op == "scalar" and node.type.kind == "real"


def _unscaled(program: Program) -> dict[int, tuple[int, int]]:
    """For each node that unscales, the data in it and the parameter."""
    found = {}
    for i, node in enumerate(program.nodes):
        if node.op == "div" and _parameter(program, node.args[1]) and _carries_data(program, node.args[0]):
            found[i] = (node.args[0], node.args[1])
        if node.op == "mul":
            for data, factor in (node.args, node.args[::-1]):
                other = program.nodes[factor]
                reciprocal = other.op == "div" and program.nodes[other.args[0]].op == "constant"
                if reciprocal and _parameter(program, other.args[1]) and _carries_data(program, data):
                    found[i] = (data, other.args[1])
    return found


def _unscale_twice(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    places = _unscaled(program)

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if index not in places:
            return None
        by = next(k for k, a in enumerate(node.args) if a != places[index][0])
        made = copy(builder, node, args)
        return builder.op(node.op, [made, args[by]] if by else [args[by], made])

    yield from once("divided by the scale a second time", program, hook)


def _never_unscaled(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    places = _unscaled(program)

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if index not in places:
            return None
        data = args[node.args.index(places[index][0])]
        return _held(builder, data, node)

    yield from once("never divided by the scale", program, hook)


def _held(builder: Builder, data: int, node: Node) -> int:
    """The operand in the format of what stood in its place."""
    if builder.type(data).format.name == node.type.format.name:
        return data
    return builder.op("cast", [data], {"format": node.type.format})


def _coefficients(program: Program) -> list[int]:
    """Nodes min(1, limit / norm)."""
    return [
        i
        for i, n in enumerate(program.nodes)
        if n.op == "minimum"
        and {program.nodes[a].op for a in n.args} == {"constant", "div"}
        and _reaches(program, i, set(_unscaled(program)))
    ]


def _clip_before_unscale(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """The norm that decides on clipping is that of the scaled gradients."""
    places, clips = _unscaled(program), set(_coefficients(program))

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        return _Again(builder, program, {u: d for u, (d, _) in places.items()}).node(index) if index in clips else None

    yield from once("clipped by the norm of the scaled gradients", program, hook)


class _Again:
    """Builds part of a program once more, some nodes replaced by one of their operands."""

    def __init__(self, builder: Builder, program: Program, instead: Mapping[int, int]) -> None:
        self.builder, self.program, self.instead = builder, program, instead
        self.made: dict[int, int] = {}

    def node(self, index: int) -> int:
        if index not in self.made:
            node = self.program.nodes[index]
            if index in self.instead:
                self.builder.format = node.format
                self.made[index] = _held(self.builder, self.node(self.instead[index]), node)
            else:
                args = [self.node(a) for a in node.args]
                self.builder.format = node.format
                self.made[index] = copy(self.builder, node, args)
        return self.made[index]


def _factor_narrowed(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """One factor for a whole array, held in too few bits: a scale, a reciprocal, a clip coefficient."""
    fmt = format_argument(arguments, "bf16")
    places = []
    for i, n in enumerate(program.nodes):
        single = n.type.kind == "real" and not n.type.shape and n.args and n.op not in ("round", "cast", "at_least")
        if single and n.type.format.precision > fmt.precision and n.op in ("div", "mul", "minimum", "maximum", "sqrt"):
            places.append(i)

    def make(place: int) -> Hook:
        def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
            return builder.op("round", [copy(builder, node, args)], {"format": fmt}) if index == place else None

        return hook

    say = {i: f"the factor {program.nodes[i].label or program.nodes[i].op} held in {fmt}" for i in places}
    yield from each(program, places, make, say)


def _decays(program: Program) -> dict[int, tuple[int, int]]:
    """For each product w (1 - a b) with an input w: that input, and the last parameter of the product a b."""
    found = {}
    for i, node in enumerate(program.nodes):
        if node.op != "mul":
            continue
        for data, factor in (node.args, node.args[::-1]):
            kept = program.nodes[factor]
            if program.nodes[data].op != "input" or kept.op != "sub" or program.nodes[kept.args[0]].op != "constant":
                continue
            product = program.nodes[kept.args[1]]
            if product.op == "mul" and all(_parameter(program, a) for a in product.args):
                found[i] = (data, product.args[1])
    return found


def _coupled(program: Program, *, scaled: bool) -> Hook:
    decays, places = _decays(program), _unscaled(program)

    def decayed(builder: Builder, gradient: int, weight: int, rate: int, node: Node) -> int:
        builder.format = node.format
        return builder.op("add", [gradient, builder.op("mul", [rate, weight])])

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if index in decays:
            return args[node.args.index(decays[index][0])]
        for weight, rate in decays.values():
            if index in places and program.nodes[weight].type.shape == node.type.shape:
                # operands are built already or leaves, which are shared
                w, d = (copy(builder, program.nodes[i], []) for i in (weight, rate))
                if not scaled:
                    return decayed(builder, copy(builder, node, args), w, d, node)
                at = node.args.index(places[index][0])
                changed = [decayed(builder, a, w, d, node) if k == at else a for k, a in enumerate(args)]
                return copy(builder, node, changed)
        return None

    return hook


def _decay_coupled(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    if _decays(program) and _unscaled(program):
        yield from once("decay added to the gradient", program, _coupled(program, scaled=False))


def _decay_scaled(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    if _decays(program) and _unscaled(program):
        yield from once("decay added to the scaled gradient", program, _coupled(program, scaled=True))


def _found_inf_ignored(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """A step taken although gradients overflowed: what a single truth value from data holds back is done."""
    places = [
        i for i, n in enumerate(program.nodes)
        if n.op == "where" and not program.nodes[n.args[0]].type.shape and _asks_for_overflow(program, n.args[0])
    ]  # fmt: skip

    def make(place: int) -> Hook:
        def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
            if index != place:
                return None
            return args[2] if builder.type(args[2]).shape == node.type.shape else None

        return hook

    yield from each(program, places, make, dict.fromkeys(places, "the step taken in spite of an overflow"))


def _asks_for_overflow(program: Program, index: int) -> bool:
    """A truth value that is an input, or that is computed from a comparison with infinity."""
    node = program.nodes[index]
    if node.op == "input":
        return True
    if node.op == "constant" and node.attrs["value"] == float("inf"):
        return True
    return any(_asks_for_overflow(program, a) for a in node.args)


def _overflow_unseen(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """Numbers compared with themselves, which finds NaN, where they are compared with infinity."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "less" or program.nodes[node.args[1]].attr("value") != float("inf"):
            return None
        return builder.op("equal", [args[0], args[0]])

    yield from once("infinities not looked for", program, hook)


def _state_kept(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """A single number that each step carries on, returned as it came: the scale, or the count of good steps."""
    pairs = {}
    for name, i in program.outputs.items():
        kind = program.nodes[i].type
        alike = [k for k in program.inputs.values() if program.nodes[k].type == kind and _reaches(program, i, {k})]
        if not kind.shape and kind.kind != "bool" and alike and i not in program.inputs.values():
            pairs[i] = (name, alike[0])

    def make(place: int) -> Hook:
        def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
            return copy(builder, program.nodes[pairs[place][1]], []) if index == place else None

        return hook

    yield from each(program, list(pairs), make, {i: f"{name} returned as it came" for i, (name, _) in pairs.items()})


def _backward_unscaled(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """No scale at all where gradients are held in few bits: neither multiplied in nor divided out."""
    parameters = {p for _, p in _unscaled(program).values()}
    multiplied = {
        p for p in parameters for i in program.users(p)
        if program.nodes[i].op == "mul" and i not in _unscaled(program)
    }  # fmt: skip

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if index not in multiplied:
            return None
        copy(builder, node, args)
        return builder.constant(1.0)

    if multiplied:
        yield from once("gradients computed without the scale", program, hook)


MUTANTS = (
    Mutant("unscale_twice", "gradients divided by their scale twice", "unscaled_twice", _unscale_twice),
    Mutant("never_unscaled", "gradients never divided by their scale", "never_unscaled", _never_unscaled),
    Mutant("clip_before_unscale", "clipping by the scaled norm", "clipped_scaled", _clip_before_unscale),
    Mutant(
        "factor_narrowed", "a scale or another factor of a whole array in too few bits", "scale_precision_narrowed",
        _factor_narrowed, False, (("bf16",), ("fp16",)),
    ),
    Mutant("decay_coupled", "decay added to the gradient", "decay_coupled", _decay_coupled),
    Mutant("decay_scaled", "decay added to the scaled gradient", "decay_scaled", _decay_scaled),
    Mutant("found_inf_ignored", "a step taken in spite of an overflow", "found_inf_ignored", _found_inf_ignored),
    Mutant("overflow_unseen", "infinities not looked for", "found_inf_ignored", _overflow_unseen),
    Mutant("state_kept", "a scale or a count that is never updated", "scale_not_updated", _state_kept),
    Mutant("backward_unscaled", "a backward pass without the scale", "gradient_underflowed", _backward_unscaled, True),
)  # fmt: skip
