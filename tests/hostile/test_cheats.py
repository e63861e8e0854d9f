"""Every cheat of the survey: found under its own name, or shown to gain nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_contracts import api
from kernel_contracts.casebook import cheat_kernels, control_kernels, fault_cases
from kernel_contracts.casebook.base import Cheat
from kernel_contracts.checking import Result
from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import LanguageError
from kernel_contracts.signatures import signatures
from kernel_contracts.vocabulary import vocabulary

WITHOUT_GAIN = {14, 28, 30}
"""Numbers whose kernels are right: what they do cannot be told from honest work by values."""


def results(cheat: Cheat) -> list[Result]:
    return api.check(
        cheat.target, **cheat.source, classes=[cheat.class_id], dtypes=list(cheat.dtypes), samples=cheat.samples,
        seed=cheat.seed, forbid=cheat.forbid,
    )  # fmt: skip


@pytest.fixture
def no_replays() -> Iterator[None]:
    """Nothing that an earlier run has left is read."""
    yield
    for path in Path(tempfile.gettempdir()).glob("kernel-contracts-replay-*"):
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("cheat", cheat_kernels(), ids=lambda c: f"{c.number} {c.name}")
def test_caught_by_name_or_without_gain(cheat: Cheat, no_replays: None) -> None:
    found = results(cheat)
    assert len(found) == len(cheat.dtypes)
    for result in found:
        signature = result.finding.signature
        if cheat.conforms:
            assert result.verdict is Verdict.CONFORMS
            assert cheat.note in " ".join(result.finding.notes)
        else:
            assert result.verdict is Verdict.VIOLATES
            assert signature is not None
            assert signature.name in cheat.signatures, str(signature)
            assert signature.detail
        timeless = tuple(replace(o, timing=dict.fromkeys(o.timing, 0.0)) for o in result.observations)
        again = classes()[result.contract.class_id].judge(result.contract, result.bound, timeless)
        assert (again.verdict, again.signature) == (result.verdict, signature), "no verdict depends on time"


def test_every_number_of_the_survey_has_a_kernel() -> None:
    numbers = {c.number for c in cheat_kernels()}
    assert numbers == set(range(1, 34))
    unintended = {int(n.split()[0]) for n in control_kernels() if n.split()[0].isdigit()}
    assert unintended | {40, 43} >= set(range(34, 45))
    assert {"O16", "O30"} <= set(fault_cases())


def test_every_cheat_is_told_by_names_that_exist() -> None:
    assert {s for c in cheat_kernels() for s in c.signatures} <= set(signatures())
    assert {c.number for c in cheat_kernels() if c.conforms} == WITHOUT_GAIN
    assert all(c.how for c in cheat_kernels())


def test_a_tolerance_that_mentions_the_candidate_is_refused() -> None:
    text = """
contract anchored version 1.0 implements C-PRC-01
"An oracle that follows the kernel."
{
  scope     double for P in {fp32} (x: P[N]) -> y: P[N]
  pre       N in 1..64 and finite(x)
  post      y within tolerance of reference
  tolerance absolute max(abs(y))
  reference { y = round(x * 2.0, P) }
  measure { inputs normal }
  violation wrong_value
  calibrate { good emulated   bad mutant(drop_tail(16))   baseline zeros }
}
"""
    with pytest.raises(LanguageError):
        load_text(text, "anchored.kc", vocabulary())
    load_text(text.replace("absolute max(abs(y))", "absolute max(abs(x))"), "anchored.kc", vocabulary())
