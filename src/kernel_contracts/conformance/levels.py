"""Levels L0 to L4: what a run holds about a contract goes in, how far that evidence reaches comes out.

Requirement: pure, and nobody types a level. Evidence against a bound and evidence that needs none (elements that admit
exactly one value, calls that must raise, repetitions that must give the same bits) are graded apart.

    L0  nothing, a violation, or a policy left open
    L1  the policies are declared, and what the kernel does was observed
    L2  it conforms, measured by a contract that was shown to tell good kernels from bad ones
    L3  also at sizes that no benchmark uses, under every schedule, repeatedly, and with a 95% bound that holds
    L4  also by an oracle of another make, on a second platform or by a second assessor, and across a change of version
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from kernel_contracts.contracts.evidence import Verdict

HIGHEST = 4
FEWEST = 30
"""Calls from which on 3/n bounds the failure rate at 95%: Hanley and Lippman-Hand, "If nothing goes wrong, is
everything all right?", JAMA 249 (1983)."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What is there to grade one contract by, for one choice of dtypes on one platform."""

    verdict: Verdict
    reason: str = ""
    undeclared: tuple[str, ...] = ()
    """Policies that the contract's class is about and that the contract leaves open."""
    weak: tuple[str, ...] = ()
    """Policies that promise nothing: `determinism = none`. Honest, and of low grade."""
    bounded: int = 0
    """Calls with elements that were held against a bound."""
    exact: int = 0
    """Calls with evidence that needs no bound."""
    failures: int = 0
    """Calls that fail."""
    separates: bool | None = None
    """Whether calibration tells good from bad; None where it was not done."""
    held_out: int = 0
    """Calls of this kernel at held-out sizes, in contracts that it keeps; so for the next two."""
    schedules: int = 0
    """Calls that tried every schedule there is."""
    repeats: int = 0
    """Calls that were repeated and compared bit for bit."""
    independent: int = 0
    """Calls judged by ball arithmetic, whose library shares nothing with the kernel or with our own arithmetic."""
    elsewhere: int = 0
    """Other machines on which the same contract holds."""
    versions: int = 0
    """Other versions of the kernel or its stack that were measured against the same contract."""

    def as_json(self) -> dict[str, Any]:
        made = asdict(self)
        return made | {n: list(made[n]) for n in ("undeclared", "weak")} | {"verdict": self.verdict.value}


def grounds_from(data: Mapping[str, Any]) -> Grounds:
    """Raises ValueError, KeyError or TypeError where the record is not one."""
    if set(data) != {f.name for f in fields(Grounds)}:
        raise ValueError("these are not the grounds of a level")
    lists = {n: tuple(str(x) for x in data[n]) for n in ("undeclared", "weak")}
    return Grounds(**{**data, **lists, "verdict": Verdict(data["verdict"])})


@dataclass(frozen=True, slots=True)
class Grade:
    """A level, and what is missing for the next one."""

    level: int
    missing: tuple[str, ...]
    by_bound: int | None
    """The level that the evidence against a bound reaches alone; None where there is none of that kind."""
    by_exact: int | None


_Rung = tuple[Callable[[Grounds, int], bool], str]
"""A condition on the grounds and the number of calls of one kind, and what is missing where it does not hold."""

RUNGS: Sequence[tuple[_Rung, ...]] = (
    (
        (lambda g, n: g.verdict is not Verdict.VIOLATES, "the kernel violates the contract: {reason}"),
        (lambda g, n: g.verdict is not Verdict.UNDER_SPECIFIED, "the contract is under-specified: {reason}"),
        (lambda g, n: not g.undeclared, "the contract declares no policy {undeclared}"),
        (
            lambda g, n: n > 0 and g.verdict not in (Verdict.INAPPLICABLE, Verdict.ERROR),
            "nothing was measured: {reason}",
        ),
    ),
    (
        (lambda g, n: not g.weak, "a promise: {weak} is honest, and of low grade"),
        (lambda g, n: g.verdict is Verdict.CONFORMS and not g.failures, "a verdict that it conforms: {reason}"),
        (lambda g, n: g.separates is not False, "a calibration that separates; this contract's does not"),
        (
            lambda g, n: g.separates is not None,
            "a calibration that separates: `calibrate` in the contract, and kc run --calibrate",
        ),
    ),
    (
        (lambda g, n: g.held_out > 0, "held-out shapes: a contract with `shapes held_out`, as of class C-CMP-03"),
        (lambda g, n: g.schedules > 0, "schedules: a contract of class C-CMP-02 that the kernel keeps"),
        (lambda g, n: g.repeats > 0, "repeats: a contract of class C-ORD-02 that the kernel keeps"),
        (
            lambda g, n: n >= FEWEST,
            "a 95% bound: {calls} calls of one kind, and 3/n holds from " + str(FEWEST) + " on (--samples)",
        ),
    ),
    (
        (lambda g, n: g.independent > 0, "an independent oracle: no call needed ball arithmetic"),
        (
            lambda g, n: g.elsewhere > 0,
            "a second platform: a run of the same kernel on other silicon (--beside); or a second assessor "
            "(kc countersign)",
        ),
        (lambda g, n: g.versions > 0, "a history over versions: a run of another version (--beside)"),
    ),
)
"""What each level asks for beside the one below it."""


def grade(g: Grounds, assessors: int = 0) -> Grade:
    """The level that the better kind of evidence reaches, and what it lacks.

    `assessors`: others who made the calls again, each under a key of their own. They are no part of the grounds, which
    the first signer writes; one of them stands where a second platform does.
    """
    g = replace(g, elsewhere=g.elsewhere + assessors)
    kinds = {"bound": g.bounded, "exact": g.exact}
    found = {kind: _climb(g, calls) for kind, calls in kinds.items() if calls}
    better = max(found, key=lambda kind: (found[kind][0], kinds[kind]), default=None)
    best, missing = found[better] if better else _climb(g, 0)
    by_bound, by_exact = (found[k][0] if k in found else None for k in kinds)
    return Grade(best, missing, by_bound, by_exact)


def _climb(g: Grounds, calls: int) -> tuple[int, tuple[str, ...]]:
    for level, rung in enumerate(RUNGS):
        missing = tuple(_said(words, g, calls) for holds, words in rung if not holds(g, calls))
        if missing:
            return level, missing
    return HIGHEST, ()


def _said(words: str, g: Grounds, calls: int) -> str:
    lists = {"undeclared": " and ".join(g.undeclared), "weak": ", ".join(g.weak)}
    return words.format(reason=g.reason or g.verdict.value, calls=calls, **lists)


def upper95(calls: int, failures: int) -> float | None:
    """The failure rate that is excluded at 95% after so many calls without one; None where nothing can be said."""
    return 3.0 / calls if calls >= FEWEST and not failures else None
