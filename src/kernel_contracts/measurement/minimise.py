"""Shrinks a failing case: smaller sizes, the plain layout, default parameters, as long as it keeps failing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kernel_contracts.contracts.evidence import Case, Layout, Observation
from kernel_contracts.contracts.model import Contract
from kernel_contracts.contracts.precondition import holds

#: Calls of the kernel that shrinking may take.
ATTEMPTS = 24

Measure = Callable[[Case], Observation]


def shrink(
    contract: Contract,
    first: Observation,
    measure: Measure,
    fails: Callable[[Observation], bool],
    attempts: int = ATTEMPTS,
) -> Observation:
    """The smallest failing observation found within a few attempts; `first` when nothing smaller fails.

    A smaller case must fail in the same way: same outcome, same kind of defect.
    """
    best, left = first, attempts
    progress = True
    while progress and left > 0:
        progress = False
        for candidate in _smaller(contract, best.case):
            if left <= 0:
                break
            left -= 1
            seen = measure(candidate)
            same = (
                seen.outcome is first.outcome
                and seen.defect == first.defect
                and bool(seen.mutated) == bool(first.mutated)
            )
            if same and not seen.skipped and seen.oracle_ok and fails(seen):
                best, progress = seen, True
                break
    return best


def _smaller(contract: Contract, case: Case) -> Iterator[Case]:
    """Candidates in order of how much they simplify."""
    if case.layout is not Layout.CONTIGUOUS:
        yield replace(case, layout=Layout.CONTIGUOUS)
    defaults = {k: v for k, v in contract.defaults().items() if k in case.scalars}
    if defaults and {**case.scalars, **defaults} != dict(case.scalars):
        yield from _valid(contract, replace(case, scalars={**case.scalars, **defaults}))
    for name, n in sorted(case.dims.items(), key=lambda kv: -kv[1]):
        for smaller in sorted({1, n // 4, n // 2, n - 1}):
            if 0 < smaller < n:
                yield from _valid(contract, replace(case, dims={**case.dims, name: smaller}))


def _valid(contract: Contract, case: Case) -> Iterator[Case]:
    if holds(contract.pre, dict(case.dims), dict(case.scalars)):
        yield case
