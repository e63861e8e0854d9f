"""Groups of nodes that are one operation of the library: a linear layer, GELU, SiLU, layer normalization.

Requirement: in fp32 and fp64 only, where the operation's contract has the roundings between the nodes in its bound; in
fp16 a node rounds what the operation keeps wide, so there nodes stay apart. Constants are the nearest of their type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernel_contracts.conformance.onnx_import.building import Builder, Made, Value
from kernel_contracts.conformance.onnx_import.numbers import decimal

WIDE = ("float32", "float64")


def fused_sum(b: Builder, x: Value, y: Value) -> Value | None:
    """A sum that ends a linear layer or a layer normalization."""
    if x.dtype.name not in WIDE:
        return None
    for left, right in ((x, y), (y, x)):
        found = _linear(b, left, right) or _layernorm(b, left, right)
        if found is not None:
            return found
    return None


def fused_product(b: Builder, x: Value, y: Value) -> Value | None:
    """A product that ends a GELU or a SiLU."""
    if x.dtype.name not in WIDE:
        return None
    for left, right in ((x, y), (y, x)):
        made = _made(b, right, "Sigmoid")
        if made is not None and made.inputs[0].name == left.name:
            return b.reshape(b.step("silu", (b.line(left),), (left.size,)), left.shape)
    factors = list(_factors(b, x, y))
    for one, two, half in ((p, q, r) for p, q, r in _orders(factors)):
        inner = _made(b, two, "Add")
        if half.number() == 0.5 and inner is not None and _is_erf_of(b, inner, one):
            return b.reshape(b.step("gelu", (b.line(one),), (one.size,)), one.shape)
    return None


def _linear(b: Builder, product: Value, bias: Value) -> Value | None:
    """A product with weights, and a bias for each column of it."""
    made = _made(b, product, "MatMul")
    if made is None or bias.known is None or made.inputs[1].known is None or len(made.inputs[1].shape) != 2:
        return None
    width = product.shape[-1]
    if bias.size != width or bias.shape[-1:] != (width,) or len(bias.shape) > len(product.shape):
        return None
    x, weights = made.inputs
    rows = b.rows(x)
    y = b.step("linear", (rows, b.permute(weights, (1, 0)), b.line(bias)), (rows.shape[0], width))
    return b.reshape(y, product.shape)


def _layernorm(b: Builder, scaled: Value, beta: Value) -> Value | None:
    """d / sqrt(mean(d d) + eps) gamma + beta where d = x - mean(x)."""
    product = _made(b, scaled, "Mul")
    for quotient, gamma in _both(product):
        division = _made(b, quotient, "Div")
        root = division and _made(b, division.inputs[1], "Sqrt")
        shifted = root and _made(b, root.inputs[0], "Add")
        for spread, eps in _both(shifted):
            assert division is not None
            number = eps.number()
            mean = _made(b, spread, "ReduceMean")
            if number is None or mean is None or not _is_square(b, mean.inputs[0], division.inputs[0]):
                continue
            x = _deviated(b, division.inputs[0])
            if x is None or not (_over_last(mean, x) and gamma.shape == beta.shape == x.shape[-1:]):
                continue
            rows = b.rows(x)
            y = b.step("layernorm", (rows, gamma, beta), rows.shape, parameters={"eps": decimal(number, x.dtype)})
            return b.reshape(y, x.shape)
    return None


def _deviated(b: Builder, d: Value) -> Value | None:
    """The x of d = x - mean(x, last axis)."""
    made = _made(b, d, "Sub")
    mean = made and _made(b, made.inputs[1], "ReduceMean")
    if made is None or mean is None or mean.inputs[0].name != made.inputs[0].name:
        return None
    return made.inputs[0] if _over_last(mean, made.inputs[0]) else None


def _over_last(mean: Made, x: Value) -> bool:
    return mean.attributes == {"axes": [len(x.shape) - 1], "keepdims": True}


def _is_square(b: Builder, square: Value, d: Value) -> bool:
    power, product = _made(b, square, "Pow"), _made(b, square, "Mul")
    if power is not None:
        return power.inputs[0].name == d.name and power.inputs[1].number() == 2
    return product is not None and product.inputs[0].name == product.inputs[1].name == d.name


def _is_erf_of(b: Builder, added: Made, x: Value) -> bool:
    """Whether a sum is 1 + erf(x / sqrt(2))."""
    for one, curve in _both(added):
        made = _made(b, curve, "Erf")
        if made is None or one.number() != 1:
            continue
        quotient, product = _made(b, made.inputs[0], "Div"), _made(b, made.inputs[0], "Mul")
        if quotient is not None:
            return quotient.inputs[0].name == x.name and _nearest(quotient.inputs[1], math.sqrt(2))
        return any(v.name == x.name and _nearest(c, math.sqrt(0.5)) for v, c in _both(product))
    return False


def _nearest(value: Value, wanted: float) -> bool:
    return value.number() == float(np.asarray(wanted, value.dtype))


def _factors(b: Builder, x: Value, y: Value) -> Iterator[Value]:
    """Of a product of three, one of whose factors is itself a product."""
    for left, right in ((x, y), (y, x)):
        made = _made(b, left, "Mul")
        if made is not None:
            yield from (*made.inputs, right)


def _orders(factors: list[Value]) -> Iterator[tuple[Value, Value, Value]]:
    for start in range(0, len(factors), 3):
        p, q, r = factors[start : start + 3]
        yield from ((p, q, r), (p, r, q), (q, p, r), (q, r, p), (r, p, q), (r, q, p))


def _both(made: Made | None) -> Iterator[tuple[Value, Value]]:
    """The operands of a sum or product, in either order."""
    if made is not None:
        first, second = made.inputs
        yield first, second
        yield second, first


def _made(b: Builder, value: Value, op: str) -> Made | None:
    found = b.made.get(value.name)
    return found if found is not None and found.op == op else None
