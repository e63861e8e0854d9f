"""What the readings of a case on ranks say, for the signatures that name it."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Observation
from kernel_contracts.signatures.base import Evidence

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
