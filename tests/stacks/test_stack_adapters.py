"""Every installed stack moves every bit, keeps strides, names what it cannot hold, and loads nothing by itself."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kernel_contracts.errors import UsageError
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.exchange import DTYPES
from kernel_contracts.stacks.base import find, installed, stacks

SHARING = ("numpy", "torch", "inductor")
"""Stacks whose arrays are views of the memory that they are given; the others copy."""

DRIVEN = ("opencl", "webgpu")
"""Stacks that may be installed without a driver. The conformance kit looks at them too, in processes of their own."""

INSTALLED = [
    pytest.param(s, id=name, marks=[pytest.mark.torch] if name in ("torch", "inductor") else [])
    for name, s in stacks().items()
    if s.available() and name not in DRIVEN
]
SHAPES = [(), (0,), (1,), (5,), (3, 4), (2, 3, 4)]


def sample(storage: str, shape: tuple[int, ...]) -> np.ndarray:
    if storage == "bool":
        return np.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0)
    dtype = DTYPES[storage]
    rng = np.random.default_rng(3)
    return rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype).reshape(shape)


def test_the_built_in_stacks_are_found() -> None:
    assert {"numpy", "torch"} <= set(stacks())
    assert all(isinstance(s, Stack) for s in stacks().values())


def test_listing_the_stacks_imports_no_framework() -> None:
    code = (
        "import sys; from kernel_contracts.stacks.base import stacks; stacks(); "
        "print([m for m in {} if m in sys.modules])"
    )
    wanted = [s.requires[0] for s in stacks().values() if s.requires[0] != "numpy"]
    out = subprocess.run([sys.executable, "-c", code.format(wanted)], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_stack_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(stacks()["torch"]), "available", lambda _: False)
    with pytest.raises(UsageError, match=r"not installed: run: pip install 'kernel-contracts\[torch\]'"):
        find("torch")
    with pytest.raises(UsageError, match="choose one of"):
        find("abacus")
    assert not installed("no_such_library_here")


@pytest.mark.parametrize("stack", INSTALLED)
def test_every_native_format_makes_the_round_trip_bit_for_bit(stack: Stack) -> None:
    assert stack.native_dtypes <= FORMATS.keys()
    narrow = {"bf16", "fp8_e4m3fn", "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz"} if stack.name in SHARING else set()
    for name in sorted(stack.native_dtypes | narrow):
        for shape in SHAPES:
            array = sample(FORMATS[name].storage, shape)
            back = stack.from_native(stack.to_native(array, ""))
            assert (back.dtype, back.shape) == (array.dtype, shape)
            assert back.tobytes() == array.tobytes(), name


@pytest.mark.parametrize("stack", [p for p in INSTALLED if p.id in SHARING])
def test_views_keep_strides_and_memory(stack: Stack) -> None:
    for storage in ("float32", "bfloat16", "float8_e5m2", "int64"):
        base = sample(storage, (6, 8))
        for view in (base.T, base[:, ::2], base[1:, 3:]):
            back = stack.from_native(stack.to_native(view, stack.devices()[0]))
            assert back.strides == view.strides
            assert np.shares_memory(back, view)


@pytest.mark.parametrize("stack", INSTALLED)
def test_what_is_no_array_is_refused_in_a_sentence(stack: Stack) -> None:
    for value in (None, [1.0], 1.0, "x", {"a": 1}, object()):
        with pytest.raises(TypeError, match="it is a "):
            stack.from_native(value)


@pytest.mark.parametrize("stack", INSTALLED)
def test_the_facts_are_plain_data(stack: Stack) -> None:
    import json

    facts = json.loads(json.dumps(stack.fingerprint()))
    assert facts == stack.fingerprint()
    assert facts["version"] == stack.version()
    stack.synchronize(stack.devices()[0])


def test_a_numpy_scalar_is_an_array_of_rank_zero() -> None:
    numpy = stacks()["numpy"]
    assert numpy.from_native(np.float32(3)).shape == ()
    assert numpy.from_native(DTYPES["bfloat16"].type(3)).dtype == DTYPES["bfloat16"]

    class Sly(np.float64):
        pass

    for sly in (Sly(3), np.ma.masked_array([1.0])):
        with pytest.raises(TypeError):
            numpy.from_native(sly)
