"""Words about flushed numbers that several signatures share: which magnitudes, how many, on which paths."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Observation
from kernel_contracts.signatures.base import EXPLAINS, Evidence

_STAKES = ("input_at_stake", "result_at_stake", "moved_at_stake")


def flushed(evidence: Evidence, *kinds: str) -> tuple[Observation, ...]:
    """Failing cases with elements lost in one of these ways; none where coerced operands explain the failures."""
    if evidence.explained_by("operands") is not None:
        return ()
    return tuple(o for o in evidence.failing if any(o.readings.get(k) for k in kinds))


def explains(evidence: Evidence) -> bool:
    """Whether every failure is none where subnormal numbers may be flushed, and has zeros among what is wrong.

    Not where some known fault reproduces every failure that was tried, too.
    """
    failing = evidence.failing
    if not failing or any(o.readings.get("flushing_ratio", 2.0) > 1.0 for o in failing):
        return False
    best = evidence.explanation()
    tried = [o for o in failing if o.hypotheses]
    if best is not None and all(o.hypotheses.get(best[0], 1.0) <= EXPLAINS for o in tried):
        return False
    return all(any(r.zeros for r in o.outputs) for o in failing)


def threshold(evidence: Evidence) -> str:
    """`2^-126`: the least normal number of the measured inputs."""
    powers = [o.readings["least_normal"] for o in evidence.observations if "least_normal" in o.readings]
    return f"2^{int(powers[0])}" if powers else "the least normal number"


def share(seen: Observation, *kinds: str) -> str:
    count = int(sum(seen.readings.get(k, 0.0) for k in kinds))
    return f"{count} of {sum(r.size for r in seen.outputs)} elements"


def paths(evidence: Evidence, lost: tuple[Observation, ...]) -> str:
    """Where it happens and where it does not; empty where it happens everywhere."""
    rest = [
        o for o in evidence.observations
        if o not in lost and not o.skipped and any(o.readings.get(s) for s in _STAKES) and not o.violating
    ]  # fmt: skip
    if lost and all("flushed_from" in o.readings for o in lost if _wide(o)) and any(map(_wide, lost)):
        first = min(int(o.readings["flushed_from"]) for o in lost if "flushed_from" in o.readings)
        return f", in the tail only: from element {first} of a row on"
    layouts, kept = {o.case.layout for o in lost}, {o.case.layout for o in rest}
    if rest and not layouts & kept:
        return f", with {' and '.join(sorted(layouts))} inputs only"
    if rest and max(o.case.work for o in rest) < min(o.case.work for o in lost):
        sizes = min(lost, key=lambda o: o.case.work).case.dims
        return f", in large arrays only: at {', '.join(f'{k} = {v}' for k, v in sizes.items())}"
    return ""


def _wide(o: Observation) -> bool:
    return sum(r.size for r in o.outputs) > 8
