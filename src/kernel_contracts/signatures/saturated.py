"""Results stuck at the largest finite number of a format."""

from __future__ import annotations

from kernel_contracts.formats import FORMATS
from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    tops = {f.max_finite: f.name for f in FORMATS.values() if f.is_real}
    stuck = [r.worst for o in evidence.failing for r in o.outputs if r.worst is not None and abs(r.worst.got) in tops]
    stuck = [w for w in stuck if abs(w.oracle) != abs(w.got)]
    if not stuck or len(stuck) < len(evidence.failing) / 2:
        return None
    worst = stuck[0]
    return f"{worst.got:g}, the largest {tops[abs(worst.got)]}, where {worst.oracle:.6g} is right"


RULE = Rule("saturated", "Results stuck at the largest finite number of a format.", 31, match)
