"""Attention by tiles with an online softmax."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase(
    "O05", __file__, "C-PRC-02", ("fp32",), ("overflowed", "rescaling_skipped"), "attention", limit=1 << 26
)

TILE = 16


def weighted(scores, values, running, tile=TILE):
    """softmax(scores) @ values, tile by tile. `running`: the maximum of all tiles so far, and not of this one alone."""
    rows = scores.shape[:-1]
    top = np.full((*rows, 1), -np.inf, np.float32)
    total = np.zeros((*rows, 1), np.float32)
    out = np.zeros((*rows, values.shape[-1]), np.float32)
    for start in range(0, scores.shape[-1], tile):
        part = scores[..., start : start + tile]
        high = part.max(axis=-1, keepdims=True)
        fresh = np.maximum(top, high) if running else high
        safe = np.where(np.isinf(fresh), np.float32(0), fresh)  # a tile that is masked throughout
        alpha = np.exp(top - safe)
        p = np.exp(part - safe)
        total = total * alpha + p.sum(axis=-1, keepdims=True)
        out = out * alpha + p @ values[..., start : start + tile, :]
        top = fresh
    return out / total


def _attention(Q, K, V, causal, running):
    q, k, v = (a.astype(np.float32) for a in (Q, K, V))
    scores = (q @ np.swapaxes(k, -1, -2)) / np.float32(np.sqrt(q.shape[-1]))
    if causal:
        n = scores.shape[-1]
        scores = np.where(np.arange(n)[:, None] < np.arange(n)[None, :], np.float32(-np.inf), scores)
    return weighted(scores, v, running).astype(Q.dtype)


def faulty(Q, K, V, causal=False):
    """exp(old - new) overflows where a later tile is lower by more than 88."""
    return _attention(Q, K, V, causal, running=False)


def sibling(Q, K, V, causal=False):
    return _attention(Q, K, V, causal, running=True)
