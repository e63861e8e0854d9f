"""What operations are, written twice: the references of the library beside the definitions of second_opinion.py."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Case
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.admitting import acceptances
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.numerics.rounding import to_storage
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary

SMALL = 4000
"""Elements of a case at most: each costs the definition some microseconds."""


def witness(contract: Contract, bound: Bound, case: Case, inputs: Mapping[str, Array]) -> dict[str, Any]:
    """As one is kept of a violation."""
    given = {
        t.name: {"format": bound.inputs[t.name].name, "shape": list(inputs[t.name].shape),
                 "bytes": base64.b64encode(to_storage(inputs[t.name], bound.inputs[t.name]).tobytes()).decode()}
        for t in contract.inputs
    }  # fmt: skip
    return {"inputs": given, "case": {**asdict(case), "scalars": dict(case.scalars), "dtypes": dict(bound.dtypes)}}


def by_operation() -> dict[str, Contract]:
    """A contract of each operation that asks for numbers."""
    found: dict[str, Contract] = {}
    for contract in standard_library(vocabulary()):
        if classes()[contract.class_id].plan(contract, contract.bound[0]).experiment == "values":
            found.setdefault(contract.operation, contract)
    return found


def test_references_and_definitions_agree(script: Callable[[str], ModuleType]) -> None:
    opinion = script("second_opinion")
    contracts = by_operation()
    compared: dict[str, int] = {}
    for operation in opinion.DEFINITIONS:
        if operation not in contracts:
            continue
        contract = contracts[operation]
        bound = next((b for b in contract.bound if b.dtypes["P"] == "fp32"), contract.bound[0])
        plan = classes()[contract.class_id].plan(contract, bound)
        cases = experiments()[plan.experiment].cases(contract, bound, plan, seed=11, samples=24)
        session = Session(contract, bound, object(), ladder())  # type: ignore[arg-type]
        for case in [c for c in cases if c.work <= SMALL][:6]:
            inputs = session.inputs(case)
            instance = Instance(bound.judged, case.dims, inputs, dict(case.scalars))
            bounded, truth = session.truth(instance)
            told = witness(contract, bound, case, inputs)
            for claim, admitted in zip(
                bound.claims, acceptances(contract, bound, instance, bounded, truth), strict=True
            ):
                if claim.output and admitted.center.size:
                    count = _compared(opinion, told, operation, claim.output, admitted)
                    compared[operation] = compared.get(operation, 0) + count
    assert set(compared) == set(opinion.DEFINITIONS) & set(contracts)
    assert min(compared.values()) >= 3
    assert len(compared) >= 25


def _compared(opinion: ModuleType, told: dict[str, Any], operation: str, output: str, admitted: Acceptance) -> int:
    center, rng = admitted.center, np.random.default_rng(1)
    count = 0
    for flat in rng.choice(center.size, min(3, center.size), replace=False):
        index = tuple(int(i) for i in np.unravel_index(flat, center.shape))
        tolerance = float(admitted.tolerance[index])
        if not np.isfinite(center[index]):  # beyond float64, which these numbers need not keep within
            continue
        call = opinion.Call({**told, "seen": {"output": output, "index": index}})
        due = opinion.DEFINITIONS[operation](call)
        apart = abs(due - float(center[index]))
        near = opinion.NEAR * tolerance + opinion.spacing(due, "fp64")
        assert apart <= near, (operation, output, index, float(due), float(center[index]), tolerance)
        count += 1
    return count


@pytest.mark.parametrize(
    ("got", "oracle", "tolerance", "stands"),
    [
        (1.0 + 2.0**-20, 1.0, 2.0**-24, True),
        (1.0 + 2.0**-23, 1.0, 2.0**-24, True),
        (1.0 + 2.0**-24, 1.0, 2.0**-22, False),  # within the tolerance
        (1.0 + 2.0**-20, 1.0 + 2.0**-21, 2.0**-24, False),  # what the oracle said is not what is due
        (float("nan"), 1.0, 2.0**-24, True),
        (1.0, 1.0, 0.0, False),
        (2.0, 1.0, 0.0, True),
    ],
)
def test_an_accusation_stands_where_it_is_right(
    got: float, oracle: float, tolerance: float, stands: bool, script: Callable[[str], ModuleType]
) -> None:
    opinion = script("second_opinion")
    x = {"format": "fp32", "shape": [2], "bytes": base64.b64encode(np.float32([4.0, 1.0]).tobytes()).decode()}
    seen = {"output": "y", "index": [1], "got": got, "oracle": oracle, "tolerance": tolerance}
    made = {"inputs": {"x": x}, "case": {"scalars": {}, "dtypes": {"P": "fp32"}}, "seen": seen}
    assert opinion.judged(made, "sqrt")["stands"] is stands
