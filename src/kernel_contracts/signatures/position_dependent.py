"""NaN that is found at some positions and lost at others."""

from __future__ import annotations

import re

from kernel_contracts.contracts.evidence import Observation, Outcome
from kernel_contracts.signatures.base import Evidence, Rule

_ALONE = re.compile(r"nan at (\w+)\[(\d+)\]")


def _place(o: Observation) -> tuple[str, int] | None:
    found = _ALONE.fullmatch(o.case.family)
    return (found.group(1), int(found.group(2))) if found and o.outcome is Outcome.RETURNED else None


def match(evidence: Evidence) -> str | None:
    where = _place(evidence.witness)
    if where is None or not _lost(evidence.witness):
        return None
    name, size = where[0], evidence.witness.case.dims
    alike = [(o, _place(o)) for o in evidence.observations if o.case.dims == size]
    lost = sorted({at[1] for o, at in alike if at is not None and at[0] == name and _lost(o)})
    kept = sorted({at[1] for o, at in alike if at is not None and at[0] == name and not o.violating})
    if not lost or not kept:
        return None
    return f"NaN in {name} is found at {_shown(kept)} and lost at {_shown(lost)}"


def _lost(o: Observation) -> bool:
    return bool(o.readings.get("nan_lost") or (o.readings.get("index_wrong") and "nan" in o.facts))


def _shown(places: list[int]) -> str:
    head = ", ".join(map(str, places[:6]))
    return f"{head} and {len(places) - 6} more" if len(places) > 6 else head


RULE = Rule("position_dependent", "NaN found at some positions and lost at others.", 25, match, always=True)
