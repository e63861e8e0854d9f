"""A tiled matrix product whose running total is float16: right for one tile, worse with every further one.

Each tile is accurate, so small test sizes show nothing, and the loose tolerances usual for float16 hide the rest.

Try it: kc check examples/bad_matmul.py:matmul --as matmul
"""

import numpy as np

TILE = 32


def matmul(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B, a tile of the inner dimension at a time, the total held in float16."""
    total = np.zeros((A.shape[0], B.shape[1]), np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(0, A.shape[1], TILE):
            part = A[:, k : k + TILE].astype(np.float32) @ B[k : k + TILE].astype(np.float32)
            total += part.astype(np.float16)
    return total.astype(A.dtype)
