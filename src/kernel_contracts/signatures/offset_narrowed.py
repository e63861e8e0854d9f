"""Offsets into memory computed in too few bits: right up to a power of two of elements, foreign memory beyond it."""

from __future__ import annotations

from itertools import combinations
from math import prod

from kernel_contracts.signatures.base import Evidence, Rule

#: Ranges of signed and unsigned offsets of 16 and 32 bits.
_LIMITS = (2**15, 2**16, 2**31, 2**32)


def match(evidence: Evidence) -> str | None:
    """Some product of sizes lies beyond a limit in every failure, and passes where it does not."""
    failing, passing = evidence.failing, evidence.passing
    if any(r.exact < r.size for o in (*failing, *passing) for r in o.outputs):
        return None  # where something is computed, sizes matter for other reasons
    names = sorted({d for o in failing for d in o.case.dims})
    for count in (2, 3):
        for some in combinations(names, count):
            size = [prod(o.case.dims.get(d, 1) for d in some) for o in failing]
            clear = [o for o in passing if prod(o.case.dims.get(d, 1) for d in some) <= min(size, default=0)]
            for limit in _LIMITS:
                if size and limit < min(size) and 2 * len(clear) > len(passing) and _both(evidence, some, limit):
                    product = " * ".join(some)
                    return f"wrong only where {product} is above {limit} = 2^{limit.bit_length() - 1}, as offsets that wrap there are"
    return None


def _both(evidence: Evidence, some: tuple[str, ...], limit: int) -> bool:
    """Most of what lies beyond the limit fails, and the evidence reaches close to it from below."""
    size = lambda o: prod(o.case.dims.get(d, 1) for d in some)  # noqa: E731
    beyond = [o for o in evidence.passing if size(o) > limit]
    below = [size(o) for o in evidence.passing if size(o) <= limit]
    return len(beyond) <= len(evidence.failing) and bool(below) and max(below) * 16 > limit


RULE = Rule("offset_narrowed", "Offsets into memory that wrap beyond a power of two.", 42, match)
