"""A tiled matrix product that keeps its contract: tiles are added up in float32 and rounded at the end.

Try it: kc check examples/good_matmul.py:matmul --as matmul
"""

import numpy as np

TILE = 32


def matmul(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B, a tile of the inner dimension at a time."""
    held = np.float32 if A.dtype == np.float16 else A.dtype
    total = np.zeros((A.shape[0], B.shape[1]), held)
    for k in range(0, A.shape[1], TILE):
        total += A[:, k : k + TILE].astype(held) @ B[k : k + TILE].astype(held)
    return total.astype(A.dtype)
