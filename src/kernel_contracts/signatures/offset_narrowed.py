"""Offsets into memory computed in too few bits: right up to a power of two of elements, foreign memory beyond it."""

from __future__ import annotations

from itertools import combinations
from math import prod

from kernel_contracts.contracts.evidence import Observation
from kernel_contracts.signatures.base import Evidence, Rule

#: Ranges of signed and unsigned offsets of 16 and 32 bits.
_LIMITS = (2**15, 2**16, 2**31, 2**32)
#: The largest size that passes must come this close to the limit.
_CLOSE = 16


def match(evidence: Evidence) -> str | None:
    """Some product of sizes lies beyond a limit in every failure, and passes where it does not."""
    failing, passing = evidence.failing, evidence.passing
    if any(r.exact < r.size for o in (*failing, *passing) for r in o.outputs):
        return None  # where something is computed, sizes matter for other reasons
    names = sorted({d for o in failing for d in o.case.dims})
    for some in (*combinations(names, 2), *combinations(names, 3)):
        for limit in _LIMITS:
            if _separates(some, limit, failing, passing):
                power = limit.bit_length() - 1
                return (
                    f"wrong only where {' * '.join(some)} is above {limit} = 2^{power}, as offsets that wrap there are"
                )
    return None


def _separates(
    some: tuple[str, ...], limit: int, failing: tuple[Observation, ...], passing: tuple[Observation, ...]
) -> bool:
    """All failures lie beyond the limit, few others do, and the evidence reaches close to it from below."""
    if not all(_product(o, some) > limit for o in failing):
        return False
    below = [_product(o, some) for o in passing if _product(o, some) <= limit]
    beyond = len(passing) - len(below)
    return bool(below) and max(below) * _CLOSE > limit and beyond <= len(failing)


def _product(o: Observation, some: tuple[str, ...]) -> int:
    return prod(o.case.dims.get(d, 1) for d in some)


RULE = Rule("offset_narrowed", "Offsets into memory that wrap beyond a power of two.", 39, match)
