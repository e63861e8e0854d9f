"""What a contract promises across schedules: `C within tolerance of reference across schedules, calls(3)`.

Requirement: plain calls are always held to every claim; `calls(n)` says how many there are. Answers under a schedule
of their own are held to the claims that say `across schedules`, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernel_contracts.contracts.model import Contract
from kernel_contracts.contracts.values import Problem, constant, problem
from kernel_contracts.language import syntax

CALLS = 2
"""Plain calls where a contract gives no number: the first one, which may tune, and one after it."""


@dataclass(frozen=True, slots=True)
class Variations:
    """The part of a postcondition that is about repeated calls and schedules."""

    parameter: str
    """The scope's parameter of type schedules; empty where it has none."""
    calls: int
    """Plain calls of one input, at least 2."""
    within: tuple[bool, ...]
    """For each claim of a `Bound`, in its order: whether it holds across schedules."""
    same_across_schedules: tuple[str, ...]
    """Outputs that are promised to keep their bits from schedule to schedule."""
    same_across_calls: tuple[str, ...]
    """Outputs that are promised to keep their bits from call to call."""


def variations_of(contract: Contract) -> Variations:
    """What the contract says; a postcondition without `across` leaves the schedules out."""
    claims = [g for g in contract.post if isinstance(g, syntax.Within | syntax.Bitwise)]
    compared = [g for g in claims if isinstance(g, syntax.Within) or g.target is not None]
    alone = [g for g in claims if isinstance(g, syntax.Bitwise) and g.target is None]
    calls = [n for g in claims for axis, n in _axes(g) if axis == "calls"]
    return Variations(
        next((s.name for s in contract.scalars if s.type == "schedules"), ""),
        max([CALLS, *calls]),
        tuple(any(a == "schedules" for a, _ in _axes(g)) for g in compared),
        tuple(_subject(g) for g in alone if any(a == "schedules" for a, _ in _axes(g))),
        tuple(_subject(g) for g in alone if any(a == "calls" for a, _ in _axes(g))),
    )


def check_schedules(node: syntax.Contract) -> None:
    """Raises Problem (N218) where a variation over schedules or calls means nothing."""
    parameters = [s for s in node.scope.scalars if s.type == "schedules"]
    if len(parameters) > 1:
        second = parameters[1]
        raise problem(
            "N218", second.span, f"{second.name} is a second parameter of type schedules",
            hint="a kernel has one schedule at a time: keep one parameter, whose values may be tuples or dicts",
        )  # fmt: skip
    outputs = {t.name for t in node.scope.outputs}
    for guarantee in node.post:
        if not isinstance(guarantee, syntax.Within | syntax.Bitwise):
            continue
        axes = {axis for axis, _ in _axes(guarantee)}
        if "schedules" in axes and not parameters:
            raise problem(
                "N218", guarantee.span, "`across schedules` needs a parameter that says which schedule runs",
                hint="write for example `; schedule: schedules` at the end of the scope's arguments",
            )  # fmt: skip
        alone = isinstance(guarantee, syntax.Bitwise) and guarantee.target is None
        if alone and axes & {"schedules", "calls"} and _subject(guarantee) not in outputs:
            raise problem(
                "N218", guarantee.subject.span, "what keeps its bits across schedules or calls is one of the outputs",
                hint=f"name one of {', '.join(sorted(outputs))}",
            )  # fmt: skip


def _axes(guarantee: syntax.Within | syntax.Bitwise) -> list[tuple[str, int]]:
    """`schedules` and `calls(n)` among the variations; others belong to other classes."""
    found: list[tuple[str, int]] = []
    for expr in guarantee.across:
        if isinstance(expr, syntax.Name) and expr.id in ("schedules", "calls"):
            found.append((expr.id, CALLS))
        elif isinstance(expr, syntax.Call) and expr.function == "calls":
            found.append(("calls", _count(expr)))
        elif isinstance(expr, syntax.Call) and expr.function == "schedules":
            raise problem(
                "N218", expr.span, "schedules takes no numbers: the kernel says which schedules it has",
                hint="write `across schedules`",
            )  # fmt: skip
    return found


def _count(expr: syntax.Call) -> int:
    try:
        value = constant(expr.arguments[0].value) if len(expr.arguments) == 1 else None
    except Problem:
        value = None
    if not isinstance(value, int) or isinstance(value, bool) or not 2 <= value <= 100:
        raise problem("N218", expr.span, "calls takes one whole number from 2 to 100", hint="write calls(2)")
    return value


def _subject(guarantee: syntax.Within | syntax.Bitwise) -> str:
    return guarantee.subject.id if isinstance(guarantee.subject, syntax.Name) else ""
