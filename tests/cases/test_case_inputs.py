"""The reported inputs show each fault; on the silent ones an ordinary test finds nothing, and nobody is accused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from case_harness import CASES, FaultCase, load
from case_inputs import Arrays, loud, silent

from kernel_contracts.assertions import AssertOptions, ConformanceError, assert_conforms
from kernel_contracts.stacks.base import find

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
cases = pytest.mark.parametrize("case", CASES, ids=[c.id for c in CASES])


def run(case: FaultCase, which: str, inputs: Arrays) -> np.ndarray[Any, Any]:
    return np.asarray(getattr(load(case.module), which)(*inputs))


def judge(case: FaultCase, which: str, inputs: Arrays) -> None:
    options = AssertOptions(classes=(case.class_id,), witness=False)
    assert_conforms(run(case, which, inputs), case.held_to, *inputs, options=options)


@cases
def test_reported_input_accuses_the_faulty_kernel(case: FaultCase) -> None:
    with pytest.raises(ConformanceError):
        judge(case, "faulty", loud()[case.id])


@cases
def test_reported_input_admits_the_sibling(case: FaultCase) -> None:
    judge(case, "sibling", loud()[case.id])


@pytest.mark.torch
@cases
def test_silent_inputs_pass_an_ordinary_test(case: FaultCase) -> None:
    torch = pytest.importorskip("torch")
    to_native = find("torch").to_native
    for inputs in silent()[case.id]:
        wrong, right = (to_native(run(case, which, inputs), "cpu") for which in ("faulty", "sibling"))
        torch.testing.assert_close(wrong, right)


@cases
def test_silent_inputs_admit_the_sibling(case: FaultCase) -> None:
    for inputs in silent()[case.id]:
        judge(case, "sibling", inputs)
