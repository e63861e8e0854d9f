"""Elements past the last whole tile wrong or left out."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    found = evidence.explained_by("drop_tail")
    if found is not None:
        return found
    starts: dict[str, set[int]] = {}
    for o in evidence.failing:
        for reading in o.outputs:
            for dim, first in reading.boundary.items():
                starts.setdefault(dim, set()).add(first)
            if not reading.boundary:
                return None
    for dim, firsts in sorted(starts.items()):
        tile = max((t for t in (8, 16, 32, 64, 128, 256) if all(f % t == 0 for f in firsts)), default=0)
        if tile:
            return f"along {dim} everything before index {min(firsts)} is right, then wrong: the tile is {tile}"
    return None


RULE = Rule("tail_dropped", "Elements past the last whole tile wrong or left out.", 41, match)
