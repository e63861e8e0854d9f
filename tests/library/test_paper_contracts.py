"""The paper's class listings and case studies as contract files: each separates, and NumPy's own kernels conform."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_contracts.api import check
from kernel_contracts.calibration import calibrate
from kernel_contracts.contracts.catalogue import load_file
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.contracts.model import Contract
from kernel_contracts.language.lint import lint
from kernel_contracts.language.parser import parse_file
from kernel_contracts.language.printer import format_source
from kernel_contracts.vocabulary import vocabulary

FILES = sorted((Path(__file__).resolve().parents[2] / "examples" / "paper").glob("*.kc"))
CONTRACTS = [pytest.param(path, c, id=c.name) for path in FILES for c in load_file(path, vocabulary())]
#: What NumPy has no kernel for: it multiplies no fp8 matrices.
WITHOUT_NATIVE = {"C-PRC-01-FP8-ACCUMULATOR"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_listing_is_canonical_and_gives_rise_to_no_advice(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_source(text) == text
    assert [d.message for d in lint(parse_file(path))] == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_listing_implements_the_class_it_is_named_after(path: Path) -> None:
    found = {c.class_id for c in load_file(path, vocabulary())}
    assert len(found) == 1
    assert path.stem.startswith("study-") or found == {path.stem}


@pytest.mark.parametrize(("path", "contract"), CONTRACTS)
def test_a_listing_separates_its_three_states(path: Path, contract: Contract) -> None:
    result = calibrate(contract, contract.bound[0], seed=11, score=False)
    assert result.separates, [(s.state, s.kernel, s.verdict, s.silent) for s in result.states if not s.ok]


@pytest.mark.parametrize(("path", "contract"), [p for p in CONTRACTS if p.id not in WITHOUT_NATIVE])
def test_the_kernels_of_numpy_conform_to_a_listing(path: Path, contract: Contract) -> None:
    results = check(
        f"builtin:{contract.operation}", contract=f"{path}:{contract.name}", stack="numpy", samples=12, seed=5
    )
    assert {r.finding.verdict for r in results} <= {Verdict.CONFORMS, Verdict.INAPPLICABLE}
    assert any(r.finding.verdict is Verdict.CONFORMS for r in results)
