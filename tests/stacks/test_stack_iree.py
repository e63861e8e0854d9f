"""IREE: its own operations are right, functions of `.mlir` files are kernels, variants reach compiler and runtime."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import own_operations
import pytest

from kernel_contracts.api import check
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import TargetError, UsageError
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.stacks import iree
from kernel_contracts.stacks.base import find, stacks
from kernel_contracts.stacks.iree import STACK
from kernel_contracts.stacks.natives import natives
from kernel_contracts.stacks.natives.iree._modules import literal

needed = pytest.mark.skipif(not STACK.available(), reason=f"IREE is not installed: {STACK.install_hint()}")

MODULE = """
func.func @relu(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %shape = shape.shape_of %x : tensor<?x?xf32> -> tensor<2xindex>
  %zeros = stablehlo.dynamic_broadcast_in_dim %zero, %shape, dims = []
    : (tensor<f32>, tensor<2xindex>) -> tensor<?x?xf32>
  %y = stablehlo.maximum %x, %zeros : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
func.func @scale(%x: tensor<2x3xf32>, %s: tensor<f32>) -> tensor<2x3xf32> {
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %y = stablehlo.multiply %x, %b : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
func.func @same(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = stablehlo.abs %x : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
"""


own = functools.partial(own_operations.own, STACK)


@pytest.fixture
def module(tmp_path: Path) -> str:
    (tmp_path / "module.mlir").write_text(MODULE)
    return str(tmp_path / "module.mlir")


def test_it_is_listed_with_its_variants_and_how_to_install_it() -> None:
    assert stacks()["iree"] is STACK
    assert STACK.install_hint() == "run: pip install 'kernel-contracts[iree]'"
    assert {"f64", "vmvx", "one-thread"} <= STACK.variants.keys()
    assert natives("iree").keys() >= own_operations.ESSENTIAL


@pytest.mark.skipif(STACK.available(), reason="IREE is installed")
def test_without_it_a_sentence_says_so() -> None:
    with pytest.raises(UsageError, match="stack 'iree' is not installed: run: pip install"):
        find("iree@vmvx")


def test_a_flag_of_the_environment_replaces_that_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(iree.SETTINGS, "--iree-hal-target-backends=vmvx --iree-opt-level=O1")
    assert sorted(iree.flags()) == [
        "--iree-hal-target-backends=vmvx",
        "--iree-input-type=auto",
        "--iree-llvmcpu-target-cpu=host",
        "--iree-opt-level=O1",
    ]


def test_numbers_are_written_by_their_bits() -> None:
    assert literal(-np.inf, "f32") == "0xFF800000"
    assert literal(1e-5, "f32") == f"0x{np.float32(1e-5).view(np.uint32):08X}"
    assert literal(1.0, "bf16") == "0x3F80"
    assert literal(0.1, "f64") == f"0x{np.float64(0.1).view(np.uint64):016X}"
    assert literal(-3, "i64") == "-3"


@needed
@pytest.mark.parametrize("name", sorted(own_operations.ESSENTIAL))
def test_its_own_operations_are_right(name: str) -> None:
    own_operations.assert_right(STACK, name)


@needed
def test_operations_with_parameters_and_several_outputs() -> None:
    x = np.random.default_rng(5).standard_normal((4, 9)).astype(np.float32)
    values, places = own("topk", x, k=3)
    np.testing.assert_array_equal(places, np.argsort(-x, axis=-1, kind="stable")[:, :3])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, -1))
    values, places = own("sort", x)
    np.testing.assert_array_equal(places, np.argsort(x, axis=-1))
    np.testing.assert_array_equal(own("argmax", np.round(x)), np.round(x).argmax(-1))
    np.testing.assert_array_equal(own("pad", x, before=2, after=1), np.pad(x, ((0, 0), (2, 1))))
    np.testing.assert_array_equal(own("max_pool", x, window=3, stride=3), x.reshape(4, 3, 3).max(-1))
    np.testing.assert_array_equal(own("index_select", x, np.array([8, 0])), x[:, [8, 0]])


@needed
def test_attention_and_convolution_are_right() -> None:
    rng = np.random.default_rng(6)
    q, k, v = (rng.standard_normal((1, 2, 4, 3)).astype(np.float32) for _ in "qkv")
    scores = np.where(np.tri(4, dtype=bool), np.einsum("bhsd,bhtd->bhst", q, k) / np.sqrt(3), -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(own("attention", q, k, v, causal=True), weights @ v, rtol=1e-5, atol=1e-5)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, 2, 5, 5), (3, 2, 3, 3)))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    expected = np.einsum("ncijrs,ocrs->noij", windows, w)
    np.testing.assert_allclose(own("conv2d", x, w, stride=2, padding=1), expected, rtol=1e-5, atol=1e-5)


@needed
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float16, np.int64, np.bool_])
def test_formats_go_through_a_module_by_their_bits(dtype: Any) -> None:
    x = np.arange(-8, 8).astype(dtype).reshape(2, 8)
    assert own("transpose", x).tobytes() == np.ascontiguousarray(x.T).tobytes()


@needed
def test_a_function_of_a_module_is_a_kernel(module: str) -> None:
    verdicts = {}
    for entry in ("relu", "same"):
        (result,) = check(f"{module}:{entry}", "relu", stack="iree", classes=["C-EXC-01"], samples=4, seed=1)
        assert result.bound.dtypes["P"] == "fp32"
        verdicts[entry] = result.verdict
    assert verdicts == {"relu": Verdict.CONFORMS, "same": Verdict.VIOLATES}


@needed
def test_a_scalar_of_the_contract_is_an_argument_after_the_arrays(module: str) -> None:
    with Kernel(f"{module}:scale", stack="iree") as kernel:
        result = kernel.call([ArrayIn("x", np.ones((2, 3), np.float32))], {"s": 0.25}, poison=[((2, 3), "fp32")])
    np.testing.assert_array_equal(result.outputs[0], np.full((2, 3), 0.25, np.float32))


@needed
def test_mistakes_are_told_in_one_sentence(module: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.mlir"
    broken.write_text("func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> { return %y : tensor<?xf32> }")
    for target, operation, says in [
        (f"{broken}:f", "relu", "broken.mlir:f cannot be compiled by IREE: Unable to parse module"),
        (f"{module}:norm", "relu", "it has no function norm; it has relu, scale, same"),
        (module, "relu", "names no function; write module.mlir:FUNCTION"),
        (f"{module}:relu", "add", "module.mlir takes 1 arguments; the contract gives a, b"),
    ]:
        with pytest.raises(TargetError) as caught:
            check(target, operation, stack="iree", dtypes=["fp32"], samples=1, seed=1)
        assert says in str(caught.value)


@needed
def test_fp64_is_held_where_the_compiler_is_told_to_keep_it() -> None:
    assert "fp64" not in STACK.native_dtypes
    assert "fp64" in find("iree@f64").native_dtypes
    x = np.full((1, 3), 1 / 3)
    with Kernel(natives("iree")["mul"], stack="iree@f64") as kernel:
        result = kernel.call([ArrayIn("a", x), ArrayIn("b", x)])
    np.testing.assert_array_equal(result.outputs[0], x * x)


@needed
def test_variants_reach_the_compiler_and_the_runtime() -> None:
    for variant, fact, expected in [
        ("vmvx", "flags", "--iree-hal-target-backends=vmvx"),
        ("one-thread", "driver", "local-sync"),
    ]:
        with Kernel(natives("iree")["add"], stack=f"iree@{variant}") as kernel:
            facts = kernel.load().fingerprint["stack"]
            x = np.ones((2, 3), np.float32)
            assert kernel.call([ArrayIn("a", x), ArrayIn("b", x)]).outputs[0].tolist() == [[2.0] * 3] * 2
        assert expected in facts[fact]
