"""What a class measures: the contract's own protocol, completed by what the class cannot do without."""

from __future__ import annotations

import pytest

from kernel_contracts.classes import classes
from kernel_contracts.classes.base import ContractClass
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Layout
from kernel_contracts.measurement.faults import faults
from kernel_contracts.measurement.inputs.base import families
from kernel_contracts.measurement.shapes import shape_families
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.vocabulary import vocabulary

LIBRARY = standard_library(vocabulary())


def test_the_classes_come_in_the_order_of_the_paper() -> None:
    order = ["PRC", "ORD", "CMP", "EXC"]
    assert list(classes()) == sorted(classes(), key=lambda i: (order.index(i[2:5]), i))
    assert {"C-PRC-01", "C-PRC-02", "C-CMP-01", "C-CMP-03"} <= set(classes())


@pytest.mark.parametrize("klass", classes().values(), ids=lambda c: c.id)
def test_a_class_names_things_that_exist(klass: ContractClass) -> None:
    assert klass.claim.endswith(".")
    assert klass.mutants or klass.faults
    assert set(klass.mutants) <= set(mutants())
    assert set(klass.faults) <= set(faults())
    assert {i.name for i in klass.extra_inputs} <= set(families())
    assert {i.name for i in getattr(klass, "extra_shapes", ())} <= set(shape_families())
    assert any(c.class_id == klass.id for c in LIBRARY), "a class without a contract cannot be used"


@pytest.mark.parametrize("contract", LIBRARY, ids=lambda c: c.name)
def test_a_plan_keeps_what_the_contract_says_and_adds_what_the_class_needs(contract: object) -> None:
    klass = classes()[contract.class_id]  # type: ignore[attr-defined]
    plan = klass.plan(contract, contract.bound[0])  # type: ignore[attr-defined]
    assert plan.inputs[: len(contract.measure.inputs)] == contract.measure.inputs  # type: ignore[attr-defined]
    assert plan.shapes[: len(contract.measure.shapes)] == contract.measure.shapes  # type: ignore[attr-defined]
    assert {i.name for i in klass.extra_inputs} <= {i.name for i in plan.inputs}
    assert plan.samples == contract.measure.samples  # type: ignore[attr-defined]
    assert dict(plan.sweeps) == dict(contract.measure.sweeps)  # type: ignore[attr-defined]
    names = [i.name for i in plan.inputs[len(contract.measure.inputs) :]]  # type: ignore[attr-defined]
    assert len(names) == len(set(names))


def test_shapes_are_measured_in_every_layout() -> None:
    contract = next(c for c in LIBRARY if c.class_id == "C-CMP-03")
    plan = classes()["C-CMP-03"].plan(contract, contract.bound[0])
    assert set(plan.layouts) == set(Layout)
    assert {"tails", "primes", "thin", "one", "empty", "held_out"} <= {s.name for s in plan.shapes}
