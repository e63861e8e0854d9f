"""Sums, softmax and normalizations, as ONNX nodes."""

from __future__ import annotations

from kernel_contracts.stacks.natives.onnxruntime._models import Value, constant, one


def sum(x: Value) -> Value:
    return one("ReduceSum", x, constant([-1]), keepdims=0)


def mean(x: Value) -> Value:
    return one("ReduceMean", x, constant([-1]), keepdims=0)


def norm(x: Value) -> Value:
    return one("ReduceL2", x, constant([-1]), keepdims=0)


def cumsum(x: Value) -> Value:
    return one("CumSum", x, constant(-1))


def layernorm(x: Value, gamma: Value, beta: Value, *, eps: float = 1e-5) -> Value:
    return one("LayerNormalization", x, gamma, beta, axis=-1, epsilon=eps)


def rmsnorm(x: Value, weight: Value, *, eps: float = 1e-6) -> Value:
    return one("RMSNormalization", x, weight, axis=-1, epsilon=eps)


def softmax(x: Value) -> Value:
    return one("Softmax", x, axis=-1)


def log_softmax(x: Value) -> Value:
    return one("LogSoftmax", x, axis=-1)


def logsumexp(x: Value) -> Value:
    return one("ReduceLogSumExp", x, constant([-1]), keepdims=0)


def cross_entropy(x: Value, target: Value) -> Value:
    return one("SoftmaxCrossEntropyLoss", x, target, reduction="mean")


def attention(Q: Value, K: Value, V: Value, *, causal: bool = False) -> Value:
    return one("Attention", Q, K, V, is_causal=int(causal))
