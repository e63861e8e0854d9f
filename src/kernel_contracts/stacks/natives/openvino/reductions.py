"""Sums, softmax and normalizations, in OpenVINO."""

from __future__ import annotations

from kernel_contracts.stacks.natives.openvino._models import Ops, Port, Value, back, made, number, one, whole, wide


def sum(x: Value) -> Value:
    return made(lambda ops, x: ops.reduce_sum(x, whole(ops, -1)), x)


def mean(x: Value) -> Value:
    return made(lambda ops, x: ops.reduce_mean(x, whole(ops, -1)), x)


def norm(x: Value) -> Value:
    return made(lambda ops, x: ops.reduce_l2(x, whole(ops, -1)), x)


def variance(x: Value) -> Value:
    return made(_variance, x)


def _variance(ops: Ops, x: Port) -> Port:
    centred = ops.subtract(x, ops.reduce_mean(x, whole(ops, -1), True))
    return ops.reduce_mean(ops.multiply(centred, centred), whole(ops, -1))


def cumsum(x: Value) -> Value:
    return made(lambda ops, x: ops.cum_sum(x, one(ops, -1)), x)


def layernorm(x: Value, gamma: Value, beta: Value, *, eps: float = 1e-5) -> Value:
    return made(_layernorm, x, gamma, beta, eps=eps)


def _layernorm(ops: Ops, x: Port, gamma: Port, beta: Port, eps: float) -> Port:
    normal = ops.mvn(x, whole(ops, -1), True, eps, "inside_sqrt")
    return ops.add(ops.multiply(normal, gamma), beta)


def rmsnorm(x: Value, weight: Value, *, eps: float = 1e-6) -> Value:
    return made(_rmsnorm, x, weight, eps=eps)


def _rmsnorm(ops: Ops, x: Port, weight: Port, eps: float) -> Port:
    """In fp32, where the number that is added fits."""
    v = wide(ops, x)
    square = ops.reduce_mean(ops.multiply(v, v), whole(ops, -1), True)
    root = ops.sqrt(ops.add(square, number(ops, eps, v)))
    return back(ops, ops.multiply(ops.divide(v, root), wide(ops, weight)), x)


def softmax(x: Value) -> Value:
    return made(lambda ops, x: ops.softmax(x, -1), x)


def log_softmax(x: Value) -> Value:
    return made(lambda ops, x: ops.log_softmax(x, -1), x)


def logsumexp(x: Value) -> Value:
    return made(_logsumexp, x)


def _logsumexp(ops: Ops, x: Port) -> Port:
    """The set has no such operation. An infinite maximum is not subtracted: no infinity is taken from itself."""
    v = wide(ops, x)
    top = ops.reduce_max(v, whole(ops, -1), True)
    shift = ops.select(ops.is_finite(top), top, number(ops, 0, v))
    total = ops.reduce_sum(ops.exp(ops.subtract(v, shift)), whole(ops, -1), True)
    return back(ops, ops.squeeze(ops.add(ops.log(total), shift), whole(ops, -1)), x)


def cross_entropy(x: Value, target: Value) -> Value:
    return made(_cross_entropy, x, target)


def _cross_entropy(ops: Ops, x: Port, target: Port) -> Port:
    chosen = ops.gather_elements(ops.log_softmax(x, -1), ops.unsqueeze(target, whole(ops, 1)), 1)
    return ops.negative(ops.reduce_mean(chosen, whole(ops, 0, 1)))


def attention(Q: Value, K: Value, V: Value, *, causal: bool = False) -> Value:
    return made(
        lambda ops, Q, K, V, causal: ops.scaled_dot_product_attention(Q, K, V, causal=causal), Q, K, V, causal=causal
    )
