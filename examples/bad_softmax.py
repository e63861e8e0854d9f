"""A softmax that passes the usual test and breaks its contract: it exponentiates the logits as they come.

On standard normal inputs it agrees with a library to the last digits that assert_close looks at. Logits above 88
overflow float32, and the row is NaN.

Try it: kc check examples/bad_softmax.py:softmax --as softmax
"""

import numpy as np


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax of each row, without taking the maximum off."""
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(wide)
        return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)
