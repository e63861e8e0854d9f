"""Choices and plain arithmetic, by IREE."""

from __future__ import annotations

import math

from kernel_contracts.stacks.natives.iree._modules import Array, Graph, Port, made


def relu(x: Array) -> Array:
    return made(lambda g, x: g.each("stablehlo.maximum", x, g.like(0.0, x)), x)


def maximum(a: Array, b: Array) -> Array:
    return made(lambda g, a, b: g.each("stablehlo.maximum", a, b), a, b)


def minimum(a: Array, b: Array) -> Array:
    return made(lambda g, a, b: g.each("stablehlo.minimum", a, b), a, b)


def max(x: Array) -> Array:
    return made(lambda g, x: g.largest(x), x)


def min(x: Array) -> Array:
    return made(lambda g, x: g.reduce("minimum", x, math.inf), x)


def argmax(x: Array) -> Array:
    return made(_argmax, x)


def _argmax(g: Graph, x: Port) -> Port:
    """One reduction of numbers with their places: NaN wins, and of equal ones the lower place."""
    low, zero, place = g.number(-math.inf, (), x.element), g.number(0, (), "i64"), g.iota(x.shape, 1)
    e, rows = f"tensor<{x.element}>", x.shape[:1]
    left = f"tensor<{rows[0]}x{x.element}>, tensor<{rows[0]}xi64>"
    text = f"""stablehlo.reduce({x.name} init: {low.name}), ({place.name} init: {zero.name}) across dimensions = [1] :
      ({x.type}, {place.type}, {e}, tensor<i64>) -> ({left})
     reducer(%a: {e}, %b: {e}) (%i: tensor<i64>, %j: tensor<i64>) {{
      %more = stablehlo.compare GT, %a, %b, FLOAT : ({e}, {e}) -> tensor<i1>
      %nan = stablehlo.compare NE, %a, %a, FLOAT : ({e}, {e}) -> tensor<i1>
      %same = stablehlo.compare EQ, %a, %b, FLOAT : ({e}, {e}) -> tensor<i1>
      %before = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %first = stablehlo.and %same, %before : tensor<i1>
      %wins = stablehlo.or %more, %nan : tensor<i1>
      %named = stablehlo.or %wins, %first : tensor<i1>
      %value = stablehlo.select %wins, %a, %b : tensor<i1>, {e}
      %where = stablehlo.select %named, %i, %j : tensor<i1>, tensor<i64>
      stablehlo.return %value, %where : {e}, tensor<i64>
     }}"""
    return g.raw(text, (rows, x.element), (rows, "i64"))[1]


def clamp(x: Array, *, low: float = -1.0, high: float = 1.0) -> Array:
    return made(
        lambda g, x, low, high: g.each("stablehlo.clamp", g.like(low, x), x, g.like(high, x)), x, low=low, high=high
    )


def add(a: Array, b: Array) -> Array:
    return made(lambda g, a, b: g.add(a, b), a, b)


def mul(a: Array, b: Array) -> Array:
    return made(lambda g, a, b: g.mul(a, b), a, b)


def div(a: Array, b: Array) -> Array:
    return made(lambda g, a, b: g.div(a, b), a, b)


def max_pool(x: Array, *, window: int = 2, stride: int = 2) -> Array:
    return made(
        lambda g, x, window, stride: g.windows("maximum", x, -math.inf, (1, window), (1, stride), 0),
        x, window=window, stride=stride,
    )  # fmt: skip
