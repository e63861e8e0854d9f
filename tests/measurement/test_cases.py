"""From a plan to cases: reproducible, within the precondition, and meeting everything that was asked for."""

from __future__ import annotations

import math
from collections import Counter

import kernels_in_process as kp
import pytest

from kernel_contracts.classes import classes
from kernel_contracts.classes.base import Plan
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.contracts.model import Contract, MeasureItem
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.measurement.cases import input_at, item_of, plan_cases
from kernel_contracts.vocabulary import vocabulary

LIBRARY = standard_library(vocabulary())


def cases(contract: Contract, seed: int, choice: int = 0, **given: object) -> list[Case]:
    bound = contract.bound[choice]
    plan = classes()[contract.class_id].plan(contract, bound)
    return plan_cases(contract, bound, plan, seed=seed, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("contract", LIBRARY, ids=lambda c: c.name)
def test_cases_of_the_library(contract: Contract) -> None:
    made = cases(contract, 4)
    plan = classes()[contract.class_id].plan(contract, contract.bound[0])
    assert made == cases(contract, 4)
    assert made != cases(contract, 5)
    assert len({c.seed for c in made}) == len(made)
    assert {str(i) for i in plan.inputs} == {c.family for c in made}
    assert len({c.id for c in made}) == len(made)
    for c in made:
        assert holds(contract.pre, dict(c.dims), dict(c.scalars)), c
        assert set(c.dims) == set(contract.dims)
        # which schedules there are is known where the kernel is
        assert {s.name for s in contract.scalars if s.type != "schedules"} == set(c.scalars)
        assert item_of(c) in plan.inputs
    for name, values in plan.sweeps:
        assert set(values) <= {c.dims[name] for c in made}


def test_dtypes_and_contracts_get_inputs_of_their_own() -> None:
    contract = LIBRARY[0]
    first, second = cases(contract, 4, 0), cases(contract, 4, 1)
    assert {c.seed for c in first}.isdisjoint(c.seed for c in second)
    assert first[0].dtypes != second[0].dtypes


def test_more_samples_are_more_cases() -> None:
    contract = kp.contract("gemm-accumulator")[0]
    assert len(cases(contract, 1, samples=200)) == 200
    few = cases(contract, 1, samples=1)
    assert len(few) >= len(classes()["C-PRC-01"].plan(contract, contract.bound[0]).inputs)


def test_shapes_are_measured_in_every_layout_beside_the_plain_one() -> None:
    made = Counter(c.layout for c in cases(kp.contract("matmul-shapes")[0], 1, samples=64))
    assert set(made) == set(Layout)
    assert made[Layout.CONTIGUOUS] >= 32
    assert {c.layout for c in cases(kp.contract("gemm-accumulator")[0], 1)} == {Layout.CONTIGUOUS}


SCALARS = ("f (x: fp32[N]; eps: real = 1e-5, k: int = 2, s: int = 3, flag: bool = false, must: real) -> y: fp32[N]",
           "y = x + eps + must in fp32", "N in 1..64 and k in 1..4 and eps in 1e-8..1e-2")  # fmt: skip


def test_parameters_are_drawn_away_from_their_defaults() -> None:
    contract, _ = kp.written(*SCALARS)
    made = cases(contract, 2, samples=90)
    eps = [c.scalars["eps"] for c in made]
    assert 20 <= eps.count(1e-5) <= 60, "a third keeps the defaults"
    assert len(set(eps)) > 20
    assert all(1e-8 <= e <= 1e-2 for e in eps)
    assert {c.scalars["k"] for c in made} == {1, 2, 3, 4}
    assert {c.scalars["s"] for c in made} == {3}, "an integer without a range has no other value to take"
    assert {c.scalars["flag"] for c in made} == {True, False}
    assert len({c.scalars["must"] for c in made}) > 45
    assert all(isinstance(c.scalars["k"], int) and isinstance(c.scalars["eps"], float) for c in made)


def test_a_fixed_parameter_stays() -> None:
    contract, _ = kp.written(*SCALARS)
    made = cases(contract, 2, samples=30, fixed={"eps": 1e-3, "must": 0.5})
    assert {(c.scalars["eps"], c.scalars["must"]) for c in made} == {(1e-3, 0.5)}


def test_a_fixed_parameter_outside_the_precondition_gives_no_case() -> None:
    contract, _ = kp.written(*SCALARS)
    assert cases(contract, 2, fixed={"eps": 1.0}) == []


def test_a_plan_without_variation_keeps_the_defaults() -> None:
    contract, bound = kp.written(*SCALARS)
    plan = Plan((MeasureItem("normal"),), (MeasureItem("one"),), 12, vary_scalars=False)
    made = plan_cases(contract, bound, plan, seed=1)
    assert {(c.scalars["eps"], c.scalars["k"]) for c in made} == {(1e-5, 2)}


def test_a_contract_without_sizes_is_measured() -> None:
    contract, bound = kp.written("f (x: fp32[4]) -> y: fp32[4]", "y = x + x in fp32")
    plan = Plan((MeasureItem("normal"), MeasureItem("ones")), (MeasureItem("one"),), 6)
    made = plan_cases(contract, bound, plan, seed=1)
    assert len(made) == 6
    assert {c.shape_family for c in made} == {"rank 0"}


@pytest.mark.parametrize("inputs", range(1, 9))
@pytest.mark.parametrize("shapes", range(1, 9))
def test_every_input_is_met_early_and_in_every_shape_late(inputs: int, shapes: int) -> None:
    turns = [(k % shapes, input_at(k, shapes, inputs)) for k in range(16 * shapes * inputs)]
    assert {i for _, i in turns[: 2 * inputs]} == set(range(inputs))
    if math.gcd(shapes + 1, inputs) in (1, shapes + 1):
        assert len(set(turns)) == shapes * inputs


def test_sizes_that_nothing_admits_give_no_case() -> None:
    contract, bound = kp.written("f (x: fp32[N]) -> y: fp32[N]", "y = x", "N in 1..4 and N > 9 + N")
    assert plan_cases(contract, bound, Plan((MeasureItem("normal"),), (MeasureItem("one"),), 4), seed=1) == []


@pytest.mark.parametrize(
    "item",
    [MeasureItem("normal"), MeasureItem("cancelling", (1e6,)), MeasureItem("offset", ((1.0, 1e4),)),
     MeasureItem("constant_offset", (-100.0,)), MeasureItem("x", (1.5, (2.0, 3.0), 1e-7))],
)  # fmt: skip
def test_an_input_family_reads_back_from_its_text(item: MeasureItem) -> None:
    assert item_of(Case(0, str(item), {}, {}, {}, Layout.CONTIGUOUS, 0)) == item
