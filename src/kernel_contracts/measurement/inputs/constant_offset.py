"""One stated offset plus small noise.

The fixed form of `offset`, for claims about one mean: the sign is the one given.
"""

from __future__ import annotations

from kernel_contracts.measurement.inputs.base import Arguments, Array, Family, Request, number
from kernel_contracts.measurement.inputs.offset import shift_all


def _make(request: Request, arguments: Arguments) -> dict[str, Array]:
    return shift_all(request, number(arguments, 0, 1e4))


FAMILY = Family(
    "constant_offset",
    "one offset plus small noise",
    _make,
    frozenset({"cancelled", "overflowed"}),
    parameters=("offset",),
)
