"""tinygrad: what is known without it, its own operations on each code generator, and bits that cross untouched."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import own_operations
import pytest

from kernel_contracts.errors import UsageError
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.exchange import DTYPES
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.stacks import tinygrad
from kernel_contracts.stacks.base import find, installed, stacks
from kernel_contracts.stacks.natives import natives
from kernel_contracts.stacks.tinygrad import STACK, SWITCH

needed = pytest.mark.skipif(not STACK.available(), reason=f"tinygrad cannot be used: {STACK.install_hint()}")
EMULATORS = {"interpreter", "sm_80", "sm_89", "gfx1100", "gfx950", "metal"}

KERNEL = """
from tinygrad import Tensor

def late(x):
    return x * 2  # nothing is computed yet

def both(x):
    return x + 1, x.transpose()

def scribble(x):
    x.assign(x + 1)
    return x * 1

def constant(x):
    return Tensor(3)

def odd(x):
    return x.shape
"""


@pytest.fixture
def kernels(tmp_path: Path) -> str:
    (tmp_path / "kernels.py").write_text(KERNEL)
    return str(tmp_path / "kernels.py")


def without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tinygrad, "installed", lambda _: True)
    monkeypatch.setattr(tinygrad, "_accelerated", lambda: False)
    monkeypatch.setenv("CC", "no-such-clang")
    monkeypatch.delenv(SWITCH, raising=False)


def test_it_is_listed_with_its_variants_and_how_to_install_it() -> None:
    assert stacks()["tinygrad"] is STACK
    assert STACK.variants.keys() == {"clang", "x86"} | EMULATORS
    assert "pip install 'kernel-contracts[tinygrad]'" in STACK.install_hint()
    assert "apt-get install clang" in STACK.install_hint()
    assert {"matmul", "softmax", "gather", "sum", "add", "cast_fp16"} <= natives("tinygrad").keys()


def test_an_emulator_has_longer_for_the_first_call_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(STACK), "available", lambda _: True)
    monkeypatch.delenv(SWITCH, raising=False)
    plain = STACK.compiling
    assert plain > 0
    longer = {name for name in STACK.variants if find(f"tinygrad@{name}").compiling > plain}
    assert longer == EMULATORS


def test_without_a_compiler_only_the_emulators_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    without_a_compiler(monkeypatch)
    for name in ("tinygrad", "tinygrad@clang", "tinygrad@x86"):
        with pytest.raises(UsageError, match="apt-get install clang"):
            find(name)
    assert {find(f"tinygrad@{name}").name for name in EMULATORS} == {f"tinygrad@{name}" for name in EMULATORS}


@pytest.mark.parametrize("says", ["gcc (GCC) 14.2.0", "Debian clang version 14.0.6", "Apple clang version 17.0.0"])
def test_only_a_clang_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str) -> None:
    """Anything else would fail inside the calls, and the kernel would be blamed for it."""
    without_a_compiler(monkeypatch)
    made = tmp_path / "compiler"
    made.write_text(f"#!/bin/sh\necho '{says}'\n")
    made.chmod(0o755)
    monkeypatch.setenv("CC", str(made))
    assert STACK.available() is ("clang" in says)


def test_the_device_of_the_variable_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    without_a_compiler(monkeypatch)
    for told, there in {"PYTHON": True, "CPU": False, "CPU:X86": False, "CUDA": True, "USB+AMD": True}.items():
        monkeypatch.setenv(SWITCH, told)
        assert STACK.available() is there, told


def test_bf16_is_offered_where_the_setting_names_what_computes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on every machine, whatever compiler it has."""
    monkeypatch.setattr(type(STACK), "available", lambda _: True)
    monkeypatch.delenv(SWITCH, raising=False)
    offered = {n: "bf16" in find(n).native_dtypes for n in ("tinygrad", *(f"tinygrad@{v}" for v in STACK.variants))}
    assert {n for n, held in offered.items() if not held} == {"tinygrad", "tinygrad@clang"}
    monkeypatch.setenv(SWITCH, "CUDA")
    assert "bf16" in STACK.native_dtypes


@pytest.mark.skipif(not installed("tinygrad"), reason=f"tinygrad is not installed: {STACK.install_hint()}")
@pytest.mark.parametrize("variant", sorted(EMULATORS))
def test_an_emulator_runs_and_says_what_it_is(variant: str) -> None:
    a = np.arange(64, dtype=np.float16).reshape(8, 8) % 5
    with Kernel(natives("tinygrad")["matmul"], stack=f"tinygrad@{variant}") as kernel:
        facts = kernel.load().fingerprint["stack"]
        result = kernel.call([ArrayIn("A", a), ArrayIn("B", a)])
    assert facts["interpreter"] is True
    assert facts["settings"] == dict(STACK.variants[variant])
    np.testing.assert_array_equal(result.outputs[0], a @ a)


@needed
def test_clang_and_its_own_encoder_are_two_code_generators() -> None:
    seen = {}
    for variant in ("clang", "x86"):
        with Kernel(natives("tinygrad")["exp"], stack=f"tinygrad@{variant}") as kernel:
            facts = kernel.load().fingerprint["stack"]
            assert facts["interpreter"] is False
            seen[variant] = (facts["renderer"], "clang" in facts["compiler"].lower())
            result = kernel.call([ArrayIn("x", np.zeros((2, 3), np.float32))])
        assert result.outputs[0].tolist() == [[1] * 3] * 2
    assert seen == {"clang": ("ClangRenderer", True), "x86": ("X86Renderer", False)}


