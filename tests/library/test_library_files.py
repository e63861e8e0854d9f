"""Every contract of the library loads with all names known, is in canonical form, and raises no advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import LIBRARY, load_file, standard_library
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.language import syntax
from kernel_contracts.language.lint import lint
from kernel_contracts.language.parser import parse_file
from kernel_contracts.language.printer import format_source
from kernel_contracts.measurement.faults import faults
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.operators import adds_up
from kernel_contracts.vocabulary import vocabulary

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted([*LIBRARY.glob("*.kc"), *EXAMPLES.glob("*.kc")])
#: Files that are not named after one operation: definitions, and the worked example of the paper.
APART = {"nn", "fa3", "my_kernel"}
CONTRACTS = [pytest.param(c, id=c.name) for path in FILES for c in load_file(path, vocabulary())]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_file_is_canonical_and_gives_rise_to_no_advice(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_source(text) == text
    assert [d.message for d in lint(parse_file(path))] == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_file_is_named_after_its_operation(path: Path) -> None:
    """Or after what its operations begin with, where there is one for each format: cast_bf16, cast_fp16 ..."""
    operations = {c.operation for c in load_file(path, vocabulary())}
    family = len(operations) > 1 and all(o.startswith(f"{path.stem}_") for o in operations)
    assert path.stem in APART or operations == {path.stem} or family


def test_contract_names_are_unique() -> None:
    names = [c.name for c in standard_library(vocabulary())]
    assert sorted(set(names)) == sorted(names)


def bad_states(contract: Contract) -> list[tuple[str, tuple[str, ...]]]:
    """Name and arguments of each mutant in `calibrate`; faults at the call must exist."""
    out = []
    for state in contract.calibrate:
        if state.state == "bad":
            assert isinstance(state.kernel, syntax.Call)
            inner = state.kernel.arguments[0].value
            if state.kernel.function == "fault":
                assert (inner.function if isinstance(inner, syntax.Call) else inner.id) in faults()
                continue
            assert state.kernel.function == "mutant"
            if isinstance(inner, syntax.Name):
                out.append((inner.id, ()))
                continue
            assert isinstance(inner, syntax.Call)
            given = [a.value for a in inner.arguments]
            out.append((inner.function, tuple(g.id if isinstance(g, syntax.Name) else g.value for g in given)))
    return out


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_is_calibrated_by_mutants_that_change_its_program(contract: Contract) -> None:
    assert {s.state for s in contract.calibrate} == {"good", "bad", "baseline"}
    for name, arguments in bad_states(contract):
        assert name in mutants(), f"{contract.name} names the mutant {name}, which does not exist"
        assert any(any(True for _ in mutants()[name].apply(b.program, arguments)) for b in contract.bound), (
            f"mutant({name}) changes nothing in {contract.name}"
        )


def longest_sum(bound: Bound) -> bool:
    return any(adds_up(n.op) for n in bound.program.nodes)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_claims_what_its_class_decides(contract: Contract) -> None:
    assert contract.class_id in classes()
    assert contract.measure.samples <= 48
    assert contract.doc.count("\n") == 0
    if contract.class_id == "C-PRC-01":
        assert all(longest_sum(b) for b in contract.bound), "a claim about an accumulator needs a sum"
