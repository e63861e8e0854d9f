"""fp32 to bf16 and back."""

import ml_dtypes


def faulty(x):
    """The pair of casts was removed as if it were the identity."""
    return x.copy()


def sibling(x):
    return x.astype(ml_dtypes.bfloat16).astype(x.dtype)
