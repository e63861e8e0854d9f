"""What the readings of a case on ranks say, for the signatures that name it."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Observation
from kernel_contracts.signatures.base import Evidence

#: Readings that each say by themselves what a wrong answer is made of, the surest first.
KINDS = ("unfilled", "own_only", "stale", "lost", "twice", "other_place")


def explained_by(evidence: Evidence, *kinds: str) -> Observation | None:
    """The smallest failing case, if one of these readings is the surest there; where it has none, another that has."""
    seen = [evidence.witness, *sorted(evidence.failing, key=lambda o: o.case.work)]
    for o in seen:
        found = next((k for k in KINDS if k in o.readings), None)
        if found is not None:
            return o if found in kinds else None
    return None


def where(o: Observation) -> str:
    """`elements 48 to 63 of 64, on 4 ranks, call 2`."""
    first, last, of = (int(o.readings.get(n, 0.0)) for n in ("first", "last", "of"))
    places = (
        f"element {first}" if first == last else f"{int(o.readings.get('wrong', 0))} elements from {first} to {last}"
    )
    return f"{places} of {of}, on {ranks(o)} in call {int(o.readings.get('call', 0))}"


def ranks(o: Observation) -> str:
    """`4 ranks`."""
    world = int(o.readings.get("world", 0))
    return f"{world} rank{'' if world == 1 else 's'}"
