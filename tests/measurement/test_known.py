"""What is worked out once is what would be worked out again, and no kernel can change it for another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement import known
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.known import Known
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary

CONTRACTS = {c.name: c for c in standard_library(vocabulary())}


def measured(name: str, shared: Known | None, seed: int = 3):
    contract = CONTRACTS[name]
    bound = next(b for b in contract.bound if "fp16" in b.dtypes.values())
    plan = classes()[contract.class_id].plan(contract, bound)
    experiment = experiments()[plan.experiment]
    cases = experiment.cases(contract, bound, plan, seed=seed, samples=5)
    out = []
    for _ in range(2):
        session = Session(contract, bound, Emulated(contract, bound), ladder(), (), shared)
        out.append([experiment.measure(session, case) for case in cases])
    return [[(o.outputs, o.oracle, o.oracle_ok, o.hashes, o.facts) for o in seen] for seen in out]


@pytest.mark.parametrize("name", ["sum-accumulator", "max-nan", "gather-indices"])
def test_observations_are_the_same_with_and_without(name: str) -> None:
    name = name if name in CONTRACTS else next(n for n, c in CONTRACTS.items() if c.class_id == "C-EXC-02")
    assert measured(name, Known()) == measured(name, None)


def test_the_same_inputs_are_given_and_cannot_be_written_to() -> None:
    shared = Known()
    measured("sum-accumulator", shared)
    left = shared.left
    assert left < known.BUDGET
    contract = CONTRACTS["sum-accumulator"]
    bound = contract.bound[0]
    plan = classes()[contract.class_id].plan(contract, bound)
    case = experiments()[plan.experiment].cases(contract, bound, plan, seed=1, samples=1)[0]
    session = Session(contract, bound, Emulated(contract, bound), ladder(), (), Known())
    first, second = session.inputs(case), session.inputs(case)
    assert first["x"] is second["x"]
    first["x"] = np.zeros(1)
    assert session.inputs(case)["x"] is second["x"]
    with pytest.raises(ValueError, match="read-only"):
        second["x"][...] = 0


def test_what_does_not_fit_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "BUDGET", 100)
    shared = Known()
    shared.left = 100
    assert measured("sum-accumulator", shared) == measured("sum-accumulator", None)


def test_what_a_contract_admits_is_made_once_for_an_answer_that_is_kept() -> None:
    contract = CONTRACTS["sum-accumulator"]
    bound = contract.bound[0]
    plan = classes()[contract.class_id].plan(contract, bound)
    case = experiments()[plan.experiment].cases(contract, bound, plan, seed=1, samples=1)[0]
    session = Session(contract, bound, Emulated(contract, bound), ladder(), (), Known())
    instance = Instance(bound.judged, case.dims, session.inputs(case), {})
    outputs = {"y": np.zeros(1)}
    bounded, truth = session.truth(instance)
    first, second = (next(session.admitted(instance, bounded, truth, outputs)) for _ in range(2))
    assert first.acceptance is second.acceptance
    wider = {n: replace(b, e=b.radius() + 1.0) for n, b in bounded.items()}
    other = next(session.admitted(instance, wider, truth, outputs)).acceptance
    assert (other.tolerance > first.acceptance.tolerance).all()
    session.known.left = 0
    full = session.truth(Instance(bound.judged, case.dims, {"x": np.ones_like(instance.inputs["x"])}, {}))
    alone = [next(session.admitted(instance, *full, outputs)).acceptance for _ in range(2)]
    assert alone[0] is not alone[1]
    np.testing.assert_array_equal(alone[0].tolerance, alone[1].tolerance)


@pytest.mark.parametrize("contract", [c for c in CONTRACTS.values() if not c.dims], ids=lambda c: c.name)
def test_inputs_without_axes_are_arrays_in_every_family(contract: Contract) -> None:
    """NumPy's arithmetic turns an array without axes into a scalar, which has no flags to set."""
    bound = contract.bound[0]
    plan = classes()[contract.class_id].plan(contract, bound)
    for case in experiments()[plan.experiment].cases(contract, bound, plan, seed=2):
        session = Session(contract, bound, Emulated(contract, bound), ladder(), (), Known())
        for name, x in session.inputs(case).items():
            assert isinstance(x, np.ndarray), (case.family, name)
            assert x.shape == ()
