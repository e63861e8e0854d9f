"""StableHLO modules as text: a function of ports in, an answer out; compiled once for each set of shapes and types."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kernel_contracts.measurement.exchange import DTYPES
from kernel_contracts.stacks.iree import loaded, typed

Array = Any
_HELD = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_BUILT: dict[tuple[Any, ...], Callable[..., Any]] = {}


class Port(NamedTuple):
    """A value of a module."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return tensor(self.shape, self.element)


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def made(build: Callable[..., Any], *arrays: Array, **fixed: Any) -> Any:
    """The answer of the module that `build(graph, *ports, **fixed)` describes; a tuple where it gives several ports."""
    types = tuple(typed(a) for a in arrays)
    key = (build.__code__, types, *sorted(fixed.items()))
    if key not in _BUILT:
        _BUILT[key] = loaded(_text(build, types, fixed))
    return _BUILT[key](*arrays)


def _text(build: Callable[..., Any], types: Sequence[tuple[tuple[int, ...], str]], fixed: dict[str, Any]) -> str:
    ports = [Port(f"%x{k}", shape, element) for k, (shape, element) in enumerate(types)]
    graph = Graph()
    found = build(graph, *ports, **fixed)
    ends = [found] if isinstance(found, Port) else list(found)
    given = ", ".join(f"{p.name}: {p.type}" for p in ports)
    answers, kinds = ", ".join(p.name for p in ends), ", ".join(p.type for p in ends)
    body = "\n  ".join([*graph.lines, f"return {answers} : {kinds}"])
    return f"func.func @main({given}) -> ({kinds}) {{\n  {body}\n}}\n"


def literal(value: float, element: str) -> str:
    """A number as a module spells it: by its bits where it is a float, so that none is lost."""
    if element not in _HELD:
        return str(int(value))
    held = np.array([value], DTYPES[_HELD[element]])
    return f"0x{int(held.view(f'u{held.itemsize}')[0]):0{2 * held.itemsize}X}"


