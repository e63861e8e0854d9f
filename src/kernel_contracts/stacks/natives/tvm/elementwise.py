"""Functions of one element, moves and conversions, in TVM."""

from __future__ import annotations

import math

from kernel_contracts.stacks.natives.tvm._build import Array, Expression, number, rounded, run


def _held(x: Expression) -> Expression:
    """In float32 at least: TVM compiles no erf of fp16, and compositions round once."""
    from tvm import topi

    return x if str(x.dtype) in ("float32", "float64") else topi.cast(x, "float32")


def exp(x: Array) -> Array:
    from tvm import topi

    return run(topi.exp, x)


def erf(x: Array) -> Array:
    return run(_erf, x)


def _erf(x: Expression) -> Expression:
    from tvm import topi

    return rounded(topi.erf(_held(x)), x)


def sqrt(x: Array) -> Array:
    from tvm import topi

    return run(topi.sqrt, x)


def silu(x: Array) -> Array:
    return run(_silu, x)


def _silu(x: Expression) -> Expression:
    from tvm import topi

    v = _held(x)
    return rounded(v * topi.sigmoid(v), x)


def gelu(x: Array) -> Array:
    return run(_gelu, x)


def _gelu(x: Expression) -> Expression:
    from tvm import topi

    v = _held(x)
    return rounded(v * (topi.erf(v * number(math.sqrt(0.5), v)) + number(1, v)) * number(0.5, v), x)


def gelu_tanh(x: Array) -> Array:
    return run(_gelu_tanh, x)


def _gelu_tanh(x: Expression) -> Expression:
    from tvm import topi

    v = _held(x)
    inner = (v + v * v * v * number(0.044715, v)) * number(math.sqrt(2 / math.pi), v)
    return rounded(v * (topi.tanh(inner) + number(1, v)) * number(0.5, v), x)


def scale(x: Array, *, s: float = 0.5) -> Array:
    return run(_scale, x, s=s)


def _scale(x: Expression, s: float) -> Expression:
    return x * number(s, x)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    return run(_multiply_add, a, b, c)


def _multiply_add(a: Expression, b: Expression, c: Expression) -> Expression:
    return a * b + c


def mul_chain(x: Array) -> Array:
    return run(_mul_chain, x)


def _mul_chain(x: Expression) -> Expression:
    return x * number(1000, x) * number(0.75, x)


def copy(x: Array) -> Array:
    from tvm import topi

    return run(topi.identity, x)


def transpose(x: Array) -> Array:
    from tvm import topi

    return run(topi.transpose, x)


def pad(x: Array, *, before: int = 1, after: int = 2) -> Array:
    return run(_pad, x, before=before, after=after)


def _pad(x: Expression, before: int, after: int) -> Expression:
    from tvm import topi

    return topi.nn.pad(x, [0, before], [0, after])


def cast_fp32(x: Array) -> Array:
    return _cast(x, "float32")


def cast_fp16(x: Array) -> Array:
    return _cast(x, "float16")


def cast_bf16(x: Array) -> Array:
    return _cast(x, "bfloat16")


def cast_fp8_e4m3fn(x: Array) -> Array:
    return _cast(x, "float8_e4m3fn")


def cast_fp8_e5m2(x: Array) -> Array:
    return _cast(x, "float8_e5m2")


def cast_fp8_e4m3fn_nonsaturating(x: Array) -> Array:
    """The one conversion that TVM has."""
    return _cast(x, "float8_e4m3fn")


def cast_int8(x: Array) -> Array:
    return _cast(x, "int8")


def _cast(x: Array, dtype: str) -> Array:
    from tvm import topi

    return run(topi.cast, x, dtype=dtype)


def cast_chain(x: Array) -> Array:
    return run(_cast_chain, x)


def _cast_chain(x: Expression) -> Expression:
    from tvm import topi

    return topi.cast(topi.cast(x, "bfloat16"), "float32")
