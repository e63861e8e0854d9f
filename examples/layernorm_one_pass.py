"""A layer normalization that reads its input once: the variance is E[x^2] - E[x]^2, and cancels.

With a mean near zero it is as good as any. With a mean of a thousand and a spread of one, nothing of the variance is
left in float32, and it may even come out negative.

Try it: kc check examples/layernorm_one_pass.py:layernorm --as layernorm
"""

import numpy as np


def layernorm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """Layer normalization of each row from its first two moments."""
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    mean = wide.mean(axis=-1, keepdims=True)
    variance = (wide * wide).mean(axis=-1, keepdims=True) - mean * mean
    with np.errstate(divide="ignore", invalid="ignore"):
        y = (wide - mean) / np.sqrt(variance + eps) * gamma.astype(wide.dtype) + beta.astype(wide.dtype)
    return y.astype(x.dtype)
