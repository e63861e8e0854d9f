"""Faults on NaN, infinities and bad indices: accused by name, silent on ordinary inputs, and their siblings are not."""

from __future__ import annotations

import numpy as np
import pytest
from case_harness import FaultCase, InProcess, accused, check_case, check_isolated, conforms, load

from kernel_contracts.casebook import fault_cases
from kernel_contracts.checking import contracts_for
from kernel_contracts.measurement.functional import ordinary, passes

NAN, INF = np.nan, np.inf
CASES = tuple(c for c in fault_cases().values() if c.class_id.startswith("C-EXC"))
cases = pytest.mark.parametrize("case", CASES, ids=[c.id for c in CASES])


@cases
@pytest.mark.parametrize("seed", [1, 22, 333])
def test_the_faulty_kernel_is_accused_and_its_sibling_is_not(case: FaultCase, seed: int) -> None:
    accused(case, check_case(case, "faulty", seed))
    conforms(check_case(case, "sibling", seed))


@cases
def test_an_ordinary_test_sees_nothing(case: FaultCase) -> None:
    (contract,) = contracts_for(case.operation or None, case.source["contract"], (case.class_id,))
    for bound in contract.bound:
        if set(bound.dtypes.values()) & set(case.dtypes):
            kernel = InProcess(load(case.module).faulty)
            assert passes(contract, bound, kernel, 7, ordinary(contract, bound, 7))


@pytest.mark.parametrize("case", [CASES[0], CASES[3]], ids=["O31", "O34"])
def test_the_whole_way_in_a_process_of_its_own(case: FaultCase) -> None:
    accused(case, check_isolated(case, "faulty", 5))
    conforms(check_isolated(case, "sibling", 5))


def test_the_reported_numbers_come_out_of_the_kernels() -> None:
    o31 = load("o31_argmax_nan")
    for row, wrong, right in (([NAN, 6, 8, -INF], 2, 0), ([NAN, INF], 1, 0), ([INF, NAN], 1, 1)):
        x = np.array([row])
        assert (int(o31.faulty(x)[0]), int(o31.sibling(x)[0])) == (wrong, right)
    assert load("o32_clamp_nan").faulty(np.array([NAN]), low=-100.0, high=100.0) == [-100]
    x = np.array([[NAN, NAN]], dtype=np.float32)
    assert load("o33_max_pool_nan").faulty(x) == np.finfo(np.float32).min
    assert np.isnan(load("o33_max_pool_nan").sibling(x)).all()
    assert load("o34_embedding").faulty(np.ones((10, 2)), np.array([10])).tolist() == [[0, 0]]


def test_a_window_of_minus_infinities_sends_its_gradient_elsewhere() -> None:
    o35 = load("o35_pool_index")
    x, dy = np.array([[-INF, -INF, 1, 2]]), np.array([[5.0, 7.0]])
    assert o35.faulty(x).tolist() == [[-1, 3]]
    assert o35.sibling(x).tolist() == [[0, 3]]
    assert o35.gradient(x, dy, o35.faulty).tolist() == [[0, 0, 0, 12]]
    assert o35.gradient(x, dy, o35.sibling).tolist() == [[5, 0, 0, 7]]


def test_a_negative_index_is_dropped_or_counted_from_the_end() -> None:
    o36 = load("o36_scatter_negative")
    index = np.array([0, 1, 2, 3, 4, -1, -1, -1, -1, -1])
    base, ones = np.zeros((10, 1)), np.ones((10, 1))
    assert o36.faulty(base, ones, index)[-1] == 5
    assert o36.sibling(base, ones, index)[-1] == 0
