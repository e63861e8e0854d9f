"""What a contract promises about repetition: `policy determinism = bitwise across runs(10), threads(1, 2), load`.

Requirement: every way to repeat a call that the contract names is in `axes`, with its numbers or the usual ones. A
name that means nothing is refused when the contract is read, not when it is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_contracts.contracts.model import Contract
from kernel_contracts.contracts.values import Problem, constant, problem
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean

AXES: Mapping[str, tuple[int, ...]] = {
    "runs": (10,),
    "processes": (2,),
    "load": (4,),
    "threads": (1, 2),
    "alignment": (),
    "layouts": (),
    "batch": (),
}
"""Ways to repeat a call, with the numbers that stand where a contract gives none."""

SAME_SETTING = ("runs", "processes", "load")
"""Repetitions that change nothing a caller chose: `run_to_run` promises equal bits across these alone."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What is promised, and across which repetitions."""

    level: str
    """bitwise, run_to_run, bounded or none; of several choices the weakest."""
    axes: Mapping[str, tuple[int, ...]]

    def binding(self, axis: str) -> bool:
        """Whether a difference across this axis breaks the promise."""
        return self.level == "bitwise" or (self.level == "run_to_run" and axis in SAME_SETTING)


_STRENGTH = ("none", "bounded", "run_to_run", "bitwise")


def promise_of(contract: Contract) -> Promise:
    """The promise of a contract. One that says nothing of determinism promises nothing and is repeated all the same."""
    for guarantee in contract.post:
        if isinstance(guarantee, syntax.Policy) and guarantee.name == "determinism":
            level = min(contract.policies["determinism"], key=_STRENGTH.index)
            return Promise(level, axes_of(guarantee.across) or {"runs": AXES["runs"]})
    return Promise("none", {"runs": AXES["runs"]})


def axes_of(across: Sequence[syntax.Expr]) -> dict[str, tuple[int, ...]]:
    """The axes by name. Raises Problem at one that means nothing."""
    found: dict[str, tuple[int, ...]] = {}
    for expr in across:
        name = expr.id if isinstance(expr, syntax.Name) else expr.function if isinstance(expr, syntax.Call) else ""
        if name not in AXES:
            raise problem(
                "N215", expr.span, f"a call cannot be repeated across {name or 'this'}",
                hint=did_you_mean(name, AXES) or f"choose {', '.join(AXES)}",
            )  # fmt: skip
        numbers = tuple(_count(a.value) for a in expr.arguments) if isinstance(expr, syntax.Call) else ()
        found[name] = numbers or AXES[name]
    return found


def _count(expr: syntax.Expr) -> int:
    try:
        value = constant(expr)
    except Problem:
        value = None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1000:
        raise problem(
            "N215", expr.span, "a number of repetitions is a whole number from 1 to 1000", hint="write runs(10)"
        )
    return value
