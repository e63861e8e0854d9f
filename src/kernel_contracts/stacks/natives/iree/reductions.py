"""Sums, softmax and normalizations, by IREE."""

from __future__ import annotations

import math

from kernel_contracts.stacks.natives.iree._modules import Array, Graph, Port, made


def sum(x: Array) -> Array:
    return made(lambda g, x: g.convert(g.total(g.wide(x)), x.element), x)


def mean(x: Array) -> Array:
    return made(lambda g, x: g.convert(g.mean(g.wide(x)), x.element), x)


def variance(x: Array) -> Array:
    return made(lambda g, x: g.convert(_centred(g, g.wide(x))[1], x.element), x)


def _centred(g: Graph, x: Port) -> tuple[Port, Port]:
    """Differences from the mean of the last axis, and the mean of their squares."""
    d = g.sub(x, g.along(g.mean(x), x))
    return d, g.mean(g.mul(d, d))


def norm(x: Array) -> Array:
    return made(_norm, x)


def _norm(g: Graph, x: Port) -> Port:
    v = g.wide(x)
    return g.convert(g.each("stablehlo.sqrt", g.total(g.mul(v, v))), x.element)


def cumsum(x: Array) -> Array:
    return made(_cumsum, x)


def _cumsum(g: Graph, x: Port) -> Port:
    """The sum of a window that ends at each place."""
    v, n = g.wide(x), x.shape[-1]
    return g.convert(g.windows("add", v, 0.0, (1, n), (1, 1), n - 1), x.element)


def layernorm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-5) -> Array:
    return made(_layernorm, x, gamma, beta, eps=eps)


def _layernorm(g: Graph, x: Port, gamma: Port, beta: Port, eps: float) -> Port:
    d, spread = _centred(g, g.wide(x))
    factor = g.each("stablehlo.rsqrt", g.add(spread, g.like(eps, spread)))
    normal = g.mul(d, g.along(factor, d))
    scaled = g.mul(normal, g.spread(g.wide(gamma), d.shape, (1,)))
    return g.convert(g.add(scaled, g.spread(g.wide(beta), d.shape, (1,))), x.element)


def rmsnorm(x: Array, weight: Array, *, eps: float = 1e-6) -> Array:
    return made(_rmsnorm, x, weight, eps=eps)


def _rmsnorm(g: Graph, x: Port, weight: Port, eps: float) -> Port:
    v = g.wide(x)
    square = g.mean(g.mul(v, v))
    factor = g.each("stablehlo.rsqrt", g.add(square, g.like(eps, square)))
    return g.convert(g.mul(g.mul(v, g.along(factor, v)), g.spread(g.wide(weight), v.shape, (1,))), x.element)


def softmax(x: Array) -> Array:
    return made(lambda g, x: g.convert(_softmax(g, g.wide(x)), x.element), x)


def _softmax(g: Graph, x: Port) -> Port:
    e = g.each("stablehlo.exponential", g.sub(x, g.along(g.largest(x), x)))
    return g.div(e, g.along(g.total(e), e))


def log_softmax(x: Array) -> Array:
    return made(lambda g, x: g.convert(_log_softmax(g, g.wide(x)), x.element), x)


def _log_softmax(g: Graph, x: Port) -> Port:
    d = g.sub(x, g.along(g.largest(x), x))
    return g.sub(d, g.along(g.each("stablehlo.log", g.total(g.each("stablehlo.exponential", d))), d))


def logsumexp(x: Array) -> Array:
    return made(_logsumexp, x)


def _logsumexp(g: Graph, x: Port) -> Port:
    """An infinite maximum is not subtracted, as front ends do it."""
    v = g.wide(x)
    top = g.largest(v)
    finite = g.compare("LT", g.each("stablehlo.abs", top), g.like(math.inf, top))
    shift = g.select(finite, top, g.like(0.0, top))
    total = g.total(g.each("stablehlo.exponential", g.sub(v, g.along(shift, v))))
    return g.convert(g.add(g.each("stablehlo.log", total), shift), x.element)


def cross_entropy(x: Array, target: Array) -> Array:
    return made(_cross_entropy, x, target)


def _cross_entropy(g: Graph, x: Port, target: Port) -> Port:
    """The chosen logarithms by comparison with a row of places, as one-hot labels do it."""
    logs = _log_softmax(g, g.wide(x))
    chosen = g.compare("EQ", g.iota(logs.shape, 1), g.along(target, logs))
    loss = g.total(g.total(g.select(chosen, logs, g.like(0.0, logs))))
    return g.convert(g.div(loss, g.like(-float(x.shape[0]), loss)), x.element)


def attention(Q: Array, K: Array, V: Array, *, causal: bool = False) -> Array:
    return made(_attention, Q, K, V, causal=causal)


def _attention(g: Graph, Q: Port, K: Port, V: Port, causal: bool) -> Port:
    wide = "f32" if Q.element in ("f16", "bf16") else Q.element
    scores = g.dot(Q, K, (3, 3), 2, wide)
    scores = g.mul(scores, g.like(Q.shape[-1] ** -0.5, scores))
    if causal:
        seen = g.compare("GE", g.iota(scores.shape, 2), g.iota(scores.shape, 3))
        scores = g.select(seen, scores, g.like(-math.inf, scores))
    return g.convert(g.dot(_softmax(g, scores), g.wide(V), (3, 2), 2), Q.element)