@needed
def test_every_bit_crosses() -> None:
    device = STACK.devices()[0]
    for name in sorted(STACK.native_dtypes - {"bool"}):
        dtype = DTYPES[FORMATS[name].storage]
        array = np.random.default_rng(3).integers(0, 256, (6, 5, dtype.itemsize), np.uint8).view(dtype).reshape(6, 5)
        for view in (array, array.T, array[1:, ::2], array[:0], array[0, 0].reshape(())):
            back = STACK.from_native(STACK.to_native(view, device))
            assert (back.dtype, back.shape, back.tobytes()) == (dtype, view.shape, view.tobytes()), name


@needed
def test_bf16_is_refused_where_the_compiler_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = np.zeros(2, DTYPES["bfloat16"])
    monkeypatch.setattr(tinygrad, "_by_clang", lambda _: True)
    monkeypatch.setattr(tinygrad, "_clang_has_bf16", lambda: False)
    with pytest.raises(TypeError, match=r"compiles no bfloat16.*tinygrad@x86"):
        STACK.to_native(zeros, "")
    monkeypatch.setattr(tinygrad, "_clang_has_bf16", lambda: True)
    assert STACK.from_native(STACK.to_native(zeros, "")).dtype == zeros.dtype


@needed
def test_a_late_answer_is_computed_inside_the_call(kernels: str) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    value = STACK.compiled(_late)(STACK.to_native(x, ""))
    assert value.uop.has_buffer_identity()
    with Kernel(f"{kernels}:late", stack="tinygrad") as kernel:
        assert kernel.call([ArrayIn("x", x)]).outputs[0].tolist() == (x * 2).tolist()
    with Kernel(f"{kernels}:both", stack="tinygrad") as kernel:
        first, second = kernel.call([ArrayIn("x", x)]).outputs
        assert (first.tolist(), second.tolist()) == ((x + 1).tolist(), x.T.tolist())


def _late(x: Any) -> Any:
    return x * 2


@needed
def test_what_a_kernel_does_wrong_is_seen(kernels: str) -> None:
    x = np.ones((2, 3), np.float32)
    with Kernel(f"{kernels}:scribble", stack="tinygrad") as kernel:
        assert kernel.call([ArrayIn("x", x)]).mutated == ("x",)
    with Kernel(f"{kernels}:constant", stack="tinygrad") as kernel:
        assert kernel.call([ArrayIn("x", x)]).outputs[0].shape == ()
    with Kernel(f"{kernels}:odd", stack="tinygrad") as kernel:
        assert kernel.call([ArrayIn("x", x)]).defect == "wrong_type"


own = functools.partial(own_operations.own, STACK)


@needed
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_its_own_operations_are_right(dtype: str) -> None:
    """Each answer within a few roundings of the same operation in float64; tinygrad's exp has an error of its own."""
    unit = 2.0 ** -{"float32": 23, "float16": 10, "float64": 52}[dtype]
    rng = np.random.default_rng(5)
    x, w, y = (rng.standard_normal(shape).astype(dtype) for shape in ((5, 9), (9, 4), (3, 9)))
    index = np.array([4, 0, 4])
    wide, after = x.astype(np.float64), y.astype(np.float64)
    shifted = np.exp(wide - wide.max(-1, keepdims=True))
    added, written = wide.copy(), wide.copy()
    np.add.at(added, index, after)
    written[index] = after
    expected = {
        "matmul": (own("matmul", x, w), wide @ w.astype(np.float64)),
        "sum": (own("sum", x), wide.sum(-1)),
        "variance": (own("variance", x), wide.var(-1)),
        "cumsum": (own("cumsum", x), wide.cumsum(-1)),
        "softmax": (own("softmax", x), shifted / shifted.sum(-1, keepdims=True)),
        "rmsnorm": (
            own("rmsnorm", x, y[0], eps=0.5),
            wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 0.5) * after[0],
        ),
        "scale": (own("scale", x, s=0.75), wide * 0.75),
        "div": (own("div", x, x + 8), wide / (x + 8).astype(np.float64)),
        "scatter_add": (own("scatter_add", x, y, index), added),
        "scatter": (own("scatter", x, y, index), written),
        "gather": (own("gather", x, index), wide[index]),
        "embedding": (own("embedding", x, index), wide[index]),
        "index_select": (own("index_select", x, index), wide[:, index]),
        "max": (own("max", x), wide.max(-1)),
    }
    for name, (given, wanted) in expected.items():
        assert given.dtype == x.dtype, name
        off = np.abs(given.astype(np.float64) - wanted).max()
        held = 2.0**-23 if name == "rmsnorm" else unit  # the layer computes in float32 whatever it is given
        assert off <= 64 * max(held, unit) * max(1.0, np.abs(wanted).max()), f"{name} is off by {off}"
    assert own("argmax", x).tolist() == wide.argmax(-1).tolist()
    slope = own("max_pool_backward", x, np.ones((5, 4), dtype))
    assert (slope.sum(-1).tolist(), set(slope.ravel().tolist())) == ([4] * 5, {0, 1})
