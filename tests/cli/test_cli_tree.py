"""`kc tree`: the order on one line, confirmed; what has no order, and what cannot be asked, in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from kc import kc

SUMS = """
import math
import numpy as np


def folded(x):
    return np.add.accumulate(x, axis=-1)[..., -1]


def exact(x):
    return np.array([math.fsum(row) for row in x.astype(np.float64)], dtype=x.dtype)


def changing(x):
    return folded(x[:, np.random.default_rng().permutation(x.shape[1])])


def split(A, B):
    half = A.shape[1] // 2
    return A[:, :half] @ B[:half] + A[:, half:] @ B[half:]


def wrong(x):
    return x
"""


@pytest.fixture
def sums(tmp_path: Path) -> str:
    file = tmp_path / "sums.py"
    file.write_text(SUMS, encoding="utf-8")
    return str(file)


def test_an_order_is_named_and_confirmed(sums: str) -> None:
    ran = kc("tree", f"{sums}:folded", "--n", "3,20")
    assert ran.status == 0
    assert "n = 3: sequential, depth 2; confirmed in fp32 bit for bit on 16 random inputs" in ran.out
    assert "n = 20: sequential, depth 19; confirmed" in ran.out


def test_a_product_is_a_sum_too(sums: str) -> None:
    ran = kc("tree", f"{sums}:split", "--as", "matmul", "--n", "4", "--dtype", "fp64")
    assert ran.status == 0
    assert "n = 4:" in ran.out
    assert "depth 2; confirmed in fp64" in ran.out


@pytest.mark.parametrize("name", ["exact", "changing"])
def test_what_is_no_order_is_said(sums: str, name: str) -> None:
    ran = kc("tree", f"{sums}:{name}", "--n", "24")
    assert ran.status == 1
    assert "n = 24: no order of additions fits." in ran.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--n", "0"), "give numbers of terms from 1 to 4096"),
        (("--n", "many"), "give numbers of terms from 1 to 4096"),
        (("--dtype", "fp23"), "there is no such format of real numbers"),
        (("--dtype", "int64"), "there is no such format of real numbers"),
        (("--as", "softmax"), "the order of softmax cannot be revealed"),
        (("--dtype", "bf16", "--n", "300"), "bf16 counts to 256 and not to 300"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(sums: str, arguments: tuple[str, ...], says: str) -> None:
    ran = kc("tree", f"{sums}:folded", *arguments)
    assert ran.status == 2
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_kernel_that_gives_no_sum_is_told(sums: str) -> None:
    ran = kc("tree", f"{sums}:wrong", "--n", "8")
    assert ran.status == 2
    assert "returned shape [1, 8], not [1]" in ran.err
