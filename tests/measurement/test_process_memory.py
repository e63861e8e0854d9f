"""Inputs and outputs in shared memory: layouts, poison, changes."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Layout, Outcome
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement import exchange
from kernel_contracts.measurement.process import ArrayIn, Kernel

HOSTILE = Path(__file__).parents[1] / "hostile" / "kernels.py"


def kernel(name: str) -> Kernel:
    return Kernel(f"{HOSTILE}:{name}", timeout=20.0, memory_mb=1024)


def sample(storage: str, shape: tuple[int, ...]) -> np.ndarray:
    """Every bit pattern equally likely, NaNs with payloads included."""
    dtype = exchange.DTYPES[storage]
    rng = np.random.default_rng(7)
    if storage == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype).reshape(shape)


@pytest.fixture(scope="module")
def echo():
    with kernel("echo") as k:
        yield k


STORAGES = sorted({f.storage for f in FORMATS.values()})
SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 4, 5)]


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("storage", STORAGES)
def test_every_format_layout_and_rank_comes_back_bit_for_bit(echo: Kernel, storage: str, layout: Layout) -> None:
    for shape in SHAPES:
        array = sample(storage, shape)
        result = echo.call([ArrayIn("x", array, layout)])
        assert result.outcome is Outcome.RETURNED, result.detail
        got = result.outputs[0]
        assert (got.dtype, got.shape) == (array.dtype, shape)
        assert got.tobytes() == array.tobytes()
        assert result.mutated == ()
        assert result.dtypes == (exchange.format_name(array.dtype),)


def test_a_returned_input_is_seen_as_an_alias(echo: Kernel) -> None:
    assert echo.call([ArrayIn("x", np.ones(4, np.float32))]).aliased == ("x",)


def test_layouts_are_what_they_say() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    strides, gaps = {}, {}
    for layout in Layout:
        image, (place,) = exchange.pack([ArrayIn("x", array, layout)])
        strides[layout] = place.strides
        seen = exchange.view(image, place.dtype, place.shape, place.strides, place.offset)
        np.testing.assert_array_equal(seen, array)
        seen[...] = np.nan
        gaps[layout] = np.isnan(image[place.start : place.stop].view(np.float32)).all()
        assert place.offset - place.start >= exchange.GUARD
        assert place.offset % 64 == (12 if layout is Layout.OFFSET else 0)
    assert strides == {
        Layout.CONTIGUOUS: (16, 4),
        Layout.TRANSPOSED: (4, 12),
        Layout.STRIDED: (32, 8),
        Layout.OFFSET: (16, 4),
    }
    assert all(gaps.values())  # all that is not the array is poison


@pytest.mark.parametrize("layout", Layout)
def test_scribbling_over_an_input_names_it(layout: Layout) -> None:
    y = np.ones((4, 4), np.float32)
    with kernel("scribble") as k:
        for _ in range(2):
            result = k.call([ArrayIn("x", y, layout)])
            assert result.mutated == ("x",)
            np.testing.assert_array_equal(result.outputs[0], y * 2)


@pytest.mark.parametrize(
    ("name", "layout"),
    [("scribble_beside", layout) for layout in Layout] + [("scribble_in_gap", Layout.STRIDED)],
)
def test_scribbling_over_poison_names_the_input(name: str, layout: Layout) -> None:
    with kernel(name) as k:
        assert k.call([ArrayIn("x", np.ones((4, 4), np.float32), layout)]).mutated == ("x",)


def test_only_the_changed_input_is_named() -> None:
    with Kernel("numpy:copyto") as k:
        ones, zeros = np.ones(5, np.int32), np.zeros(5, np.int32)
        result = k.call([ArrayIn("into", zeros), ArrayIn("source", ones)])
    assert (result.mutated, result.defect) == (("into",), "wrong_type")


def test_cutting_the_shared_file_short_harms_the_worker_alone() -> None:
    with kernel("cut_inputs_short") as k:
        result = k.call([ArrayIn("x", np.ones(5000, np.float32))])
        assert result.outcome is Outcome.CRASHED or result.mutated == ("x",)
        again = k.call([ArrayIn("x", np.ones(50000, np.float32))])
        assert again.outcome is Outcome.CRASHED or again.mutated == ("x",)


@pytest.mark.parametrize("n", [20, 300, 2000, 40_000, 3_000_000])
@pytest.mark.parametrize("storage", ["float32", "float16", "bfloat16", "float8_e4m3fn", "int32"])
def test_memory_that_a_kernel_forgets_to_write_is_poison(n: int, storage: str) -> None:
    dtype = exchange.DTYPES[storage]
    x = np.ones(n, dtype)
    poison = [((n,), exchange.format_name(dtype))]
    with kernel("half_written") as k:
        for _ in range(2):
            out = k.call([ArrayIn("x", x)], poison=poison).outputs[0]
            np.testing.assert_array_equal(out[: n // 2].astype(np.float32), 1)
            unwritten = out[n // 2 :].view(np.uint8)
            kept = np.isin(unwritten, (exchange.poison_byte(dtype), 0x7F))
            assert kept.sum() >= unwritten.size - 64  # the allocator keeps a few words of a freed block for itself


def test_inputs_keep_their_address_and_are_written_afresh() -> None:
    with kernel("honest") as k:
        for value in (1.0, 2.0, 3.0):
            out = k.call([ArrayIn("x", np.full(9, value, np.float32))]).outputs[0]
            np.testing.assert_array_equal(out, np.full(9, 2 * value, np.float32))


def test_large_arrays_travel() -> None:
    x = np.arange(6_000_000, dtype=np.float64)
    with kernel("honest") as k:
        small = k.call([ArrayIn("x", x[:10])]).outputs[0]
        np.testing.assert_array_equal(k.call([ArrayIn("x", x)]).outputs[0], x * 2)
        np.testing.assert_array_equal(k.call([ArrayIn("x", x[:10])]).outputs[0], small)


def test_poison_is_never_an_ordinary_number() -> None:
    for name in STORAGES:
        value = exchange.poisoned(3, exchange.DTYPES[name])
        assert value.shape == (3,)
        if FORMATS_OF[name].is_real:
            assert np.isnan(value.astype(np.float64)).all()
        else:
            assert set(value.tobytes()) == {0xA5}


FORMATS_OF = {f.storage: f for f in FORMATS.values()}


def test_every_format_has_a_storage_name() -> None:
    for name in FORMATS:
        assert exchange.storage_name(name) in exchange.DTYPES
    assert exchange.format_name(np.dtype(np.float32)) == "fp32"
    assert exchange.format_name(np.dtype(ml_dtypes.bfloat16)) == "bf16"
    assert exchange.format_name(np.dtype(np.complex64)) == "complex64"
    with pytest.raises(KeyError):
        exchange.storage_name("fp7")


def test_a_region_falls_back_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.memfd_create", raising=False)
    region = exchange.Region()
    try:
        data = np.arange(100, dtype=np.uint8)
        region.write(data)
        np.testing.assert_array_equal(region.read(10, 50), data[10:60])
        assert region.read(90, 50).size == 10
        assert region.size() == 100
    finally:
        region.close()
