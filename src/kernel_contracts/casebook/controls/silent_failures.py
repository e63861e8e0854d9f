"""Failures without intent, each silent on ordinary data, numbered as in the survey of such failures.

Numbers 40 and 43 are the cases O16 and O30.
"""

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided

from kernel_contracts.casebook.base import Control


def logsumexp_of_padded_rows(x):
    """34: lanes past the end are filled with 0 and counted, where only -inf adds nothing."""
    block = np.zeros((*x.shape[:-1], -(-x.shape[-1] // 16) * 16), x.dtype)
    block[..., : x.shape[-1]] = x
    top = block.max(axis=-1, keepdims=True)
    return top[..., 0] + np.log(np.exp(block - top).sum(axis=-1))


def last_slice_dropped(A, B, tile=16):
    """35: as many tiles as fit into K; the rest of it is never read."""
    whole = A.shape[1] // tile * tile or A.shape[1]
    return (A[:, :whole].astype(np.float32) @ B[:whole].astype(np.float32)).astype(A.dtype)


def strides_ignored(x):
    """36: reads memory as if it were contiguous, whatever the strides say."""
    packed = as_strided(x, x.shape, tuple(x.itemsize * int(np.prod(x.shape[k + 1 :])) for k in range(x.ndim)))
    e = np.exp(packed - packed.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def index_clamped(table, index):
    """37: an index past the end reads the last row."""
    return table[np.clip(index, 0, table.shape[0] - 1)]


def nan_dropped(x):
    """38: a comparison with NaN is false, so the maximum never takes it."""
    return np.fmax.reduce(x, axis=-1)


def sign_of_infinity_lost(x, y):
    """38: an overflowed product is replaced by the largest number and then by +inf."""
    product = x * y
    return np.where(np.isinf(product), np.asarray(np.inf, product.dtype), product)


def order_by_batch(A, B):
    """41: few rows keep too few processors busy, so K is split for them, and a row depends on its neighbours."""
    parts = 4 if A.shape[0] == 1 else 1
    total = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for k in range(parts):
        cut = slice(A.shape[1] * k // parts, A.shape[1] * (k + 1) // parts)
        rows = [np.add.accumulate((a[cut, None] * B[cut]).astype(np.float32), axis=0) for a in A.astype(np.float32)]
        total = total + np.asarray([r[-1] if len(r) else np.zeros(B.shape[1], np.float32) for r in rows])
    return total.astype(A.dtype)


def relu_without_subnormals(x):
    """39: a device without subnormal numbers gives zero."""
    y = np.maximum(x, x.dtype.type(0))
    return np.where(np.abs(y) < np.finfo(x.dtype).tiny, x.dtype.type(0), y)


def variance_of_squares(x):
    """42: E[x^2] - E[x]^2 cancels where the mean is far above the spread."""
    return np.maximum((x * x).mean(axis=-1) - x.mean(axis=-1) ** 2, 0).astype(x.dtype)


def softmax_unshifted(x):
    """42: no maximum is subtracted, so large numbers overflow."""
    e = np.exp(x.astype(np.float32))
    return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)


def operands_in_ten_bits(A, B):
    """44: the device's default keeps 10 bits of fp32 operands after the leading one."""
    bits = [np.ascontiguousarray(a, np.float32).view(np.uint32) for a in (A, B)]
    short = [((b + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32) for b in bits]
    return (short[0] @ short[1]).astype(A.dtype)


def scale_in_bf16(x):
    """44: 448 / amax is held in bf16, whatever the type of the data."""
    amax = np.maximum(np.abs(x).astype(np.float32).max(), np.float32(1e-12))
    return np.asarray((np.float32(448) / amax).astype(ml_dtypes.bfloat16).astype(np.float32))


CONTROLS = (
    Control("34 fill value of padded lanes", logsumexp_of_padded_rows, "C-CMP-03", ("fp32",), False, "logsumexp",
            signatures=("padding_leaked",)),
    Control("35 last slice of K dropped", last_slice_dropped, "C-CMP-03", ("fp32", "fp16"), False, "matmul",
            signatures=("tail_dropped",), limit=1 << 22),
    Control("36 strides ignored", strides_ignored, "C-CMP-03", ("fp32",), False, "softmax",
            signatures=("layout_ignored",), alone=True),
    Control("37 index out of range clamped", index_clamped, "C-EXC-02", ("fp32",), False, "embedding",
            signatures=("clamped",)),
    Control("38 NaN dropped by a maximum", nan_dropped, "C-EXC-01", ("fp32", "fp16"), False, "max",
            signatures=("nan_lost",)),
    Control("38 sign of infinity lost", sign_of_infinity_lost, "C-EXC-01", ("fp32",), False, "mul",
            signatures=("inf_sign_wrong",)),
    Control("39 subnormal numbers flushed to zero", relu_without_subnormals, "C-PRC-03", ("fp32",), False, "relu",
            signatures=("input_flushed", "result_flushed")),
    Control("41 order depends on the batch", order_by_batch, "C-ORD-02", ("fp32",), False,
            contract="rows_alone.kc", signatures=("batch_dependent",), samples=3, alone=True),
    Control("42 variance as a difference of squares", variance_of_squares, "C-PRC-02", ("fp32",), False, "variance",
            signatures=("cancelled",)),
    Control("42 softmax without its maximum", softmax_unshifted, "C-PRC-02", ("fp32", "bf16"), False, "softmax",
            signatures=("overflowed",)),
    Control("44 operands of fp32 cut to tf32", operands_in_ten_bits, "C-PRC-01", ("fp32",), False, "matmul",
            signatures=("operand_coerced",), limit=1 << 24),
    Control("44 scale of fp8 held in bf16", scale_in_bf16, "C-PRC-04", ("bf16",), False, "fp8_scale",
            signatures=("scale_precision_narrowed",)),
)  # fmt: skip
