"""PyTorch kernels in a worker: bf16 and fp8, odd tensors, memory, and no switch touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Layout, Outcome
from kernel_contracts.measurement import exchange
from kernel_contracts.measurement.process import ArrayIn, CallResult, Kernel

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

SOURCE = """
import torch

def each(x, what="echo"):
    return globals()["_" + what](x)

def _echo(x): return x
def _contiguous(x): return x.contiguous(), torch.tensor(x.stride())
def _scribble(x): x.zero_(); return x + 1
def _parameter(x): return torch.nn.Parameter(x * 2)
def _max(x): return torch.max(x, dim=-1)
def _conj(x): return torch.complex(x, x).conj()
def _meta(x): return x.to("meta")
def _sparse(x): return x.to_sparse()
def _numpy(x): return x.numpy()
def _empty(x): return torch.empty(x.shape, dtype=x.dtype)
def _eat(x): return torch.ones(1 << 34)
def _shape(x): raise RuntimeError("expected rank 3")
def _resize(x): x.resize_(1); return x.clone()
def _switches(x):
    return torch.tensor([torch.is_grad_enabled(), torch.is_inference_mode_enabled(), x.requires_grad,
                         torch.are_deterministic_algorithms_enabled()])
class _Sub(torch.Tensor): pass
def _subclass(x): return x.as_subclass(_Sub)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    file: Path = tmp_path_factory.mktemp("torch") / "torch_kernels.py"
    file.write_text(SOURCE)
    with Kernel(f"{file}:each", stack="torch", memory_mb=2048) as k:
        yield k


def call(kernel: Kernel, what: str, x: np.ndarray | None = None, layout: Layout = Layout.CONTIGUOUS) -> CallResult:
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4) if x is None else x
    return kernel.call([ArrayIn("x", x, layout)], {"what": what}, poison=[(x.shape, exchange.format_name(x.dtype))])


@pytest.mark.parametrize("storage", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
@pytest.mark.parametrize("layout", Layout)
def test_every_pattern_of_the_small_formats_crosses_unchanged(kernel: Kernel, storage: str, layout: Layout) -> None:
    dtype = exchange.DTYPES[storage]
    bits = np.arange(256 ** min(dtype.itemsize, 2)).astype(f"u{dtype.itemsize}").view(dtype).reshape(16, -1)
    result = call(kernel, "echo", bits, layout)
    assert result.outcome is Outcome.RETURNED, result.detail
    assert result.outputs[0].dtype == dtype
    assert result.outputs[0].tobytes() == bits.tobytes()
    assert (result.mutated, result.aliased) == ((), ("x",))


def test_a_layout_reaches_the_kernel_as_strides(kernel: Kernel) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    seen = {}
    for layout in Layout:
        values, strides = call(kernel, "contiguous", x, layout).outputs
        np.testing.assert_array_equal(values, x)
        seen[layout.value] = tuple(strides)
    assert seen == {"contiguous": (4, 1), "transposed": (1, 3), "strided": (8, 2), "offset": (4, 1)}


def test_tensors_of_all_kinds(kernel: Kernel) -> None:
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(call(kernel, "parameter").outputs[0], x * 2)
    values, indices = call(kernel, "max").outputs
    assert (values.tolist(), indices.dtype) == ([4, 8, 12], np.int64)
    np.testing.assert_array_equal(call(kernel, "conj").outputs[0], x - 1j * x)
    for what, words in [("meta", "device meta"), ("sparse", "sparse"), ("numpy", "ndarray"), ("subclass", "_Sub")]:
        result = call(kernel, what)
        assert (result.defect, words in result.detail) == ("wrong_type", True), result


def test_changes_errors_and_limits(kernel: Kernel) -> None:
    assert call(kernel, "scribble").mutated == ("x",)
    assert call(kernel, "resize").mutated == ("x",)
    assert "RuntimeError: expected rank 3 (torch_kernels.py:" in call(kernel, "shape").detail
    assert call(kernel, "eat").outcome is Outcome.OUT_OF_MEMORY
    assert call(kernel, "echo").outcome is Outcome.RETURNED
    assert kernel.restarts == 0


@pytest.mark.parametrize("n", [3, 40, 1000, 10_000, 40_000, 2_000_000])
def test_memory_that_torch_hands_out_is_poison(kernel: Kernel, n: int) -> None:
    for _ in range(2):
        out = call(kernel, "empty", np.ones(n, np.float32)).outputs[0]
        assert np.isin(out.view(np.uint8), (0xFF, 0x7F)).sum() >= out.nbytes - 64


def test_no_switch_is_touched(kernel: Kernel) -> None:
    result = call(kernel, "switches")
    assert result.outputs[0].tolist() == [True, False, False, False]
    assert result.state["flush_to_zero"] is False
    facts = kernel.load().fingerprint["stack"]
    assert facts["name"] == "torch"
    assert facts["threads"] >= 1
