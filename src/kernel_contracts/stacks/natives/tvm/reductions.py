"""Sums, softmax and normalizations, in TVM, in the accumulator's dtype and rounded once."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tvm._build import Array, Expression, number, rounded, run, wide


def sum(x: Array) -> Array:
    return run(_sum, x)


def _sum(x: Expression) -> Expression:
    from tvm import topi

    return rounded(topi.sum(wide(x), axis=-1), x)


def mean(x: Array) -> Array:
    return run(_mean, x)


def _mean(x: Expression) -> Expression:
    from tvm import topi

    v = wide(x)
    return rounded(topi.sum(v, axis=-1) / number(int(x.shape[-1]), v), x)


def variance(x: Array) -> Array:
    return run(_variance, x)


def _variance(x: Expression) -> Expression:
    """In two passes."""
    from tvm import topi

    v = wide(x)
    size = number(int(x.shape[-1]), v)
    off = topi.subtract(v, topi.sum(v, axis=-1, keepdims=True) / size)
    return rounded(topi.sum(topi.multiply(off, off), axis=-1) / size, x)


def norm(x: Array) -> Array:
    return run(_norm, x)


def _norm(x: Expression) -> Expression:
    from tvm import topi

    v = wide(x)
    return rounded(topi.sqrt(topi.sum(topi.multiply(v, v), axis=-1)), x)


def cumsum(x: Array) -> Array:
    return run(_cumsum, x)


def _cumsum(x: Expression) -> Expression:
    from tvm import topi

    return rounded(topi.cumsum(wide(x), axis=-1), x)


def softmax(x: Array) -> Array:
    return run(_softmax, x)


def _softmax(x: Expression) -> Expression:
    from tvm import topi

    return rounded(topi.nn.softmax(wide(x), axis=-1), x)


def log_softmax(x: Array) -> Array:
    return run(_log_softmax, x)


def _log_softmax(x: Expression) -> Expression:
    from tvm import topi

    return rounded(topi.nn.log_softmax(wide(x), axis=-1), x)


def logsumexp(x: Array) -> Array:
    return run(_logsumexp, x)


def _logsumexp(x: Expression) -> Expression:
    from tvm import topi

    v = wide(x)
    top = topi.max(v, axis=-1, keepdims=True)
    total = topi.sum(topi.exp(topi.subtract(v, top)), axis=-1)
    return rounded(topi.add(topi.squeeze(top, [-1]), topi.log(total)), x)


def layernorm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-5) -> Array:
    return run(_layernorm, x, gamma, beta, eps=eps)


def _layernorm(x: Expression, gamma: Expression, beta: Expression, eps: float) -> Expression:
    """In two passes where TVM has no layer for the format: it has one for float32 and float16."""
    from tvm import topi

    v = wide(x)
    if str(v.dtype) not in ("float32", "float16"):
        size = number(int(x.shape[-1]), v)
        off = topi.subtract(v, topi.sum(v, axis=-1, keepdims=True) / size)
        spread = topi.sum(topi.multiply(off, off), axis=-1, keepdims=True) / size
        scaled = topi.multiply(topi.divide(off, topi.sqrt(spread + number(eps, v))), wide(gamma))
        return rounded(topi.add(scaled, wide(beta)), x)
    return rounded(topi.nn.layer_norm(wide(x), wide(gamma), wide(beta), [len(x.shape) - 1], eps), x)


def rmsnorm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    return run(_rmsnorm, x, weight, eps=eps)


def _rmsnorm(x: Expression, weight: Expression, eps: float) -> Expression:
    from tvm import topi

    return rounded(topi.nn.rms_norm(wide(x), wide(weight), [len(x.shape) - 1], eps), x)
