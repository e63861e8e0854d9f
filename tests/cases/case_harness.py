"""What the tests of the casebook share: which cases are numbers of one call, and what a verdict must say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType

from case_draws import DRAWS

from kernel_contracts.casebook import fault_cases
from kernel_contracts.casebook.base import CONTRACTS, FaultCase
from kernel_contracts.casebook.running import InProcess, check, check_case, check_isolated, load
from kernel_contracts.checking import Result
from kernel_contracts.contracts.evidence import Verdict

SEEDS = (1, 22, 333)
CASES = tuple(c for c in fault_cases().values() if c.id in DRAWS)
"""Those whose fault shows in the numbers of one call on ordinary data."""


@cache
def not_faults() -> ModuleType:
    import kernel_contracts.casebook.controls.not_faults as found

    return found


def accused(case: FaultCase, results: Sequence[Result]) -> None:
    """Fails unless every result is `violates` with a defect that the case knows, and the numbers behind it."""
    assert results
    for r in results:
        assert r.verdict is Verdict.VIOLATES, story(r)
        assert r.finding.failures > 0
        assert r.finding.signature is not None
        assert r.finding.signature.name in case.signatures, story(r)
        assert r.finding.signature.detail


def conforms(results: Sequence[Result]) -> None:
    """Fails with the story where a result is anything but `conforms`."""
    assert results
    for r in results:
        assert r.verdict is Verdict.CONFORMS, story(r)


def story(r: Result) -> str:
    worst = max((o for o in r.finding.witness.outputs), key=lambda o: o.ratio).worst if r.finding.witness else None
    case = r.finding.witness.case if r.finding.witness else None
    return f"{r.contract.name} {r.bound.label}: {r.verdict} {r.finding.reason}; {r.finding.signature}; {worst}; {case}"


__all__ = [
    "CASES", "CONTRACTS", "SEEDS", "FaultCase", "InProcess", "accused", "check", "check_case", "check_isolated",
    "conforms", "load", "not_faults", "story",
]  # fmt: skip
