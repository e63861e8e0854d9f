"""Convolution, attention, sums, all-reduce and look-ups: right ones pass, one wrong element is found and placed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernel_contracts.numerics.freivalds.checksums import (
    check_all_reduce,
    check_attention,
    check_convolution,
    check_lookup,
    check_softmax,
    check_sum,
)

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("axes", "how"),
    [
        (1, {"stride": 2, "padding": 1}),
        (2, {}),
        (2, {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}),
        (2, {"groups": 2, "padding": 1}),
        (3, {"padding": 1, "stride": 2}),
    ],
)
def test_convolutions(axes: int, how: dict[str, Any]) -> None:
    torch.manual_seed(1)
    groups = how.get("groups", 1)
    x = torch.randn(2, 4, *[11, 12, 9][:axes])
    w, bias = torch.randn(6, 4 // groups, *[3] * axes), torch.randn(6)
    y = getattr(torch.nn.functional, f"conv{axes}d")(x, w, bias, **how)
    assert check_convolution(x, w, y, bias=bias, seed=1, **how).ok
    place = (1, 4, *(s // 2 for s in y.shape[2:]))
    y[place] += 0.01
    (fault,) = check_convolution(x, w, y, bias=bias, seed=1, **how).faults
    assert fault.batch == (1, 4 // (6 // groups))
    assert fault.column == 4 % (6 // groups)
    assert fault.row == np.ravel_multi_index(place[2:], y.shape[2:])
    assert not check_convolution(x, w, y * 0, bias=bias, **how).ok


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention(dtype: Any) -> None:
    torch.manual_seed(2)
    q, k, v = (torch.randn(2, 3, 40, 16).to(dtype) for _ in range(3))
    scores = (q @ k.transpose(-1, -2)).float() / 4
    if dtype is torch.bfloat16:
        scores = ((q.float() @ k.float().transpose(-1, -2)) / 4).to(dtype)
    weights = torch.softmax(scores, -1)
    out = weights.to(dtype) @ v
    given = [q, k, v, scores, weights.to(dtype), out]
    found = check_attention(*given, seed=1)
    assert found.ok, found
    for i, part in ((3, "scores"), (4, "weights"), (5, "values")):
        wrong = [x.clone() for x in given]
        wrong[i][1, 2, 5, 6] += 2
        assert not getattr(check_attention(*wrong, seed=1), part).ok, part


def test_softmax_rows() -> None:
    rng = np.random.default_rng(3)
    for scale in (0.1, 1, 30):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            x = torch.from_numpy(rng.standard_normal((50, 200)) * scale).to(dtype)
            p = torch.softmax(x, -1)
            found = check_softmax(x, p, "fp64" if dtype is torch.float64 else "fp32")
            assert found.ok, (scale, dtype, found)
            p[7] *= 1.02
            assert check_softmax(x, p).rows[:1] == ((7,),)
    x = torch.full((2, 4), 1.0)
    p = torch.softmax(x, -1)
    p[1, 2] = float("nan")
    assert check_softmax(x, p).rows == ((1,),)
    masked = torch.tensor([[0.0, -np.inf, 1.0], [-np.inf] * 3])
    assert check_softmax(masked, torch.softmax(masked, -1)).ok


def test_sums_and_all_reduce() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((6, 50, 7), dtype=np.float32)
    for axis in (0, 1, 2):
        y = x.sum(axis=axis)
        assert check_sum(x, y, axis=axis).ok
        assert check_sum(x, x.mean(axis=axis), axis=axis, mean=True).ok
        y.reshape(-1)[3] += np.float32(1e-3)
        assert [f.column for f in check_sum(x, y, axis=axis).faults] == [3]
    parts = [rng.standard_normal((20, 30), dtype=np.float32) for _ in range(8)]
    ring = parts[3].copy()
    for r in (4, 5, 6, 7, 0, 1, 2):
        ring = ring + parts[r]
    assert check_all_reduce(parts, ring).ok
    assert not check_all_reduce(parts, ring - parts[5]).ok, "a rank is missing"
    assert not check_all_reduce(parts[:-1], ring).ok


def test_lookups_are_exact() -> None:
    rng = np.random.default_rng(5)
    for dtype in (np.float32, np.float16, np.int64):
        table = (rng.standard_normal((50, 8)) * 100).astype(dtype)
        index = rng.integers(0, 50, (4, 6))
        out = table[index]
        assert check_lookup(table, index, out) is None
        out[2, 3] = table[(index[2, 3] + 1) % 50]
        assert check_lookup(table, index, out) == (2, 3)
        out = table[index]
        out.view(f"u{out.dtype.itemsize}")[3, 1, 4] ^= 1
        assert check_lookup(table, index, out) == (3, 1)
        out.view(f"u{out.dtype.itemsize}")[3, 1, 4:6] ^= np.array(
            1 << (8 * out.dtype.itemsize - 1), f"u{out.dtype.itemsize}"
        )
        out.view(f"u{out.dtype.itemsize}")[3, 1, 4] ^= 1
        assert check_lookup(table, index, out) == (3, 1), "two top bits do not cancel"
