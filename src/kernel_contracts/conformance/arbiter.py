"""The arbiter: what two platforms did on one contract goes in, who is right comes out.

Requirement: pure. Nothing is measured or read here, and no side is preferred: swapping the platforms swaps the answer.
A kernel is accused only on evidence against itself; a difference that no clause of the contract covers accuses the
contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kernel_contracts.contracts.evidence import Verdict


class Ruling(StrEnum):
    """The closed set of answers to one contract and one pair of platforms."""

    IDENTICAL = "identical bits"
    LEGITIMATE = "legitimate divergence"
    """Both conform; the difference is within what the two tolerances permit together."""
    A_VIOLATES = "A violates"
    B_VIOLATES = "B violates"
    BOTH_VIOLATE = "both violate"
    UNDER_SPECIFIED = "under-specified"
    """They differ, nobody breaks the contract, and no clause of it covers the difference."""
    NOT_COMPARABLE = "not comparable"
    """Other contract, inputs or seed, a missing cell, or a side that could not be decided."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a run found for one platform on the contract, by itself."""

    verdict: Verdict
    reason: str = ""
    signature: str = ""
    """Of a violation: `accumulator_narrowed: 11 bits effective, 24 declared`."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The answers of both platforms to one recorded input, held against each other."""

    case: str
    """Which input, in words."""
    elements: int = 0
    differing: int = 0
    """Elements with other bits; 1 where the calls ended in other ways."""
    ratio: float = 0.0
    """Largest |a - b| over what the contract permits between two answers there, where that is a number."""
    open: int = 0
    """Elements for which the contract admits every answer and the answers differ in kind: NaN against a number."""
    outside_a: int = 0
    """Elements of A's answer that the contract does not admit."""
    outside_b: int = 0
    kind_a: str = ""
    """What A did, in words, where the difference is one of kind: `raised IndexError`, `NaN in 3 elements`."""
    kind_b: str = ""
    clause: str = ""
    """The clause that would have to be there; empty where the difference is covered."""
    covered: str = ""
    """The clause that covers it, where that is no tolerance."""

    def swapped(self) -> Gap:
        """The same with A and B in each other's place."""
        return replace(self, outside_a=self.outside_b, outside_b=self.outside_a, kind_a=self.kind_b, kind_b=self.kind_a)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything about one contract, one choice of dtypes and one pair of platforms."""

    a: Standing
    b: Standing
    gaps: tuple[Gap, ...] = ()
    """One for each recorded input, equal answers included."""
    obstacles: tuple[str, ...] = ()
    """Why the two readings cannot be compared."""

    def swapped(self) -> Evidence:
        """The same with A and B in each other's place."""
        return replace(self, a=self.b, b=self.a, gaps=tuple(g.swapped() for g in self.gaps))


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer, with what it rests on."""

    ruling: Ruling
    reason: str
    """One sentence."""
    ratio: float = 0.0
    """Largest difference over what is permitted, in the recorded inputs."""
    differing: int = 0
    elements: int = 0
    signature_a: str = ""
    signature_b: str = ""
    clause: str = ""
    """Of an under-specified contract: the clause that is missing."""

    @property
    def settled(self) -> bool:
        """Whether the difference, if any, is one that the contract allows."""
        return self.ruling in (Ruling.IDENTICAL, Ruling.LEGITIMATE)


def arbitrate(evidence: Evidence) -> Judgement:
    """Who is right. Violations before gaps in the contract, gaps before what could not be decided."""
    if evidence.obstacles:
        return Judgement(Ruling.NOT_COMPARABLE, "; ".join(evidence.obstacles))
    gaps = evidence.gaps
    total = Judgement(
        Ruling.IDENTICAL,
        "",
        max((g.ratio for g in gaps), default=0.0),
        sum(g.differing for g in gaps),
        sum(g.elements for g in gaps),
    )
    sign_a, sign_b = _accusation(evidence.a, gaps, "a"), _accusation(evidence.b, gaps, "b")
    if sign_a or sign_b:
        ruling = Ruling.BOTH_VIOLATE if sign_a and sign_b else Ruling.A_VIOLATES if sign_a else Ruling.B_VIOLATES
        said = f"A: {sign_a}; B: {sign_b}" if sign_a and sign_b else sign_a or sign_b
        return replace(total, ruling=ruling, reason=said, signature_a=sign_a, signature_b=sign_b)
    if not total.elements:
        return Judgement(Ruling.NOT_COMPARABLE, "no answers were recorded to compare")
    if not total.differing:
        return replace(total, reason=f"all {total.elements} elements of {len(gaps)} inputs have the same bits")
    uncovered = _uncovered(gaps)
    if uncovered is not None:
        return replace(total, ruling=Ruling.UNDER_SPECIFIED, reason=uncovered[0], clause=uncovered[1])
    return _both(evidence, total)


def _accusation(standing: Standing, gaps: Sequence[Gap], side: str) -> str:
    """What speaks against one platform; empty where nothing does."""
    if standing.verdict is Verdict.VIOLATES:
        return standing.signature or standing.reason or "violates"
    outside = [g for g in gaps if getattr(g, f"outside_{side}")]
    if not outside:
        return ""
    first = outside[0]
    kind = getattr(first, f"kind_{side}")
    if kind:
        return f"{kind}, with {first.case}"
    count = sum(getattr(g, f"outside_{side}") for g in outside)
    return f"wrong_value: {count} recorded elements outside the bound, first with {first.case}"


def _uncovered(gaps: Sequence[Gap]) -> tuple[str, str] | None:
    """The first difference that no clause covers, and every clause that is missing; None where there is none."""
    found = [said for g in gaps if g.differing and (said := _gap_in_contract(g)) is not None]
    if not found:
        return None
    return found[0][0], "; ".join(dict.fromkeys(clause for _, clause in found))


def _gap_in_contract(gap: Gap) -> tuple[str, str] | None:
    """Why the contract does not cover a difference, and what it lacks."""
    if gap.clause:
        return f"{_kinds(gap)}; no clause covers it", gap.clause
    if gap.open:
        return (
            f"{gap.open} of {gap.elements} elements differ in kind where every answer is admitted, with {gap.case}",
            "a policy for NaN and overflow within the domain",
        )
    if gap.ratio > 1.0:
        return (
            f"they differ by {gap.ratio:.3g} times what the tolerances permit together, with {gap.case}",
            "a tolerance that covers both answers",
        )
    return None


def _kinds(gap: Gap) -> str:
    words = f"A {gap.kind_a}, B {gap.kind_b}" if gap.kind_a or gap.kind_b else f"{gap.differing} elements differ"
    return f"{words}, with {gap.case}"


def _both(evidence: Evidence, total: Judgement) -> Judgement:
    """Other bits, nobody accused, everything covered: legitimate if both were found to conform."""
    for name, side in (("A", evidence.a), ("B", evidence.b)):
        if side.verdict is Verdict.UNDER_SPECIFIED:
            return replace(
                total, ruling=Ruling.UNDER_SPECIFIED, reason=f"{name}: {side.reason}", clause="the policy named there"
            )
    undecided = [
        f"{name} is {side.verdict.value}: {side.reason}"
        for name, side in (("A", evidence.a), ("B", evidence.b))
        if side.verdict is not Verdict.CONFORMS
    ]
    if undecided:
        return replace(total, ruling=Ruling.NOT_COMPARABLE, reason="; ".join(undecided))
    sizes = f"{total.differing} of {total.elements} elements differ"
    by = f", by {total.ratio:.2g} of what is permitted at most" if total.ratio > 0 else ""
    why = next((g.covered for g in evidence.gaps if g.differing and g.covered), "")
    covered = f", covered by {why}" if why else "" if by else ", equal as numbers"
    return replace(total, ruling=Ruling.LEGITIMATE, reason=f"{sizes}{by}{covered}")
