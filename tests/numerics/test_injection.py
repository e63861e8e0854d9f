"""Every fault changes the product as it says, and the check finds it wherever its size allows."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernel_contracts.errors import UsageError
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.injection import FAULTS, NEEDS_OPERANDS, WARP, inject

RNG = np.random.default_rng(1)
A = RNG.standard_normal((96, 256), dtype=np.float32)
B = RNG.standard_normal((256, 128), dtype=np.float32)
C = A @ B
BELOW = ("rounding_changed", "scale_wrong")
"""In fp32 these stay within honest rounding; with a narrow output they do not."""


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize("seed", range(3))
def test_each_fault_is_planted_and_found(fault: str, seed: int) -> None:
    a, b, c = A, B, C
    if fault in BELOW:
        a, b = A.astype(ml_dtypes.bfloat16), B.astype(ml_dtypes.bfloat16)
        c = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    kept = c.copy()
    done = inject(fault, c, a=a, b=b, seed=seed, number=20 if fault == "bit_flip" else None)
    assert np.array_equal(c, kept), "the product given is not written to"
    assert done.value.dtype == c.dtype
    assert done.changed > 0
    assert done.fault == fault
    found = check_product(a, b, done.value, seed=seed)
    assert not found.ok, f"{done.detail}: {found}"
    assert {f.row for f in found.faults} <= set(done.rows) or len(done.rows) == 96


def test_what_each_says() -> None:
    flipped = inject("bit_flip", C, number=31, seed=1)
    assert flipped.changed == 1
    assert "sign" in flipped.detail
    (place,) = np.argwhere(flipped.value != C)
    assert flipped.value[tuple(place)] == -C[tuple(place)]
    periodic = inject("warp_periodic", C, seed=2)
    columns = np.flatnonzero((periodic.value != C).any(axis=0))
    assert set(np.diff(columns)) == {WARP}
    swapped = inject("tile_swapped", C, number=8, seed=3)
    assert np.array_equal(np.sort(swapped.value.ravel()), np.sort(C.ravel()))
    narrowed = inject("accumulator_narrowed", C, a=A, b=B, number=30, seed=0)
    np.testing.assert_allclose(narrowed.value, C, rtol=1e-4, atol=1e-4)
    dropped = inject("slice_dropped", C, a=A, b=B, number=256, seed=0)
    assert np.abs(dropped.value[dropped.rows[0]]).max() < 1e-3, "all of the sum"


@pytest.mark.parametrize("fault", sorted(NEEDS_OPERANDS))
def test_faults_of_the_sum_need_operands(fault: str) -> None:
    with pytest.raises(UsageError, match="give the operands"):
        inject(fault, C)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("bit_flop", C, {}), "bit_flip"),
        (("bit_flip", C, {"number": 32}), "bits 0 to 31"),
        (("bit_flip", C[0], {}), "one matrix"),
        (("row_stale", C[:1], {}), "two rows"),
        (("accumulator_narrowed", C, {"a": A, "b": B, "number": 99}), "2 to 53"),
    ],
)
def test_misuse(call: tuple[str, Any, dict[str, Any]], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        inject(call[0], call[1], **call[2])


def test_integers_take_bit_flips() -> None:
    c = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert inject("bit_flip", c, number=31, seed=1).changed == 1
