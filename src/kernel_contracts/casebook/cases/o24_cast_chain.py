"""fp32 to bf16 and back."""

import ml_dtypes

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O24", __file__, "C-CMP-01", (), ("rounding_skipped",), "cast_chain")


def faulty(x):
    """The pair of casts was removed as if it were the identity."""
    return x.copy()


def sibling(x):
    return x.astype(ml_dtypes.bfloat16).astype(x.dtype)
