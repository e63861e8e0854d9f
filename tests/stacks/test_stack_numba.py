"""Numba: plain functions are compiled with the variant's switches, compiled ones and their hosts run as written."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import own_operations
import pytest

from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.stacks.natives import natives
from kernel_contracts.stacks.numba import STACK, SWITCHES

numba = pytest.importorskip("numba")

KERNELS = """
import numba
import numpy as np

prange = range

def plain(x):
    y = x.copy()
    for i in prange(len(x)):
        y[i] += x.dtype.type(1)
    return y

@numba.njit
def decorated(x):
    return x + np.float32(1)

def host(x):
    print(type(x).__module__)  # compiled code could not
    return decorated(x)

def folded(x):
    return np.array([x[0] + np.float32(1e8) - x[0]])
"""


@pytest.fixture
def kernels(tmp_path: Path) -> str:
    (tmp_path / "kernels.py").write_text(KERNELS)
    return str(tmp_path / "kernels.py")


own = functools.partial(own_operations.own, STACK)


@pytest.mark.parametrize("name", ["plain", "decorated", "host"])
def test_all_ways_to_write_a_kernel_run(kernels: str, name: str) -> None:
    with Kernel(f"{kernels}:{name}", stack="numba") as kernel:
        result = kernel.call([ArrayIn("x", np.arange(5, dtype=np.float32))])
    assert result.outputs[0].tolist() == [1, 2, 3, 4, 5]
    assert result.printed.strip() == ("numpy" if name == "host" else "")


def test_the_switches_of_a_variant_reach_the_compiler(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(x: np.ndarray) -> np.ndarray:
        return x + x

    def on() -> set[str]:
        options = STACK.compiled(plain).targetoptions  # type: ignore[attr-defined]
        return {name for name in ("fastmath", "parallel") if options.get(name)}

    assert on() == set()
    monkeypatch.setenv(SWITCHES, "fastmath,parallel")
    assert on() == {"fastmath", "parallel"}
    assert STACK.fingerprint()["switches"] == ["fastmath", "parallel"]
    with Kernel(f"{kernels}:folded", stack="numba@fastmath") as kernel:
        assert kernel.call([ArrayIn("x", np.full(1, 3, np.float32))]).outputs[0].tolist() == [1e8]


def test_an_index_is_checked_where_the_variant_says_so() -> None:
    table, index = np.ones((3, 2), np.float32), np.array([1, 3])
    with Kernel(natives("numba")["gather"], stack="numba@boundscheck") as kernel:
        assert kernel.call([ArrayIn("table", table), ArrayIn("index", index)]).error_type == "IndexError"


def test_formats_that_numba_lacks_are_named() -> None:
    import ml_dtypes

    with pytest.raises(TypeError, match="has no dtype bfloat16"):
        STACK.to_native(np.zeros(2, ml_dtypes.bfloat16), "")


def test_its_own_operations_are_right() -> None:
    rng = np.random.default_rng(5)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 9), (9, 4)))
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    expected = {
        "matmul": (own("matmul", x, w), wide @ w.astype(np.float64)),
        "cumsum": (own("cumsum", x), wide.cumsum(-1)),
        "softmax": (own("softmax", x), np.exp(wide) / np.exp(wide).sum(-1, keepdims=True)),
        "layernorm": (
            own("layernorm", x, x[0], x[1], eps=0.5),
            centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 0.5) * x[0] + x[1],
        ),
    }
    for name, (given, wanted) in expected.items():
        assert given.dtype == np.float32, name
        np.testing.assert_allclose(given, wanted, rtol=2e-6, atol=2e-6, err_msg=name)
    added = x.copy()
    np.add.at(added, [2, 2], x[:2])
    np.testing.assert_array_equal(own("scatter_add", x, x[:2], np.array([2, 2])), added)
