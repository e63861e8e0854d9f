"""Planted faults are found, placed and named; the detection floor is where the result says it is."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.formats import FORMATS, accumulator
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.vectors import draw
from kernel_contracts.numerics.rounding import round_to, to_storage

Array = NDArray[Any]
BF16 = ml_dtypes.bfloat16


def pair(m: int = 96, k: int = 512, n: int = 64, seed: int = 1) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal((k, n), dtype=np.float32)


def summed(a: Array, b: Array, fmt: Any, chunk: int = 1) -> Array:
    """Products in chunks of k, the running sum rounded to a format after each."""
    total = np.zeros((a.shape[0], b.shape[1]))
    for k in range(0, a.shape[1], chunk):
        part = slice(k, k + chunk)
        total = round_to(total + a[:, part].astype(np.float64) @ b[part].astype(np.float64), fmt)
    return total


class TestWholeProducts:
    """Faults of the whole product, each named."""

    def test_all_nan(self) -> None:
        a, b = pair()
        assert check_product(a, b, np.full((96, 64), np.nan, np.float32)).name == "not_finite"

    @pytest.mark.parametrize("scale", [1e-30, 1e-4, 1.0, 1e4, 1e15])
    def test_all_zero_at_any_scale(self, scale: float) -> None:
        a, b = pair()
        found = check_product(a * np.float32(scale), b, np.zeros((96, 64), np.float32))
        assert found.name == "zero_filled"

    def test_fp16_accumulator(self) -> None:
        a, b = (x.astype(np.float16) for x in pair())
        c = summed(a, b, FORMATS["fp16"])
        for out in (np.float16, np.float32):
            found = check_product(a, b, c.astype(out))
            assert found.name == "accumulator_narrowed", found
            assert any(f"about {bits} bits" in found.summary()[0] for bits in (10, 11, 12))
        assert check_product(a, b, c.astype(np.float16), accumulate="fp16").ok

    def test_fourteen_bit_accumulator(self) -> None:
        a, b = (x.astype(BF16) for x in pair(512, 2048, 64))
        c = summed(a, b, accumulator(14), chunk=4)
        found = check_product(a, b, c.astype(np.float32))
        assert found.name == "accumulator_narrowed", found
        cut = np.zeros((512, 64))
        for k in range(0, 2048, 32):  # what matrix units do: cut, not round, after a chunk of products
            part = cut + a[:, k : k + 32].astype(np.float64) @ b[k : k + 32].astype(np.float64)
            grid = np.exp2(np.floor(np.log2(np.abs(part))) - 13)
            cut = np.trunc(part / grid) * grid
        narrow = check_product(a, b, cut.astype(BF16))
        assert not narrow.ok, "seen through the rounding of the output"
        assert check_product(a, b, c.astype(np.float32), accumulate="acc14").ok

    @pytest.mark.parametrize("fmt", ["tf32", "bf16"])
    def test_operands_cut(self, fmt: str) -> None:
        a, b = pair()
        c = (round_to(a, FORMATS[fmt]) @ round_to(b, FORMATS[fmt])).astype(np.float32)
        found = check_product(a, b, c)
        assert found.name == "operand_coerced"
        assert fmt in found.faults[0].detail
        assert check_product(a, b, c, operands=fmt).ok, "declared"

    @pytest.mark.parametrize(("dtype", "factor"), [(BF16, 1 + 2**-9), (np.float16, 1 + 2**-12)])
    def test_half_a_spacing_of_scale(self, dtype: Any, factor: float) -> None:
        a, b = (x.astype(dtype) for x in pair(256, 512, 256))
        exact = a.astype(np.float32) @ b.astype(np.float32)
        honest = check_product(a, b, exact.astype(dtype), seed=3)
        assert honest.ok
        assert honest.quantum is not None
        assert honest.quantum.valid
        assert honest.quantum.mean_square == pytest.approx(1, abs=0.25)
        wrong = (exact * np.float32(factor)).astype(dtype)
        np.testing.assert_allclose(wrong.astype(np.float32), exact, rtol=1e-2)
        found = check_product(a, b, wrong, seed=3)
        assert found.quantum is not None
        assert found.quantum.alarm
        assert found.name == "scale_wrong", found

    def test_output_rounded_twice(self) -> None:
        a, b = (x.astype(np.float16) for x in pair())
        exact = a.astype(np.float32) @ b.astype(np.float32)
        assert check_product(a, b, exact.astype(BF16).astype(np.float32)).name == "output_narrowed"

    def test_near_constant_products_do_not_trust_their_spacings(self) -> None:
        a, b = (np.full(s, v).astype(BF16) for s, v in (((64, 96), 1.1), ((96, 64), 0.7)))
        c = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
        found = check_product(a, b, c)
        assert found.ok
        assert found.quantum is not None
        assert not found.quantum.valid


class TestPlaces:
    """Faults of a part."""

    def test_a_bit(self) -> None:
        a, b = pair()
        c = a @ b
        for bit, part in ((31, "sign"), (25, "exponent"), (20, "mantissa")):
            wrong = c.copy()
            wrong.view(np.uint32)[5, 6] ^= np.uint32(1 << bit)
            found = check_product(a, b, wrong)
            assert (found.name, found.faults[0].row, found.faults[0].column) == ("bit_flip", 5, 6)
            assert f"bit {bit} ({part})" in found.faults[0].detail

    def test_slices_rows_tiles(self) -> None:
        a, b = pair()
        c = a @ b
        cases = {
            "tail_dropped": lambda x: x.__setitem__(7, a[7, :-8] @ b[:-8]),
            "slice_dropped": lambda x: x.__setitem__(7, c[7] - a[7, 64:128] @ b[64:128]),
            "slice_repeated": lambda x: x.__setitem__(7, c[7] + a[7, 64:128] @ b[64:128]),
            "rows_swapped": lambda x: x.__setitem__(7, c[9]),
            "scale_wrong": lambda x: x.__setitem__(7, c[7] * np.float32(1.001)),
            "zero_filled": lambda x: x.__setitem__((7, slice(16, 32)), 0),
            "lane_stuck": lambda x: x.__setitem__((7, slice(16, 24)), 3.25),
            "periodic": lambda x: x.__setitem__((7, slice(3, 64, 16)), x[7, 3::16] + 0.5),
            "tile_wrong": lambda x: x.__setitem__((7, slice(16, 32)), c[8, 16:32]),
        }
        for name, plant in cases.items():
            wrong = c.copy()
            plant(wrong)
            found = check_product(a, b, wrong, seed=5)
            assert (found.name, found.faults[0].row) == (name, 7), f"{name}: {found}"

    @pytest.mark.parametrize("vectors", [1, 2])
    def test_paired_errors_that_signs_miss(self, vectors: int) -> None:
        a, b = pair()
        wrong = a @ b
        wrong[3, 5] += np.float32(0.5)
        wrong[3, 9] -= np.float32(0.5)
        plain = [np.sign(draw(64, 1, seed=s).values[[5, 9], 0]) for s in range(40)]
        assert 8 <= sum(x[0] == x[1] for x in plain) <= 32, "signs alone cancel them half of the time"
        assert not any(check_product(a, b, wrong, vectors=vectors, seed=s).ok for s in range(40))

    def test_nan_laundered_and_nan_made(self) -> None:
        a, b = pair()
        a[3, 4], b[5, 6] = np.nan, np.inf
        with np.errstate(invalid="ignore"):
            c = a @ b
        assert check_product(a, b, c).ok
        for place, value, name in (
            ((3, 2), 1.0, "special_lost"),
            ((9, 6), 1.0, "special_lost"),
            ((2, 2), np.nan, "not_finite"),
        ):
            wrong = c.copy()
            wrong[place] = value
            found = check_product(a, b, wrong)
            assert (found.name, found.faults[0].row, found.faults[0].column) == (name, *place)
        wrong = c.copy()
        wrong[2, 2] += 0.1
        assert [(f.row, f.column) for f in check_product(a, b, wrong).faults] == [(2, 2)]

    def test_an_infinity_that_nothing_explains(self) -> None:
        a, b = pair()
        wrong = a @ b
        wrong[1, 2] = np.inf
        assert check_product(a, b, wrong).name == "not_finite"


class TestFloor:
    """The detection floor."""

    @pytest.mark.parametrize(
        ("dtype", "out"), [(np.float32, np.float32), (np.float64, np.float64), (BF16, BF16), (BF16, np.float32)]
    )
    @pytest.mark.parametrize("precision", ["fp32", "fp64"])
    def test_errors_at_the_floor_are_found_and_placed(self, dtype: Any, out: Any, precision: str) -> None:
        if dtype == np.float64 and precision == "fp32":
            pytest.skip("fp64 is checked in fp64")
        wide = np.float64 if dtype == np.float64 else np.float32
        rng = np.random.default_rng(11)
        a, b = (rng.standard_normal(s).astype(dtype) for s in ((64, 256), (256, 64)))
        c = (a.astype(wide) @ b.astype(wide)).astype(out)
        found = placed = 0
        for trial in range(60):
            floor = check_product(a, b, c, seed=trial, precision=precision).floor_absolute
            i, j = int(rng.integers(64)), int(rng.integers(64))
            wrong = c.copy()
            wrong[i, j] = np.float64(c[i, j]) + floor * (1.02 if rng.random() < 0.5 else -1.02)
            result = check_product(a, b, wrong, seed=trial, precision=precision)
            found += not result.ok
            placed += [(f.row, f.column) for f in result.faults] == [(i, j)]
        assert found >= 58
        assert placed == found

    def test_errors_far_below_the_floor_are_not_found(self) -> None:
        a, b = pair()
        c = a @ b
        wrong = c.copy()
        wrong[3, 3] += np.float32(0.05 * check_product(a, b, c, seed=0).floor_absolute)
        assert all(check_product(a, b, wrong, seed=s).ok for s in range(20))

    def test_blocks_lower_the_floor_of_narrow_outputs(self) -> None:
        a, b = (x.astype(BF16) for x in pair(96, 256, 512))
        c = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
        whole, blocks = check_product(a, b, c, seed=1), check_product(a, b, c, seed=1, block=16)
        assert blocks.ok
        assert blocks.floor < whole.floor / 3


class TestForms:
    """Transposes, batches, what is added; integers; misuse."""

    def test_transposes_and_sums(self) -> None:
        a, b = pair()
        rng = np.random.default_rng(4)
        bias, z = rng.standard_normal(64, dtype=np.float32), rng.standard_normal((96, 64), dtype=np.float32)
        c = np.float32(0.5) * (a @ b) + np.float32(-1.5) * z + bias
        for t, x, y in (("", a, b), ("a", a.T.copy(), b), ("b", a, b.T.copy()), ("ab", a.T.copy(), b.T.copy())):
            more = {"alpha": 0.5, "beta": -1.5, "addend": z, "bias": bias, "transpose": t}
            assert check_product(x, y, c, seed=1, **more).ok
            wrong = c.copy()
            wrong[4, 5] += 0.01
            found = check_product(x, y, wrong, seed=1, **more)
            assert [(f.row, f.column) for f in found.faults] == [(4, 5)]
        assert not check_product(a, b, c, alpha=0.5, beta=-1.5, addend=z).ok, "the bias matters"

    def test_batches(self) -> None:
        rng = np.random.default_rng(5)
        a = rng.standard_normal((2, 3, 40, 60), dtype=np.float32)
        b = rng.standard_normal((3, 60, 20), dtype=np.float32)
        c = a @ b
        assert check_product(a, b, c, seed=1).ok
        c[1, 2, 7, 8] += 0.05
        (fault,) = check_product(a, b, c, seed=1).faults
        assert (fault.batch, fault.row, fault.column) == ((1, 2), 7, 8)
        bias = rng.standard_normal(20, dtype=np.float32)
        assert check_product(a, b, a @ b + bias, bias=bias, seed=1).ok
        assert not check_product(a, b, a @ b, bias=bias, seed=1).ok

    def test_integers_are_exact(self) -> None:
        rng = np.random.default_rng(6)
        a = rng.integers(-128, 128, (30, 40)).astype(np.int8)
        b = rng.integers(-128, 128, (40, 20)).astype(np.int8)
        c = a.astype(np.int32) @ b.astype(np.int32)
        assert check_product(a, b, c).ok
        assert check_product(a, b, c).missed < 1e-15
        for bit in range(32):
            wrong = c.copy()
            wrong.view(np.uint32)[3, 4] ^= np.uint32(1 << bit)
            (fault,) = check_product(a, b, wrong).faults
            assert (fault.row, fault.column, fault.expected) == (3, 4, float(c[3, 4]))
        with np.errstate(over="ignore"):
            wrapped = a @ b
        assert wrapped.dtype == np.int8
        found = check_product(a, b, wrapped)
        assert found.ok
        assert found.missed == 0.25, "modulo 2^8 two vectors miss the worst error a quarter of the time"

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"transpose": "c"}, "transpose"),
            ({"beta": 2.0}, "beta and addend"),
            ({"accumulate": "fp12"}, "fp12"),
            ({"vectors": 0}, "vectors=0"),
            ({"false_alarm": 0.0}, "false_alarm"),
            ({"precision": "fp16"}, "precision"),
            ({"bias": np.ones(5)}, "cannot be added"),
        ],
    )
    def test_misuse_is_one_sentence(self, change: dict[str, Any], words: str) -> None:
        a, b = pair()
        with pytest.raises(UsageError, match=words) as caught:
            check_product(a, b, a @ b, **change)
        assert "\n" not in str(caught.value)

    def test_shapes_and_formats_that_do_not_fit(self) -> None:
        a, b = pair()
        with pytest.raises(UsageError, match="not the shapes of a product"):
            check_product(a, a, a)
        with pytest.raises(ArithmeticScopeError, match="complex64"):
            check_product(a.astype(np.complex64), b, a @ b)
        with pytest.raises(ArithmeticScopeError, match="all real or all integer"):
            check_product(a.astype(np.int32), b, a @ b)
        with pytest.raises(UsageError, match="give an array"):
            check_product("a", b, a @ b)  # type: ignore[arg-type]

    def test_rigorous_mode_accuses_beyond_the_worst_case_only(self) -> None:
        a, b = pair()
        c = a @ b
        i, j = 3, 4
        worst = 513 * 2.0**-24 / (1 - 513 * 2.0**-24) * float(np.abs(a[i]) @ np.abs(b[:, j]))
        wrong = c.copy()
        wrong[i, j] += np.float32(0.5 * worst)
        assert not check_product(a, b, wrong, seed=1).ok
        assert check_product(a, b, wrong, seed=1, rigorous=True).ok
        wrong[i, j] += np.float32(worst)
        assert not check_product(a, b, wrong, seed=1, rigorous=True).ok

    def test_records_are_strict_json(self) -> None:
        import json

        a, b = pair()
        record = check_product(a, b, np.full((96, 64), np.nan, np.float32), seed=1).as_json()
        assert json.loads(json.dumps(record, allow_nan=False))["faults"][0]["got"] == "nan"


@pytest.mark.torch
def test_tensors_give_what_arrays_give() -> None:
    torch = pytest.importorskip("torch")
    a, b = pair()
    c = a @ b
    c[3, 4] += 0.02
    ours = check_product(a, b, c, seed=8)
    theirs = check_product(*(torch.from_numpy(x) for x in (a, b, c)), seed=8)
    assert (theirs.faults[0].row, theirs.faults[0].column) == (ours.faults[0].row, ours.faults[0].column) == (3, 4)
    assert theirs.z == pytest.approx(ours.z, rel=1e-6)
    x, w = torch.randn(3, 20, 48).bfloat16(), torch.randn(64, 48).bfloat16()
    y = torch.nn.functional.linear(x, w)
    assert check_product(x, w.expand(3, 64, 48), y, transpose="b").ok
    y[1, 2, 3] += 8
    (fault,) = check_product(x, w.expand(3, 64, 48), y, transpose="b").faults
    assert (fault.batch, fault.row, fault.column) == ((1,), 2, 3)


def test_an_fp8_product() -> None:
    a, b = pair()
    x, y = a.astype(ml_dtypes.float8_e4m3fn), b.astype(ml_dtypes.float8_e5m2)
    c = to_storage(x.astype(np.float64) @ y.astype(np.float64), FORMATS["bf16"])
    assert check_product(x, y, c).ok
    c[2, 3] = 300
    assert [(f.row, f.column) for f in check_product(x, y, c).faults] == [(2, 3)]
