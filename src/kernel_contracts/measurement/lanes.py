"""Sizes for what depends on the place in a row: the dim that vectors run along at one length, the others small."""

from __future__ import annotations

from kernel_contracts.contracts.model import Bound, Contract

_OTHERS = (2, 3)


def lane(contract: Contract, bound: Bound) -> str:
    """The dim that vectors run along: the last one of the first real input that has a name; empty without one."""
    reals = [t for t in contract.inputs if bound.inputs[t.name].is_real]
    return next((d for t in reals for d in reversed(t.shape) if isinstance(d, str)), "")


def at_length(contract: Contract, lane: str, length: int) -> dict[str, int]:
    """The lane dim at this length, the others small, each as near as the precondition lets it be."""
    ranges = contract.pre.ranges.items()
    return {
        name: allowed.nearest(length if name == lane else _OTHERS[k % len(_OTHERS)])
        for k, (name, allowed) in enumerate(ranges)
    }
