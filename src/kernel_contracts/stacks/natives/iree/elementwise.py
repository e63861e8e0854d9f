"""Functions of one element, moves and conversions, by IREE."""

from __future__ import annotations

import math

from kernel_contracts.stacks.natives.iree._modules import Array, Graph, Port, gelu_of, made, tensor


def gelu(x: Array) -> Array:
    return made(lambda g, x: g.convert(gelu_of(g, g.wide(x)), x.element), x)


def gelu_stable(x: Array) -> Array:
    return made(_gelu_stable, x)


def _gelu_stable(g: Graph, x: Port) -> Port:
    v = g.wide(x)
    tail = g.each("chlo.erfc", g.mul(v, g.like(-math.sqrt(0.5), v)))
    return g.convert(g.mul(g.mul(v, g.like(0.5, v)), tail), x.element)


def gelu_tanh(x: Array) -> Array:
    return made(_gelu_tanh, x)


def _gelu_tanh(g: Graph, x: Port) -> Port:
    v = g.wide(x)
    cube = g.mul(g.mul(g.mul(v, v), v), g.like(0.044715, v))
    inner = g.each("stablehlo.tanh", g.mul(g.add(v, cube), g.like(math.sqrt(2 / math.pi), v)))
    return g.convert(g.mul(g.mul(v, g.like(0.5, v)), g.add(g.like(1.0, v), inner)), x.element)


def silu(x: Array) -> Array:
    return made(_silu, x)


def _silu(g: Graph, x: Port) -> Port:
    v = g.wide(x)
    return g.convert(g.mul(v, g.each("stablehlo.logistic", v)), x.element)


def exp(x: Array) -> Array:
    return made(lambda g, x: g.each("stablehlo.exponential", x), x)


def erf(x: Array) -> Array:
    return made(lambda g, x: g.each("chlo.erf", x), x)


def sqrt(x: Array) -> Array:
    return made(lambda g, x: g.each("stablehlo.sqrt", x), x)


def scale(x: Array, *, s: float = 0.5) -> Array:
    return made(_scale, x, s=s)


def _scale(g: Graph, x: Port, s: float) -> Port:
    """In fp32, where the factor fits."""
    v = g.wide(x)
    return g.convert(g.mul(v, g.like(s, v)), x.element)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    return made(lambda g, a, b, c: g.add(g.mul(a, b), c), a, b, c)


def mul_chain(x: Array) -> Array:
    """All of it in the format of the data."""
    return made(lambda g, x: g.mul(g.mul(x, g.like(1000.0, x)), g.like(0.75, x)), x)


def transpose(x: Array) -> Array:
    return made(lambda g, x: g.transpose(x, (1, 0)), x)


def pad(x: Array, *, before: int = 1, after: int = 2) -> Array:
    return made(_pad, x, before=before, after=after)


def _pad(g: Graph, x: Port, before: int, after: int) -> Port:
    shape = (x.shape[0], before + x.shape[1] + after)
    zero = g.raw(f"stablehlo.constant dense<0.0> : tensor<{x.element}>", ((), x.element))[0]
    text = f"stablehlo.pad {x.name}, {zero.name}, low = [0, {before}], high = [0, {after}], interior = [0, 0]"
    return g.raw(f"{text} : ({x.type}, {zero.type}) -> {tensor(shape, x.element)}", (shape, x.element))[0]


def cast_fp32(x: Array) -> Array:
    return made(lambda g, x: g.convert(x, "f32"), x)


def cast_fp16(x: Array) -> Array:
    return made(lambda g, x: g.convert(x, "f16"), x)


def cast_bf16(x: Array) -> Array:
    return made(lambda g, x: g.convert(x, "bf16"), x)


def cast_int8(x: Array) -> Array:
    return made(lambda g, x: g.convert(x, "i8"), x)


def cast_fp8_e4m3fn_nonsaturating(x: Array) -> Array:
    """What a conversion does with numbers beyond 448."""
    return made(lambda g, x: g.convert(x, "f8E4M3FN"), x)


def cast_fp8_e4m3fn(x: Array) -> Array:
    """Brought within 448 first: a conversion by itself does not saturate."""
    return made(
        lambda g, x: g.convert(g.each("stablehlo.clamp", g.like(-448.0, x), x, g.like(448.0, x)), "f8E4M3FN"), x
    )


def cast_fp8_e5m2(x: Array) -> Array:
    return made(lambda g, x: g.convert(x, "f8E5M2"), x)


def cast_chain(x: Array) -> Array:
    return made(lambda g, x: g.convert(g.convert(x, "bf16"), "f32"), x)