class Graph:
    """The lines of a function, each a StableHLO instruction."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def raw(self, text: str, *results: tuple[Sequence[int], str]) -> tuple[Port, ...]:
        """An instruction as it is written, and its results."""
        name = f"%v{len(self.lines)}"
        several = len(results) > 1
        self.lines.append(f"{name}{f':{len(results)}' if several else ''} = {text}")
        return tuple(Port(f"{name}#{k}" if several else name, tuple(s), e) for k, (s, e) in enumerate(results))

    def each(self, op: str, *ports: Port, element: str = "") -> Port:
        """An instruction of one element after another."""
        first = ports[-1]
        result = (first.shape, element or first.element)
        kinds = ", ".join(p.type for p in ports)
        kinds = kinds if op.startswith("chlo.") else f"({kinds})"  # that dialect writes a single type bare
        return self.raw(f"{op} {', '.join(p.name for p in ports)} : {kinds} -> {tensor(*result)}", result)[0]

    def add(self, a: Port, b: Port) -> Port:
        return self.each("stablehlo.add", a, b)

    def sub(self, a: Port, b: Port) -> Port:
        return self.each("stablehlo.subtract", a, b)

    def mul(self, a: Port, b: Port) -> Port:
        return self.each("stablehlo.multiply", a, b)

    def div(self, a: Port, b: Port) -> Port:
        return self.each("stablehlo.divide", a, b)

    def convert(self, x: Port, element: str) -> Port:
        return x if x.element == element else self.each("stablehlo.convert", x, element=element)

    def wide(self, x: Port) -> Port:
        """In fp32 at least."""
        return self.convert(x, "f32") if x.element in ("f16", "bf16") else x

    def number(self, value: float, shape: Sequence[int], element: str) -> Port:
        """The same number everywhere."""
        text = f"stablehlo.constant dense<{literal(value, element)}> : {tensor(shape, element)}"
        return self.raw(text, (shape, element))[0]

    def like(self, value: float, x: Port) -> Port:
        return self.number(value, x.shape, x.element)

    def spread(self, x: Port, shape: Sequence[int], dims: Sequence[int]) -> Port:
        """Repeated to a shape; `dims` are the places of its own axes there."""
        kinds = f"({x.type}) -> {tensor(shape, x.element)}"
        text = f"stablehlo.broadcast_in_dim {x.name}, dims = [{_list(dims)}] : {kinds}"
        return self.raw(text, (shape, x.element))[0]

    def along(self, x: Port, wanted: Port) -> Port:
        """What a reduction of the last axis left, repeated along it."""
        return self.spread(x, wanted.shape, range(len(wanted.shape) - 1))

    def reshape(self, x: Port, shape: Sequence[int]) -> Port:
        kinds = f"({x.type}) -> {tensor(shape, x.element)}"
        return self.raw(f"stablehlo.reshape {x.name} : {kinds}", (shape, x.element))[0]

    def transpose(self, x: Port, order: Sequence[int]) -> Port:
        shape = [x.shape[k] for k in order]
        text = f"stablehlo.transpose {x.name}, dims = [{_list(order)}] : ({x.type}) -> {tensor(shape, x.element)}"
        return self.raw(text, (shape, x.element))[0]

    def reduce(self, op: str, x: Port, start: float, dims: Sequence[int] = ()) -> Port:
        """Over some axes; the last one when none is named."""
        over = tuple(dims) or (len(x.shape) - 1,)
        shape = [n for k, n in enumerate(x.shape) if k not in over]
        init = self.number(start, (), x.element)
        text = (
            f"stablehlo.reduce({x.name} init: {init.name}) applies stablehlo.{op} across dimensions = [{_list(over)}]"
        )
        return self.raw(f"{text} : ({x.type}, {init.type}) -> {tensor(shape, x.element)}", (shape, x.element))[0]

    def total(self, x: Port) -> Port:
        """The sum of the last axis."""
        return self.reduce("add", x, 0.0)

    def mean(self, x: Port) -> Port:
        total = self.total(x)
        return self.div(total, self.like(x.shape[-1], total))

    def largest(self, x: Port) -> Port:
        """The maximum of the last axis."""
        return self.reduce("maximum", x, -math.inf)

    def compare(self, direction: str, a: Port, b: Port) -> Port:
        kind = "FLOAT" if a.element in _HELD else "SIGNED"
        text = f"stablehlo.compare {direction}, {a.name}, {b.name}, {kind} : ({a.type}, {b.type})"
        return self.raw(f"{text} -> {tensor(a.shape, 'i1')}", (a.shape, "i1"))[0]

    def select(self, where: Port, a: Port, b: Port) -> Port:
        return self.each("stablehlo.select", where, a, b)

    def iota(self, shape: Sequence[int], dim: int, element: str = "i64") -> Port:
        return self.raw(f"stablehlo.iota dim = {dim} : {tensor(shape, element)}", (shape, element))[0]

    def dot(self, a: Port, b: Port, over: tuple[int, int], batch: int = 0, element: str = "") -> Port:
        """The product over one axis of each, with the first `batch` axes of both kept together."""
        pairs = _list(range(batch))
        kept = [n for k, n in enumerate(a.shape) if k != over[0]]
        shape = [*kept, *(n for k, n in enumerate(b.shape) if k >= batch and k != over[1])]
        batching = f"batching_dims = [{pairs}] x [{pairs}], " if batch else ""
        result = (shape, element or a.element)
        text = f"stablehlo.dot_general {a.name}, {b.name}, {batching}contracting_dims = [{over[0]}] x [{over[1]}]"
        return self.raw(f"{text} : ({a.type}, {b.type}) -> {tensor(*result)}", result)[0]

    def windows(self, op: str, x: Port, start: float, size: Sequence[int], step: Sequence[int], before: int) -> Port:
        """A reduction of every window; `before` elements are put in front of the last axis."""
        front = [0] * (len(x.shape) - 1) + [before]
        shape = [(n + b - s) // t + 1 for n, b, s, t in zip(x.shape, front, size, step, strict=True)]
        init, scalar = self.number(start, (), x.element), tensor((), x.element)
        padding = ", ".join(f"[{b}, 0]" for b in front)
        text = (
            f'"stablehlo.reduce_window"({x.name}, {init.name}) <{{window_dimensions = array<i64: {_list(size)}>, '
            f"window_strides = array<i64: {_list(step)}>, padding = dense<[{padding}]> : tensor<{len(front)}x2xi64>}}> "
            f"({{\n  ^bb0(%p: {scalar}, %q: {scalar}):\n    %r = stablehlo.{op} %p, %q : {scalar}\n"
            f"    stablehlo.return %r : {scalar}\n  }}) : ({x.type}, {init.type}) -> {tensor(shape, x.element)}"
        )
        return self.raw(text, (shape, x.element))[0]


def gelu_of(g: Graph, x: Port) -> Port:
    """x / 2 * (1 + erf(x / sqrt(2)))"""
    inner = g.each("chlo.erf", g.mul(x, g.like(math.sqrt(0.5), x)))
    return g.mul(g.mul(x, g.like(0.5, x)), g.add(g.like(1.0, x), inner))


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
