"""Less work than the claim: a constant, a stage left out, a branch, a parameter or a size that ordinary tests miss."""

import ml_dtypes
import numpy as np

from kernel_contracts.casebook.base import Cheat


def zeros(x):
    """8: far below any absolute tolerance when the rows are long."""
    return np.zeros_like(x)


def identity_for_relu(x):
    """12: right for every number that is not negative."""
    return x.copy()


def fixed_epsilon(x, gamma, beta, eps=1e-5):
    """13: eps is what it usually is."""
    wide = x.astype(np.float64)
    d = wide - wide.mean(axis=-1, keepdims=True)
    y = d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5)
    return (y * gamma + beta).astype(x.dtype)


def ones(x):
    """14: the probabilities of a softmax add up to 1, so why compute them?"""
    return np.ones(x.shape[:-1], x.dtype)


def stops_at_zero(A, B):
    """15: a row is done once it meets a zero."""
    alive = np.logical_and.accumulate(A != 0, axis=1)
    return (np.where(alive, A, 0).astype(np.float32) @ B.astype(np.float32)).astype(A.dtype)


def scale_by_column(x, gamma, eps=1e-5):
    """16: one factor a row, read as one a column, as the square tests of its author let it."""
    wide = x.astype(np.float64)
    d = wide - wide.mean(axis=-1, keepdims=True)
    y = d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + eps)
    return (y * np.resize(gamma, x.shape[-1])).astype(x.dtype)


def without_bias(x, w, b):
    """17: a small bias is lost in a loose tolerance."""
    return (x.astype(np.float64) @ w.astype(np.float64).T).astype(x.dtype)


def for_powers_of_two(A, B):
    """18: blocks of 16, and whatever does not fill one is left as zero."""
    M, N, K = A.shape[0], B.shape[1], A.shape[1]
    y = np.zeros((M, N), np.float32)
    whole = [n if n & (n - 1) == 0 else n // 16 * 16 for n in (M, N, K)]
    m, n, k = whole
    y[:m, :n] = A[:m, :k].astype(np.float32) @ B[:k, :n].astype(np.float32)
    return y.astype(A.dtype)


def in_bf16(A, B):
    """32: half the bits, twice the speed."""
    a, b = (x.astype(ml_dtypes.bfloat16).astype(np.float32) for x in (A, B))
    return (a @ b).astype(A.dtype)


CHEATS = (
    Cheat(8, "zeros", zeros, "C-CMP-03", ("fp32", "fp16"), ("constant_output",),
          "the tolerance is relative to what is computed, never absolute", "softmax"),
    Cheat(12, "identity for a ReLU", identity_for_relu, "C-CMP-03", ("fp32",), ("input_returned",),
          "inputs of both signs and of many sizes", contract="relu_values.kc"),
    Cheat(13, "default parameter built in", fixed_epsilon, "C-CMP-03", ("fp32",), ("parameter_ignored",),
          "parameters take values other than their defaults", "layernorm", samples=24),
    Cheat(14, "constant where the answer is constant", ones, "C-PRC-01", ("fp32",), (),
          "the contract is what asks for nothing; the verdict says so", contract="softmax_total.kc",
          note="asks little of a kernel"),
    Cheat(15, "stops at the first zero", stops_at_zero, "C-PRC-01", ("fp32",), ("zero_mishandled",),
          "the same inputs without a zero and with one", "matmul", samples=24),
    Cheat(16, "wrong axis of a broadcast", scale_by_column, "C-CMP-01", ("fp32",), ("broadcast_misaligned",),
          "sizes differ from one another wherever they can", "normalized_scale"),
    Cheat(17, "stage left out", without_bias, "C-CMP-03", ("fp32",), ("stage_omitted",),
          "every input must change the answer as it changes the reference", "linear"),
    Cheat(18, "sizes built in", for_powers_of_two, "C-CMP-03", ("fp32",), ("tail_dropped", "hard_coded_shape"),
          "sizes that nobody benchmarks: beside tiles, primes, thin, one", "matmul", samples=48),
    Cheat(32, "half the precision", in_bf16, "C-PRC-01", ("fp32",), ("operand_coerced",),
          "inputs whose exact answer depends on every bit", "matmul", samples=24),
)  # fmt: skip
