"""What a signature is: a predicate over evidence that names one defect and puts numbers to it.

`match` gets everything that was observed and answers with a detail, or None. Rules are tried in order of `rank`: what
happened to the process first, then what came back, then what explains the numbers, then the plain statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kernel_contracts.contracts.evidence import Layout, Observation, Outcome

#: A mutant explains a failure when at most this share of the error is left over.
EXPLAINS = 0.3
#: Failures within this factor of the largest count as large.
_LARGE = 10.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a judge hands to the signatures."""

    observations: tuple[Observation, ...]
    witness: Observation
    """The smallest failing observation."""
    accumulator_bits: int
    """Significant bits of the declared accumulator."""
    output: str
    """Name of the output's format."""
    sums: bool = True
    """Whether the contract adds anything up."""

    @property
    def failing(self) -> tuple[Observation, ...]:
        return tuple(o for o in self.observations if o.violating)

    @property
    def passing(self) -> tuple[Observation, ...]:
        return tuple(
            o for o in self.observations if o.outcome is Outcome.RETURNED and not o.violating and not o.skipped
        )

    def families(self, observations: tuple[Observation, ...]) -> set[str]:
        """Family names without their arguments."""
        return {o.case.family.partition("(")[0] for o in observations}

    def explanation(self) -> tuple[str, float] | None:
        """The mutant that explains the diagnosed failures best, and the share of their error that it explains.

        Half of them are enough, or the largest ones: a kernel often has several faults, and a small failure shows
        them mixed. A fault in one place is a better answer than `arithmetic`, which puts it everywhere.
        """
        tried = [o for o in self.failing if o.hypotheses]
        worst = max((o.ratio for o in tried), default=0.0)
        large = [o for o in tried if o.ratio * _LARGE >= worst]
        found: list[tuple[bool, bool, int, float, str]] = []
        for label in {label for o in tried for label in o.hypotheses}:
            left = [o.hypotheses[label] for o in tried if o.hypotheses.get(label, 1.0) <= EXPLAINS]
            most = 2 * len(left) >= len(tried)
            if most or all(o.hypotheses.get(label, 1.0) <= EXPLAINS for o in large):
                found.append((label.startswith("arithmetic"), not most, -len(left), sum(left) / len(left), label))
        if not found:
            return None
        *_, left_over, label = min(found)
        return label, 1.0 - left_over

    def explained_by(self, *mutants: str) -> str | None:
        """A sentence when the best explanation is one of `mutants`."""
        best = self.explanation()
        if best is None or best[0].partition(":")[0].partition("(")[0] not in mutants:
            return None
        label, share = best
        return f"{label.partition(': ')[2]} explains {share:.0%} of the error"


@dataclass(frozen=True, slots=True)
class Rule:
    """A named defect."""

    name: str
    doc: str
    rank: int
    match: Callable[[Evidence], str | None]
    always: bool = False
    """Any input can show it."""


def by_mutant(name: str, doc: str, rank: int, *mutants: str) -> Rule:
    """A defect recognized because a mutant of the contract reproduces the candidate's error."""

    def match(evidence: Evidence) -> str | None:
        return evidence.explained_by(*mutants)

    return Rule(name, doc, rank, match)


def by_outcome(name: str, doc: str, outcome: Outcome) -> Rule:
    def match(evidence: Evidence) -> str | None:
        o = evidence.witness
        return o.detail or outcome.value if o.outcome is outcome else None

    return Rule(name, doc, 10, match, always=True)


def by_defect(name: str, doc: str) -> Rule:
    def match(evidence: Evidence) -> str | None:
        return evidence.witness.detail if evidence.witness.defect == name else None

    return Rule(name, doc, 20, match, always=True)


def by_count(name: str, doc: str, rank: int, phrase: str, *readings: str) -> Rule:
    """A defect that an experiment counts: any of `readings` on the smallest failing case."""

    def match(evidence: Evidence) -> str | None:
        seen = evidence.witness
        count = int(sum(seen.readings.get(r, 0.0) for r in readings))
        size = sum(r.size for r in seen.outputs)
        return f"{seen.case.family}: {count} of {size} elements {phrase}" if count else None

    return Rule(name, doc, rank, match, always=True)


def by_factor(name: str, doc: str, mutant: str, factor: Callable[[float], float], phrase: str) -> Rule:
    """A scale applied another number of times than once: results are `factor(scale)` times what is right."""

    def match(evidence: Evidence) -> str | None:
        found = evidence.explained_by(mutant)
        if found is not None or evidence.explanation() is not None:
            return found  # another fault that explains the numbers may look like this one in single results
        for o in evidence.failing:
            measured = o.readings.get("factor")
            for parameter, value in o.case.scalars.items():
                scale = o.readings.get(f"{parameter} in the call", float(value))
                if measured and scale > 1.5 and math.isclose(measured / factor(scale), 1.0, rel_tol=0.1):
                    return phrase.format(name=parameter, scale=scale)
        return None

    return Rule(name, doc, 38, match)


def by_fact(name: str, doc: str, word: str, phrase: str) -> Rule:
    """A defect that is a policy: what the kernel did with an index, where another way is declared."""

    def match(evidence: Evidence) -> str | None:
        seen = evidence.witness
        if not seen.violating or word not in seen.facts.values():
            return None
        return f"{seen.case.family} {phrase}"

    return Rule(name, doc, 24, match, always=True)


def contiguous(observations: tuple[Observation, ...]) -> tuple[Observation, ...]:
    return tuple(o for o in observations if o.case.layout is Layout.CONTIGUOUS)


# --------------------------------------------------------------------------------------------- operations on ranks

#: Readings that each say by themselves what a wrong answer is made of, the surest first.
KINDS = ("unfilled", "own_only", "stale", "lost", "twice", "other_place")


def explained_by(evidence: Evidence, *kinds: str) -> Observation | None:
    """The smallest failing case that one of these readings is the surest for, if it is that in half of them all.

    A sum in too few bits also loses the small part of a rank now and then; what was never sent is always lost.
    """
    failing = sorted((o for o in evidence.failing if "of" in o.readings), key=lambda o: o.case.work)
    found = [o for o in failing if surest(o) in kinds]
    return found[0] if found and 2 * len(found) >= len(failing) else None


def surest(o: Observation) -> str:
    """The first of the readings that a case has; empty where it has none."""
    return next((k for k in KINDS if k in o.readings), "")


def where(o: Observation) -> str:
    """`3 elements from 5 to 7 of 64, on 4 ranks in call 2`."""
    first, last, of, wrong, world, call = (
        int(o.readings.get(n, 0.0)) for n in ("first", "last", "of", "wrong", "world", "call")
    )
    places = f"element {first}" if first == last else f"{wrong} elements from {first} to {last}"
    return f"{places} of {of}, on {world} rank{'' if world == 1 else 's'} in call {call}"
