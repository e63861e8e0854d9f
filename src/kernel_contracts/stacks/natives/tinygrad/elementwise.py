"""Functions of one element, in tinygrad."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tinygrad._arrays import Array


def gelu(x: Array) -> Array:
    """Not tinygrad's default, which is the tanh form."""
    return x.gelu(approximate="none")


def gelu_tanh(x: Array) -> Array:
    return x.gelu(approximate="tanh")


def silu(x: Array) -> Array:
    return x.silu()


def exp(x: Array) -> Array:
    return x.exp()


def erf(x: Array) -> Array:
    return x.erf()


def sqrt(x: Array) -> Array:
    return x.sqrt()


def scale(x: Array, *, s: float = 0.5) -> Array:
    return x * s


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def mul_chain(x: Array) -> Array:
    return x * 1000 * 0.75
