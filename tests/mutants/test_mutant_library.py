"""Mutants of the whole library: each type-checks, keeps the interface, and differs somewhere."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Case
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.language import syntax
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.oracle import work
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.interpret import Instance, emulate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.program import Program
from kernel_contracts.vocabulary import vocabulary

LIBRARY = standard_library(vocabulary())
PAIRS = [(c, b) for c in LIBRARY for b in c.bound]
SMALL = 1 << 17


def made(bound: Bound, name: str) -> list[tuple[str, Program]]:
    entry = mutants()[name]
    return [found for arguments in entry.defaults for found in entry.apply(bound.program, arguments)]


@pytest.mark.parametrize("contract", LIBRARY, ids=lambda c: c.name)
def test_every_mutant_keeps_the_interface(contract: Contract) -> None:
    for bound in contract.bound:
        base = bound.program
        for name in mutants():
            for where, p in made(bound, name):
                assert where
                assert set(p.inputs) == set(base.inputs), (name, where)
                assert set(p.outputs) == set(base.outputs), (name, where)
                assert p.nodes != base.nodes, (name, where)
                for output, index in base.outputs.items():
                    mine, theirs = p.nodes[p.outputs[output]].type, base.nodes[index].type
                    assert mine.kind == theirs.kind, (name, where)
                    sizes = dict.fromkeys(p.dims, 24) | dict.fromkeys(p.scalars, 1)
                    try:
                        shapes = [tuple(size_of(d, sizes) for d in t.shape) for t in (mine, theirs)]
                    except ArithmeticScopeError:
                        continue
                    assert shapes[0] == shapes[1], (name, where)
                assert all(a < k for k, n in enumerate(p.nodes) for a in n.args)


def small_cases(contract: Contract, bound: Bound, seed: int) -> list[Case]:
    plan = classes()[contract.class_id].plan(contract, bound)
    cases = experiments()[plan.experiment].cases(contract, bound, plan, seed=seed, samples=24)
    return [c for c in cases if work(Instance(bound.program, c.dims, {}, c.scalars)) <= SMALL]


def differs(contract: Contract, bound: Bound, p: Program, cases: list[Case]) -> bool:
    session = Session(contract, bound, Emulated(contract, bound), ())
    experiment = experiments()[classes()[contract.class_id].plan(contract, bound).experiment]
    for case in cases:
        try:
            inputs = experiment.inputs(session, case)
            with np.errstate(all="ignore"):
                first = emulate(Instance(bound.program, case.dims, inputs, case.scalars), EmulateContext())
                second = emulate(Instance(p, case.dims, inputs, case.scalars), EmulateContext())
        except ArithmeticScopeError:
            continue
        for n in first:
            real = first[n].dtype.kind == "f"
            if first[n].shape != second[n].shape or not np.array_equal(first[n], second[n], equal_nan=real):
                return True
    return False


def faults(contract: Contract) -> list[tuple[str, tuple[object, ...]]]:
    """The mutants in a contract's calibration, with their arguments."""
    out: list[tuple[str, tuple[object, ...]]] = []
    for entry in contract.calibrate:
        if entry.state == "bad" and isinstance(entry.kernel, syntax.Call) and entry.kernel.function == "mutant":
            fault = entry.kernel.arguments[0].value
            given = fault.arguments if isinstance(fault, syntax.Call) else ()
            values = [a.value.id if isinstance(a.value, syntax.Name) else a.value.value for a in given]
            out.append((fault.function if isinstance(fault, syntax.Call) else fault.id, tuple(values)))
    return out


@pytest.mark.parametrize("contract", LIBRARY, ids=lambda c: c.name)
def test_the_mutants_that_a_contract_is_calibrated_with_differ(contract: Contract) -> None:
    """In fp32, or where there is none in the widest format: the fault changes some bit on the contract's own inputs."""
    bound = next((b for b in contract.bound if b.dtypes.get("P") == "fp32"), contract.bound[0])
    cases = small_cases(contract, bound, seed=3)
    assert cases
    for name, arguments in faults(contract):
        programs = [p for _, p in mutants()[name].apply(bound.program, arguments)]
        assert not programs or any(differs(contract, bound, p, cases) for p in programs), (name, arguments)


def test_every_kind_of_mutant_differs_somewhere_in_the_library() -> None:
    """Every kind of mutant differs for some contract of its class, on the contract's own inputs."""
    left = set(mutants())
    for contract, bound in PAIRS:
        if not left:
            break
        if bound.dtypes.get("P") == "fp64":
            continue
        cases = small_cases(contract, bound, seed=5)[:8]
        for name in sorted(left):
            if any(differs(contract, bound, p, cases) for _, p in made(bound, name)[:2]):
                left.discard(name)
    assert not left
