"""A softmax that keeps its contract: the maximum is taken off first, sums and exponentials are float32.

Try it: kc check examples/good_softmax.py:softmax --as softmax
"""

import numpy as np


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax of each row; float16 is widened once and rounded once."""
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    e = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)
