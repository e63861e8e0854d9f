"""Operations on ranks: `scope all_reduce (x: P[N]) on ranks W -> y: P[N]`, `across ranks(1, 2, 4), overlap`.

In the scope a tensor is what one rank holds. In the reference, and in everything that measures, it stands for what all
of them hold, the ranks as its first axis: x is [W, N]. `sum(x, over = ranks)` adds along that axis. An output of the
reference without this axis is what every rank returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel_contracts.contracts.model import Precondition, Range, TensorDecl
from kernel_contracts.contracts.values import Problem, constant, problem
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.dims import Shape, equal

RANKS = (1, 2, 4, 8)
"""Measured where a contract gives no numbers of its own."""
MOST = 64
_AXES = ("ranks", "buckets", "overlap", "in_place", "calls")


@dataclass(frozen=True, slots=True)
class Spread:
    """What a contract on ranks wants varied."""

    ranks: tuple[int, ...] = RANKS
    buckets: tuple[int, ...] = ()
    """Numbers of pieces that the data is cut into; passed to kernels with a parameter `buckets`."""
    overlap: bool = False
    """Both with `overlap = true` and false, for kernels with that parameter."""
    in_place: bool = False
    """The same for `in_place`: the result may then stand in the memory of the input."""
    calls: int = 3
    """Calls in a row, each with other data than the one before."""
    agree: tuple[str, ...] = ()
    """Outputs that all ranks must have bit for bit alike."""


def spread_of(post: Sequence[syntax.Guarantee]) -> Spread:
    """What the `across` clauses ask for. Raises Problem at one that means nothing on ranks."""
    found = Spread()
    for guarantee in post:
        for expr in getattr(guarantee, "across", ()):
            name, numbers = _axis(expr)
            if name == "overlap":
                found = replace(found, overlap=True)
            elif name == "in_place":
                found = replace(found, in_place=True)
            elif name == "calls":
                found = replace(found, calls=numbers[0] if numbers else found.calls)
            elif name == "buckets":
                found = replace(found, buckets=numbers or (1, 4))
            elif numbers:
                found = replace(found, ranks=numbers)
        if isinstance(guarantee, syntax.Bitwise) and guarantee.target is None and _over_ranks(guarantee):
            subject = guarantee.subject
            found = replace(found, agree=(*found.agree, subject.id if isinstance(subject, syntax.Name) else ""))
    return found


def _over_ranks(guarantee: syntax.Bitwise) -> bool:
    return any(_axis(e)[0] == "ranks" for e in guarantee.across)


def _axis(expr: syntax.Expr) -> tuple[str, tuple[int, ...]]:
    name = expr.id if isinstance(expr, syntax.Name) else expr.function if isinstance(expr, syntax.Call) else ""
    if name not in _AXES:
        raise problem(
            "N215", expr.span, f"an operation on ranks does not vary over {name or 'this'}",
            hint=did_you_mean(name, _AXES) or f"choose {', '.join(_AXES)}",
        )  # fmt: skip
    given = expr.arguments if isinstance(expr, syntax.Call) else ()
    return name, tuple(sorted(_count(a.value) for a in given))


def _count(expr: syntax.Expr) -> int:
    try:
        value = constant(expr)
    except Problem:
        value = None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST:
        raise problem("N215", expr.span, f"this is a whole number from 1 to {MOST}", hint="write ranks(1, 2, 4, 8)")
    return value


def stacked(tensors: Sequence[TensorDecl], ranks: str) -> tuple[TensorDecl, ...]:
    """What all ranks hold: one more axis, the first."""
    return tuple(replace(t, shape=(ranks, *t.shape)) for t in tensors)


def restricted(pre: Precondition, ranks: str, spread: Spread, span: syntax.Span) -> Precondition:
    """The precondition with the numbers of ranks that are measured. Raises Problem where it admits none of them."""
    allowed = tuple(float(n) for n in spread.ranks if pre.ranges[ranks].holds(n))
    if not allowed:
        raise problem(
            "T311", span, f"the precondition on {ranks} admits none of ranks({', '.join(map(str, spread.ranks))})",
            hint="widen it, or name ranks that it admits in `across ranks(...)`",
        )  # fmt: skip
    return replace(pre, ranges={**pre.ranges, ranks: Range(allowed[0], allowed[-1], allowed)})


def on_every_rank(builder: Builder, index: int, shape: Shape) -> int:
    """The node of an output on all ranks: one that lacks the axis of the ranks is repeated, before it is rounded."""
    node = builder.nodes[index]
    have = node.type.shape
    if len(have) != len(shape) - 1 or not all(equal(a, b) for a, b in zip(have, shape[1:], strict=True)):
        return index
    before, builder.format = builder.format, node.format
    if node.op in ("round", "cast"):
        wide = builder.op("broadcast", [node.args[0]], {"shape": shape})
        made = builder.op(node.op, [wide], {"format": node.attrs["format"]})
    else:
        made = builder.op("broadcast", [index], {"shape": shape})
    builder.format = before
    builder.name(made, node.label)
    return made


def axis_over(over: syntax.Expr, ranks: str) -> int:
    """The axis that `over = ranks` names. Raises Problem where the scope has no ranks."""
    named = over.id if isinstance(over, syntax.Name) else ""
    if not ranks:
        raise problem(
            "T308",
            over.span,
            "there are no ranks in this scope to sum over",
            hint="write `on ranks W` before the arrow",
        )
    if named not in ("ranks", ranks):
        raise problem("T308", over.span, "`over` takes ranks and nothing else", hint="write over = ranks")
    return 0
