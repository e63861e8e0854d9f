"""Right answers pass: every operation and dtype of the library, every kind of array, every corner of a shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import assert_cases as cases
import ml_dtypes
import numpy as np
import pytest

from kernel_contracts.answers import arguments
from kernel_contracts.assertions import AssertOptions, ConformanceError, assert_conforms
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.stacks.base import find


@pytest.mark.parametrize("pair", cases.library(), ids=cases.name)
def test_conforming_executions_pass_as_numpy_arrays(pair: tuple[Contract, Bound]) -> None:
    contract, bound = pair
    inputs = cases.drawn(contract, bound)
    for seed in range(3):
        outputs = cases.answer(contract, bound, inputs, seed)
        assert_conforms(outputs, contract.operation, *cases.arrays(inputs), **cases.needed(contract))


@pytest.mark.torch
@pytest.mark.parametrize("pair", cases.library(), ids=cases.name)
def test_conforming_executions_pass_as_tensors(pair: tuple[Contract, Bound]) -> None:
    contract, bound = pair
    stack = find("torch")
    inputs = cases.drawn(contract, bound)
    tensors = [stack.to_native(i.array, "cpu") for i in inputs]
    made = cases.answer(contract, bound, inputs)
    several = isinstance(made, tuple)
    actual = tuple(stack.to_native(m, "cpu") for m in made) if several else stack.to_native(made, "cpu")
    assert_conforms(actual, contract.operation, *tensors, **cases.needed(contract))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_pytorch_itself_passes(dtype: str) -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(33, 65).to(getattr(torch, dtype))
    a, b = (torch.randn(17, 33).to(getattr(torch, dtype)) for _ in range(2))
    assert_conforms(torch.softmax(x, -1), "softmax", x)
    assert_conforms(a @ b.T, "matmul", a, b.T)
    assert_conforms(torch.sum(x, -1), "sum", x)


@pytest.mark.torch
def test_tensors_that_need_a_gradient_and_parameters_pass() -> None:
    import torch

    x = torch.randn(4, 8, requires_grad=True)
    weight, bias = torch.nn.Parameter(torch.randn(8)), torch.nn.Parameter(torch.zeros(8))
    y = torch.nn.functional.layer_norm(x, (8,), weight, bias, 1e-6)
    assert y.requires_grad
    assert_conforms(y, "layernorm", x, weight, bias, eps=1e-6)


def test_a_parameter_by_keyword_counts() -> None:
    x = np.full((2, 4), 1e-3, np.float32) * np.arange(4, dtype=np.float32)
    ones, zeros = np.ones(4, np.float32), np.zeros(4, np.float32)
    centred = x.astype(np.float64) - x.astype(np.float64).mean(-1, keepdims=True)
    y = (centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-2)).astype(np.float32)
    assert_conforms(y, "layernorm", x, ones, zeros, eps=np.float64(1e-2))
    with pytest.raises(ConformanceError):
        assert_conforms(y, "layernorm", x, ones, zeros)


@pytest.mark.parametrize("view", ["transposed", "strided", "reversed", "big_endian"])
def test_the_memory_layout_does_not_matter(view: str) -> None:
    rng = np.random.default_rng(0)
    base = rng.standard_normal((8, 6)).astype(np.float32)
    a = {
        "transposed": base.T, "strided": base[::2, 1::2], "reversed": base[::-1, ::-1], "big_endian": base.astype(">f4")
    }[view]  # fmt: skip
    b = rng.standard_normal((a.shape[1], 5)).astype(np.float32)
    out = np.empty((a.shape[0], 10), np.float32)[:, ::2]
    out[...] = a.astype(np.float32) @ b
    assert_conforms(out, "matmul", a, b)


def test_lists_and_plain_numbers_pass() -> None:
    assert_conforms([[0.5, 0.5]], "softmax", [[1.0, 1.0]])
    assert_conforms([[11, 14]], "matmul", [[1, 2]], [[3, 4], [4, 5]])
    assert_conforms(2.5, "fp8_scale", [448.0 / 2.5])


def test_a_list_takes_the_dtype_of_the_answer() -> None:
    third = np.array([[1 / 3, 2 / 3]], np.float64)
    logits = np.log(third)
    assert_conforms(third, "softmax", logits.tolist())
    with pytest.raises(ConformanceError, match=r"P = fp64"):
        assert_conforms(third.astype(np.float32).astype(np.float64), "softmax", logits.tolist())


def test_outputs_without_axes_pass() -> None:
    x = np.array([[0.0, 0.0], [0.0, 0.0]], np.float32)
    loss = np.float32(np.log(2.0))
    for actual in (loss, np.asarray(loss), float(loss)):
        assert_conforms(actual, "cross_entropy", x, np.array([0, 1]))


class Foreign:
    """An array of a library that has no stack of its own; NumPy can read it, or not."""

    def __init__(self, array: Any, readable: bool = True) -> None:
        self.array, self.dtype, self.readable = array, array.dtype, readable

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if not self.readable:
            raise TypeError("implicit conversion is not allowed")
        return self.array


def test_arrays_of_other_libraries_are_read_through_numpy() -> None:
    x = np.zeros((1, 2), ml_dtypes.bfloat16)
    assert_conforms(Foreign(np.full((1, 2), 0.5, ml_dtypes.bfloat16)), "softmax", Foreign(x))
    with pytest.raises(UsageError, match="copy it to the host first"):
        assert_conforms(x, "softmax", Foreign(x, readable=False))


@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0)])
def test_empty_arrays_pass(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    assert_conforms(np.zeros((m, n), np.float32), "matmul", np.zeros((m, k), np.float32), np.zeros((k, n), np.float32))


def test_the_sum_of_nothing_is_zero() -> None:
    with pytest.raises(ConformanceError, match="tolerance 0"):
        assert_conforms(
            np.ones((2, 2), np.float32), "matmul", np.zeros((2, 0), np.float32), np.zeros((0, 2), np.float32)
        )


@pytest.mark.parametrize("width", [np.int8, np.int32, np.int64, np.uint8])
def test_an_index_may_have_any_integer_width(width: Any) -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    index = np.array([3, 0, 3], width)
    assert_conforms(table[index], "gather", table, index)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_several_outputs_come_as_a_tuple(tmp_path: Path, dtype: Any) -> None:
    contract = cases.write(tmp_path, cases.TWO_OUTPUTS)
    x = np.random.default_rng(1).standard_normal((5, 9)).astype(dtype)
    wide = x.astype(np.float64)
    total = wide.sum(-1).astype(np.float32).astype(dtype)
    right = (x.max(-1), wide.argmax(-1), total)
    assert_conforms(right, contract, x)
    assert_conforms(list(right), f"{contract}:peak", x)
    wrong = (right[0], (right[1] + 1) % 9, total)
    with pytest.raises(ConformanceError, match=r"place\[\d\] = \d, oracle \d, tolerance 0"):
        assert_conforms(wrong, contract, x)


def test_an_elaborated_contract_can_be_given() -> None:
    contract, bound = cases.find("softmax", "fp32")
    inputs = cases.drawn(contract, bound)
    assert_conforms(cases.answer(contract, bound, inputs), contract, *cases.arrays(inputs))


def test_contracts_are_elaborated_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the library once a process; of a file once for each state of it."""
    made: list[str] = []
    real = arguments.contracts_for

    def counting(operation: str | None, contract: str | None, chosen: Any = None) -> Any:
        made.append(str(operation or contract))
        return real(operation, contract, chosen)

    monkeypatch.setattr(arguments, "contracts_for", counting)
    arguments._from_library.cache_clear()
    for k in range(3):
        assert_conforms([[1.0]], "softmax", np.full((1, 1), k, np.float32))
        assert_conforms(np.ones((1, 1)), "softmax", np.full((1, 1), k, np.float64))
    assert made == ["softmax"]
    path = cases.write(tmp_path, cases.TWO_OUTPUTS)
    x = np.ones((1, 1), np.float32)
    for _ in range(2):
        assert_conforms((x[0], np.zeros(1, np.int64), x[0]), path, x)
    assert made == ["softmax", path]
    import os

    cases.write(tmp_path, cases.TWO_OUTPUTS.replace("version 1.0", "version 1.1"))
    os.utime(path, ns=(1, 1))
    with pytest.raises(ConformanceError, match=r"peak 1\.1"):
        assert_conforms((x[0], np.ones(1, np.int64), x[0]), path, x)
    assert made == ["softmax", path, path]


def test_contracts_that_claim_the_same_are_measured_once() -> None:
    x = np.zeros((2, 3), np.float32)
    calls = arguments.read_calls("softmax", [x], {})
    told = [c.name for call in calls for c in call.contracts]
    assert sorted(told) == sorted(c.name for c in arguments.find_contracts("softmax"))
    assert len(calls) < len(told)


def test_a_class_filter_selects_contracts() -> None:
    """The pairwise order allows less than any order does: what lies between fails one contract only."""
    x = np.ones((1, 1000), np.float32) * np.float32(1.1)
    total = x.astype(np.float64).sum()
    between = [float(total * (1 + 500 * 2.0**-24))]
    with pytest.raises(ConformanceError, match="sum-pairwise"):
        assert_conforms(between, "sum", x)
    assert_conforms(between, "sum", x, options=AssertOptions(classes=("C-PRC-01",)))
