"""What an experiment is: which cases it wants, the inputs of each, what one case shows, and what all show together.

Requirement: an experiment measures and judges nothing. It keeps no state between calls, so that a case is measured
again from its record alone; evidence over several cases is made in `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kernel_contracts.classes.base import Plan
from kernel_contracts.contracts.evidence import Case, Observation
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.cases import plan_cases
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array


class Experiment(Protocol):
    """One kind of measurement; a class's plan names it."""

    @property
    def name(self) -> str: ...

    def cases(
        self,
        contract: Contract,
        bound: Bound,
        plan: Plan,
        *,
        seed: int,
        samples: int | None = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> list[Case]: ...

    def completed(self, session: Session, cases: list[Case]) -> list[Case]:
        """The planned cases, with those added that only the kernel itself tells: sizes around its tiles."""
        ...

    def inputs(self, session: Session, case: Case) -> dict[str, Array]:
        """The case's inputs, made again from its record. ArithmeticScopeError where there are none."""
        ...

    def measure(self, session: Session, case: Case) -> Observation: ...

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        """The same on recorded inputs: what a replay runs."""
        ...

    def finish(self, session: Session, observations: Sequence[Observation]) -> list[Observation]:
        """The observations, completed by what only all of them together show."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run wants of an experiment."""

    contract: Contract
    bound: Bound
    plan: Plan
    seed: int
    samples: int | None
    """How many cases; None leaves it to the plan."""
    fixed: Mapping[str, Any]
    """Parameters that the user sets."""


class Measured:
    """What most experiments have in common: shapes by inputs, the measurement on them, and nothing at the end."""

    def cases(
        self,
        contract: Contract,
        bound: Bound,
        plan: Plan,
        *,
        seed: int,
        samples: int | None = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> list[Case]:
        return self.planned(Asked(contract, bound, plan, seed, samples, fixed or {}))

    def planned(self, asked: Asked) -> list[Case]:
        return plan_cases(
            asked.contract, asked.bound, asked.plan, seed=asked.seed, samples=asked.samples, fixed=asked.fixed
        )

    def completed(self, session: Session, cases: list[Case]) -> list[Case]:
        return cases

    def inputs(self, session: Session, case: Case) -> dict[str, Array]:
        return session.inputs(case)

    def measure(self, session: Session, case: Case) -> Observation:
        try:
            inputs = self.inputs(session, case)
        except ArithmeticScopeError as impossible:
            return Session.skipped(case, str(impossible))
        return self.measure_on(session, case, inputs)

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        return session.measure_on(case, inputs)

    def finish(self, session: Session, observations: Sequence[Observation]) -> list[Observation]:
        return list(observations)


def thinned(cases: list[Case], samples: int | None, *kinds: Callable[[Case], Hashable]) -> list[Case]:
    """As many cases as asked for, evenly from the first on; all of them when nothing is asked.

    What a claim speaks of is tried whatever the number: of each value that a function of `kinds` tells apart at least
    one case stays, so there may be more cases than asked for.
    """
    if samples is None or samples >= len(cases):
        return cases
    count = max(samples, 1)
    kept = {k * len(cases) // count for k in range(count)}
    for kind in kinds:
        alike: dict[Hashable, list[int]] = {}
        for k, case in enumerate(cases):
            alike.setdefault(kind(case), []).append(k)
        kept |= {found[len(found) // 2] for found in alike.values() if kept.isdisjoint(found)}
    return [cases[k] for k in sorted(kept)]


def decided(observations: Sequence[Observation]) -> list[Observation]:
    """Facts that one case leaves open, written `clamp|wrap`, settled by the cases that decide between them."""
    clear: dict[str, set[str]] = {}
    for o in observations:
        for name, words in o.facts.items():
            if "|" not in words:
                clear.setdefault(name, set()).add(words)

    def settled(name: str, words: str) -> str:
        choices = words.split("|")
        return next((c for c in choices if c in clear.get(name, ())), choices[0])

    return [replace(o, facts={n: settled(n, w) for n, w in o.facts.items()}) for o in observations]
