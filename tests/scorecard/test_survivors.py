"""The explanations are true: what is said to survive does, and of those contracts nothing else survives unexplained."""

from __future__ import annotations

import pytest

from kernel_contracts.calibration import calibrate
from kernel_contracts.casebook.survivors import SURVIVORS, reason
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.vocabulary import vocabulary

PAIRS = sorted({(s.contract, f, s.seed) for s in SURVIVORS for f in s.formats})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fmt", "seed"), PAIRS)
def test_what_is_explained_survives_and_what_survives_is_explained(name: str, fmt: str, seed: int) -> None:
    contract = next(c for c in standard_library(vocabulary()) if c.name == name)
    bound = next(b for b in contract.bound if fmt in b.dtypes.values())
    living = [f"{m.name}: {m.where}" for m in calibrate(contract, bound, seed=seed).survivors]
    assert [text for text in living if not reason(name, (fmt,), text)] == []
    listed = [s for s in SURVIVORS if s.contract == name and fmt in s.formats and s.seed == seed]
    assert [s.mutant for s in listed if not any(text.startswith(s.mutant) for text in living)] == []


def test_every_explanation_says_something() -> None:
    assert SURVIVORS
    for s in SURVIVORS:
        assert len(s.reason.split()) > 8, s
        assert s.reason.endswith("."), s
