"""Shrinks a failing case: smaller sizes, the plain layout, default parameters, as long as it keeps failing.

Each size is bisected between one that passes and one that fails, so that a failure from some size on is found at that
size within a few calls of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernel_contracts.contracts.evidence import Case, Layout, Observation
from kernel_contracts.contracts.model import Contract
from kernel_contracts.contracts.precondition import holds

#: Calls of the kernel that shrinking may take.
ATTEMPTS = 24
#: Sizes beside the middle that are tried against the precondition.
_NEAR = 64

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
    search = _Search(contract, first, measure, fails, attempts)
    before = None
    while search.best is not before and search.left > 0:
        before = search.best
        search.simplify()
        for name, _ in sorted(before.case.dims.items(), key=lambda kv: -kv[1]):
            search.bisect(name)
    return search.best


class _Search:
    """The best case so far, and how many calls are left."""

    def __init__(
        self,
        contract: Contract,
        first: Observation,
        measure: Measure,
        fails: Callable[[Observation], bool],
        left: int,
    ) -> None:
        self.contract, self.first, self.measure, self.fails = contract, first, measure, fails
        self.best, self.left = first, left

    def attempt(self, case: Case) -> bool:
        """Whether the case fails like the first one; it is then the best."""
        if self.left <= 0 or not self.valid(case):
            return False
        self.left -= 1
        seen, first = self.measure(case), self.first
        same = (
            seen.outcome is first.outcome and seen.defect == first.defect and bool(seen.mutated) == bool(first.mutated)
        )
        if same and not seen.skipped and seen.oracle_ok and self.fails(seen):
            self.best = seen
            return True
        return False

    def valid(self, case: Case) -> bool:
        return holds(self.contract.pre, dict(case.dims), dict(case.scalars))

    def simplify(self) -> None:
        """The plain layout and the default parameters, where they fail too."""
        case = self.best.case
        if case.layout is not Layout.CONTIGUOUS:
            self.attempt(replace(case, layout=Layout.CONTIGUOUS))
        case = self.best.case
        defaults = {k: v for k, v in self.contract.defaults().items() if k in case.scalars}
        if {**case.scalars, **defaults} != dict(case.scalars):
            self.attempt(replace(case, scalars={**case.scalars, **defaults}))

    def bisect(self, name: str) -> None:
        """The smallest size at which it fails, if it fails from there on; else some smaller one."""
        passes = 0
        middle = max(int(self.contract.pre.ranges[name].low), 1)  # the least size first
        while self.left > 0 and (size := self._nearest(name, passes, middle)):
            if not self.attempt(self._with(name, size)):
                passes = size
            middle = (passes + self.best.case.dims[name]) // 2

    def _with(self, name: str, size: int) -> Case:
        return replace(self.best.case, dims={**self.best.case.dims, name: size})

    def _nearest(self, name: str, low: int, middle: int) -> int:
        """The admissible size nearest `middle`, above `low` and below the best; 0 if there is none."""
        choices = self.contract.pre.ranges[name].choices
        near = [middle + away * side for away in range(_NEAR) for side in (1, -1)]
        if choices is not None:
            near = sorted((int(c) for c in choices), key=lambda c: abs(c - middle))
        best = self.best.case.dims[name]
        return next((n for n in near if low < n < best and self.valid(self._with(name, n))), 0)
