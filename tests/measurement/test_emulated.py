"""Kernels made from a contract's own program: conforming in any legal order, and called like any other kernel."""

from __future__ import annotations

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.emulated import Emulated, Fixed, dims_of
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.rounding import to_storage

GEMM = kp.contract("gemm-accumulator")


def arrays(pair: tuple, **dims: int) -> list[ArrayIn]:
    inputs = kp.session(pair, np.matmul).inputs(kp.case(pair, **dims))
    return [ArrayIn(n, to_storage(x, pair[1].inputs[n])) for n, x in inputs.items()]


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "fp16", "bf16"])
def test_it_returns_the_storage_of_its_format(dtype: str) -> None:
    pair = kp.contract("gemm-accumulator", dtype)
    result = Emulated(*pair).call(arrays(pair, M=2, K=3, N=4))
    assert (result.outcome, result.dtypes) == (Outcome.RETURNED, (dtype,))
    assert result.outputs[0].shape == (2, 4)
    assert result.outputs[0].dtype == to_storage(np.zeros(1), pair[1].outputs["C"]).dtype


def test_each_call_takes_another_legal_order_and_all_conform() -> None:
    kernel = Emulated(*GEMM, seed=3)
    run = kp.session(GEMM, kernel)
    case = kp.case(GEMM, "cancelling(1e6)", M=4, K=200, N=4)
    seen = [run.measure(case) for _ in range(12)]
    assert len({o.hashes["C"] for o in seen}) > 1
    assert all(o.ratio <= 1 for o in seen)
    again = kp.session(GEMM, Emulated(*GEMM, seed=3))
    assert [again.measure(case).hashes for _ in range(3)] == [o.hashes for o in seen[:3]]


def test_a_fault_can_be_limited_to_some_sizes() -> None:
    ((_, wrong),) = mutants()["accumulate"].apply(GEMM[1].program, ("fp16",))
    run = kp.session(GEMM, Emulated(*GEMM, wrong, when=lambda sizes: sizes["K"] > 64))
    assert not run.measure(kp.case(GEMM, M=4, K=64, N=4)).violating
    assert run.measure(kp.case(GEMM, M=4, K=65, N=4)).violating


def test_sizes_are_read_off_the_shapes() -> None:
    contract = GEMM[0]
    assert dims_of(contract, {"A": (2, 3), "B": (3, 4)}) == {"M": 2, "K": 3, "N": 4}
    with pytest.raises(ArithmeticScopeError, match="B has K = 5, another input has K = 3"):
        dims_of(contract, {"A": (2, 3), "B": (5, 4)})
    with pytest.raises(ArithmeticScopeError, match=r"A has 3 dimension\(s\); the contract gemm-accumulator says 2"):
        dims_of(contract, {"A": (2, 3, 1), "B": (3, 4)})
    pair = kp.written("f (x: fp32[4, N]) -> y: fp32[4, N]", "y = x + x in fp32")
    with pytest.raises(ArithmeticScopeError, match="a size of 5 where the contract says 4"):
        dims_of(pair[0], {"x": (5, 2)})


def test_what_lies_outside_the_program_is_raised_like_a_kernel_would() -> None:
    pair = kp.contract("gather-shapes")
    table, index = np.ones((3, 2), np.float32), np.array([0, 7])
    result = Emulated(*pair).call([ArrayIn("table", table), ArrayIn("index", index)])
    assert (result.outcome, result.error_type) == (Outcome.RAISED, "ArithmeticScopeError")
    assert "index" in result.detail


def test_a_baseline_ignores_its_inputs() -> None:
    result = Fixed(lambda shape, fmt: np.zeros(shape)).call([], {}, poison=[((2, 3), "bf16"), ((), "int64")])
    assert result.dtypes == ("bf16", "int64")
    assert [o.shape for o in result.outputs] == [(2, 3), ()]
    assert not any(o.astype(np.float64).any() for o in result.outputs)
