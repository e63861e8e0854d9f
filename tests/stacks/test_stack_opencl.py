"""OpenCL: `.cl` files launched as they say, signatures that are checked, and variants that reach the compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import own_operations
import pytest

from kernel_contracts.api import check
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import TargetError
from kernel_contracts.measurement.calls import Scope, Tensor
from kernel_contracts.stacks.opencl import OPTIONS, PRELUDE, STACK

pytest.importorskip("pyopencl")
pytestmark = pytest.mark.skipif(not STACK.devices(), reason="there is no OpenCL device")

KERNELS = """
// kc: formats = fp32
__kernel void twice(__global const x_t *x, __global float *y, int N, float by) {
  y[get_global_id(0)] = x[get_global_id(0)] * by;
}
__kernel void contracted(__global const float *x, __global float *y, long N, double by) {
  y[0] = x[0] * x[1] + x[2];
}
__kernel void groups(__global const float *x, __global float *y, long N, float by) {
  if (get_global_id(0) < N) y[get_global_id(0)] = get_local_size(0) + get_global_size(0) * by;
}
__kernel void doubles(__global const double *x, __global float *y, long N, float by) {}
__kernel void few(__global const float *x, __global float *y) {}
__kernel void odd(__global const float *x, __global float *y, long N, float2 by) {}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "kernels.cl").write_text(KERNELS)
    return str(tmp_path / "kernels.cl")


def called(file: str, entry: str, x: np.ndarray[Any, Any], by: float = 2.0) -> Any:
    scope = Scope((Tensor("x", "fp32", x.shape),), (Tensor("y", "fp32", x.shape),), (("by", "real"),), (("N", x.size),))
    device = STACK.devices()[0]
    launched = STACK.open(file, entry, device).launch(scope)
    return STACK.from_native(launched(STACK.to_native(x, device), by=by))


def test_one_work_item_for_each_element(file: str) -> None:
    assert called(file, "twice", np.arange(5, dtype=np.float32)).tolist() == [0, 2, 4, 6, 8]
    assert called(file, "twice", np.zeros(0, np.float32)).shape == (0,)


def test_a_file_says_how_it_is_launched(file: str, tmp_path: Path) -> None:
    said = tmp_path / "said.cl"
    said.write_text("// kc: global = N * 2, 3\n// kc: local = 4, 1\n" + KERNELS)
    x = np.zeros(5, np.float32)
    assert called(str(said), "groups", x).tolist() == [4 + 2 * 12] * 5
    assert called(str(said), "twice", x).shape == (5,)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("doubles", "takes x as double*; the contract gives fp32; choose --dtype"),
        ("few", "takes 2 arguments; the contract gives x, y, N, by"),
        ("odd", "takes by as float2; numbers are passed as"),
        ("absent", "names no kernel of that file; it has"),
    ],
)
def test_another_signature_is_refused_in_a_sentence(file: str, entry: str, sentence: str) -> None:
    with pytest.raises(TargetError) as caught:
        called(file, entry, np.zeros(3, np.float32))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("__kernel void f( {", "cannot be built: 1:"),
        ("// kc: globl = N", "says `kc: globl = N`; write NAME = VALUE with one of formats, global"),
        ("// kc: global = Q\n__kernel void f(__global float *x, __global float *y, int N, float b) {}", "size 'Q'"),
        (
            "// kc: local = 4, 4\n__kernel void f(__global float *x, __global float *y, int N, float b) {}",
            "over 1 sizes",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "odd.cl").write_text(text)
    with pytest.raises(TargetError) as caught:
        called(str(tmp_path / "odd.cl"), "f", np.zeros(3, np.float32))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_variants_reach_the_compiler(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 - 2^-24 squared, minus what it rounds to, is 0 unless the product is fused with the difference."""
    a = np.float32(1 - 2**-24)
    x = np.array([a, a, -a * a], np.float32)
    monkeypatch.setenv(PRELUDE, "#pragma OPENCL FP_CONTRACT OFF")
    assert called(file, "contracted", x)[0] == 0
    monkeypatch.setenv(OPTIONS, "-cl-no-such-option")
    with pytest.raises(TargetError, match="cannot be built"):
        called(file, "contracted", x)
    assert STACK.fingerprint()["options"] == ["-cl-no-such-option"]


def test_the_example_of_the_page_conforms(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "device-kernels.md").read_text()
    (tmp_path / "row_sums.cl").write_text(page.partition("```c\n// row_sums.cl\n")[2].partition("```")[0])
    target = f"{tmp_path}/row_sums.cl:row_sums"
    results = check(target, operation="sum", stack="opencl", samples=4, seed=1, classes=["C-CMP-03"])
    assert {(r.verdict, r.bound.dtypes["P"]) for r in results} == {
        (Verdict.CONFORMS, "fp64"),
        (Verdict.CONFORMS, "fp32"),
    }


def test_every_operation_of_its_own_is_right() -> None:
    assert list(own_operations.wrong(STACK)) == []


def test_fmax_is_found_to_lose_nan() -> None:
    (result,) = check(operation="relu", stack="opencl", dtypes=["fp32"], samples=8, seed=7, classes=["C-EXC-01"])
    assert result.verdict is Verdict.VIOLATES
    assert result.finding.signature is not None
    assert result.finding.signature.name == "nan_lost"
