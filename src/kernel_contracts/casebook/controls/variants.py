"""Right in a way that differs from the reference: other orders, other splits, other formulas of the same accuracy."""

import numpy as np

from kernel_contracts.casebook.base import Control

FLOATS = ("fp32", "fp16", "bf16")


def split_k(A, B):
    """The inner length in four parts, added in float32, one rounding."""
    total, size = np.zeros((A.shape[0], B.shape[1]), np.float32), A.shape[1]
    for k in range(4):
        cut = slice(size * k // 4, size * (k + 1) // 4)
        total = total + A[:, cut].astype(np.float32) @ B[cut].astype(np.float32)
    return total.astype(A.dtype)


def tiled(A, B, tile=48):
    """Tile by tile along every size, the last ones cut short."""
    out = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for m in range(0, A.shape[0], tile):
        for n in range(0, B.shape[1], tile):
            for k in range(0, A.shape[1], tile):
                a, b = A[m : m + tile, k : k + tile], B[k : k + tile, n : n + tile]
                out[m : m + tile, n : n + tile] += a.astype(np.float32) @ b.astype(np.float32)
    return out.astype(A.dtype)


def online_softmax(x, tile=32):
    """One pass for maximum and total; the total is scaled whenever the maximum grows."""
    wide = x.astype(np.float32)
    top = np.full((*x.shape[:-1], 1), -np.inf, np.float32)
    total = np.zeros_like(top)
    for start in range(0, x.shape[-1], tile):
        part = wide[..., start : start + tile]
        high = np.maximum(top, part.max(axis=-1, keepdims=True))
        total = total * np.exp(top - high) + np.exp(part - high).sum(axis=-1, keepdims=True)
        top = high
    return (np.exp(wide - top) / total).astype(x.dtype)


def pairwise_sum(x):
    """Halves are added to halves in float32."""
    wide = x.astype(np.float32)
    while wide.shape[-1] > 1:
        half = wide.shape[-1] // 2
        wide = np.concatenate([wide[..., :half] + wide[..., half : 2 * half], wide[..., 2 * half :]], axis=-1)
    return wide.sum(axis=-1).astype(x.dtype)


def compensated_sum(x):
    """A running total in float32 and a second one of what its roundings lose."""
    wide = x.astype(np.float32)
    total = np.zeros(x.shape[:-1], np.float32)
    lost = np.zeros(x.shape[:-1], np.float32)
    for k in range(x.shape[-1]):
        term = wide[..., k]
        after = total + term
        large = np.abs(total) >= np.abs(term)
        lost = lost + np.where(large, (total - after) + term, (term - after) + total)
        total = after
    return (total + lost).astype(x.dtype)


def merged_layernorm(x, gamma, beta, eps=1e-5):
    """Mean and squares of four chunks, merged by the exact rule for two groups, in float64."""
    n, mean, squares = 0, 0.0, 0.0
    wide = x.astype(np.float64)
    for part in np.array_split(wide, 4, axis=-1):
        size = part.shape[-1]
        if not size:
            continue
        center = part.mean(axis=-1, keepdims=True)
        gap = center - mean
        squares = squares + ((part - center) ** 2).sum(axis=-1, keepdims=True) + gap * gap * (n * size / (n + size))
        mean = mean + gap * (size / (n + size))
        n += size
    y = (wide - mean) / np.sqrt(squares / n + eps) * gamma.astype(np.float64) + beta.astype(np.float64)
    return y.astype(x.dtype)


def blocked_cumsum(x, block=64):
    """Totals inside each block, then the carry of the blocks before it, all in float32."""
    wide = x.astype(np.float32)
    carry = np.zeros((*x.shape[:-1], 1), np.float32)
    out = np.empty_like(wide)
    for start in range(0, x.shape[-1], block):
        inside = np.add.accumulate(wide[..., start : start + block], axis=-1)
        out[..., start : start + block] = inside + carry
        carry = carry + inside[..., -1:]
    return out.astype(x.dtype)


def rows_one_by_one(A, B):
    """A product of one row at a time, always in the same way: no row knows how many there are."""
    rows = [np.add.reduce((a[:, None] * B).astype(np.float32), axis=0) for a in A.astype(np.float32)]
    return np.asarray(rows, np.float32).reshape(A.shape[0], B.shape[1]).astype(A.dtype)


CONTROLS = (
    *(
        Control(f"{name}, {claim}", kernel, class_id, FLOATS, True, operation, samples=24, limit=1 << 22)
        for name, kernel, operation in (
            ("split K with fp32 partial sums", split_k, "matmul"),
            ("product by tiles", tiled, "matmul"),
            ("online softmax", online_softmax, "softmax"),
            ("pairwise sum", pairwise_sum, "sum"),
            ("compensated sum", compensated_sum, "sum"),
            ("cumulative sum by blocks", blocked_cumsum, "cumsum"),
        )
        for claim, class_id in (("accumulator", "C-PRC-01"), ("shapes", "C-CMP-03"))
    ),
    Control("split K with fp32 partial sums, order", split_k, "C-ORD-01", FLOATS, True, "matmul", samples=24),
    Control("pairwise sum, order", pairwise_sum, "C-ORD-01", FLOATS, True, "sum", samples=24, limit=1 << 22),
    Control("online softmax, stable", online_softmax, "C-PRC-02", FLOATS, True, "softmax", samples=24, limit=1 << 22),
    Control("layer norm of merged chunks", merged_layernorm, "C-PRC-02", ("fp32",), True, "layernorm", samples=24),
    Control("layer norm of merged chunks, shapes", merged_layernorm, "C-CMP-03", ("fp32",), True, "layernorm"),
    Control("product row by row", rows_one_by_one, "C-ORD-02", ("fp32",), True, "matmul", samples=3, alone=True),
)
