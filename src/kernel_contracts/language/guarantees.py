"""Building guarantees and tolerances: pieces that the grammar reads flat, joined by what their neighbours are.

`y within tolerance of reference where a and b and x unchanged` comes as the pieces `... where a`, `b`, `x unchanged`: a
bare condition goes on with the condition before it, and before `or raise` it is part of what is required.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kernel_contracts.language import syntax as s
from kernel_contracts.language.diagnostics import diagnose
from kernel_contracts.language.expressions import Expressions, cover, fold


@dataclass(frozen=True, slots=True)
class Bare:
    """A condition, as the operands of `or`, that is not yet part of a guarantee."""

    condition: list[s.Expr]
    across: tuple[s.Expr, ...]
    away: bool
    span: s.Span


@dataclass(frozen=True, slots=True)
class Where:
    """A condition after `where`, open to what follows."""

    condition: list[s.Expr]


@dataclass(frozen=True, slots=True)
class Claim:
    """A guarantee whose `where` may go on."""

    guarantee: s.Within | s.Bitwise
    where: list[list[s.Expr]]
    """Operands of `and`, each as the operands of `or`."""
    closed: bool
    """It has had its `across` or `away`, so nothing can follow its condition."""


@dataclass(frozen=True, slots=True)
class Required:
    """`CONDITION or raise KIND`, the condition as the operands of `or`; bare conditions before it belong to it."""

    condition: list[s.Expr]
    kind: str
    span: s.Span


class Away:
    """The words `away from range ends`."""


def condition_of(pieces: list[list[s.Expr]]) -> s.Expr:
    """One expression out of `a1 or a2 and b1 or ...`, where `and` binds tighter than `or`."""
    groups: list[list[s.Expr]] = []
    for piece in pieces:
        first, *rest = piece
        groups = [*groups[:-1], [*groups[-1], first]] if groups else [[first]]
        groups += [[part] for part in rest]
    return fold("or", [fold("and", group) for group in groups])


class Guarantees(Expressions):
    """Callbacks of `post` and `tolerance`."""

    # --------------------------------------------------------------------------------------------- guarantees

    def condition(self, meta: Any, items: list[s.Expr]) -> list[s.Expr]:
        return items

    def where(self, meta: Any, items: list[list[s.Expr]]) -> Where:
        return Where(items[0])

    def across(self, meta: Any, items: list[s.Expr]) -> tuple[s.Expr, ...]:
        return tuple(items)

    def away(self, meta: Any, items: list[Any]) -> Away:
        return Away()

    def choices(self, meta: Any, items: list[s.Expr]) -> tuple[s.Expr, ...]:
        return tuple(items)

    def within(self, meta: Any, items: list[Any]) -> Claim:
        subject, target, where, across = items
        node = s.Within(subject, target, None, across or (), span=self.span(meta))
        return Claim(node, [where.condition] if where else [], bool(across))

    def bitwise(self, meta: Any, items: list[Any]) -> Claim:
        subject, target, *tail = items
        return self._bitwise(meta, subject, target, tail)

    def bitwise_alone(self, meta: Any, items: list[Any]) -> Claim:
        subject, *tail = items
        return self._bitwise(meta, subject, None, tail)

    def _bitwise(self, meta: Any, subject: s.Expr, target: s.Expr | None, tail: list[Any]) -> Claim:
        where = [t.condition for t in tail if isinstance(t, Where)]
        across = next((t for t in tail if isinstance(t, tuple)), ())
        away = any(isinstance(t, Away) for t in tail)
        node = s.Bitwise(subject, target, None, across, away, span=self.span(meta))
        return Claim(node, where, bool(across) or away)

    def unchanged(self, meta: Any, items: list[s.Expr]) -> s.Unchanged:
        subjects = items[0].items if isinstance(items[0], s.Group) else (items[0],)
        for subject in subjects:
            if not isinstance(subject, s.Name):
                text, hint = "`unchanged` takes inputs by name", "name the input itself, as in `x unchanged`."
                self.problems.append(diagnose("P121", subject.span, text, expected="a name", hint=hint))
        return s.Unchanged(tuple(x.id for x in subjects if isinstance(x, s.Name)), span=self.span(meta))

    def policy(self, meta: Any, items: list[Any]) -> s.Policy:
        name, choices, across = items
        return s.Policy(str(name), choices, across or (), span=self.span(meta))

    def or_raise(self, meta: Any, items: list[Any]) -> Required:
        *condition, kind = items
        return Required(condition, str(kind), self.span(meta))

    def companion(self, meta: Any, items: list[Any]) -> s.Companion:
        name, across = items
        return s.Companion(str(name), across or (), span=self.span(meta))

    def more(self, meta: Any, items: list[Any]) -> Bare:
        condition, across, away = items
        return Bare(condition, across or (), away is not None, self.span(meta))

    def post(self, meta: Any, items: list[Any]) -> tuple[str, s.Span, tuple[s.Guarantee, ...]]:
        """The guarantees, bare conditions given to the guarantee that they belong to."""
        out: list[s.Guarantee] = []
        claim: Claim | None = None
        waiting: list[Bare] = []
        for piece in items:
            if isinstance(piece, Bare) and claim and claim.where and not claim.closed:
                claim = self._extend(claim, piece)
                continue
            if isinstance(piece, Bare):
                waiting.append(piece)
                continue
            out += [self._finish(claim)] if claim else []
            claim = piece if isinstance(piece, Claim) else None
            if isinstance(piece, Required):
                out.append(self._require(waiting, piece))
            else:
                self._unclaimed(waiting)
                out += [] if claim else [piece]
            waiting = []
        out += [self._finish(claim)] if claim else []
        self._unclaimed(waiting)
        return "post", self.span(meta), tuple(out)

    def _extend(self, claim: Claim, piece: Bare) -> Claim:
        node = replace(claim.guarantee, across=piece.across, span=cover(claim.guarantee.span, piece.span))
        if isinstance(node, s.Bitwise):
            node = replace(node, away_from_ends=piece.away)
        elif piece.away:
            text, hint = "`away from range ends` belongs to `bitwise equal`", "remove these words."
            self.problems.append(diagnose("P133", piece.span, text, hint=hint))
        return Claim(node, [*claim.where, piece.condition], bool(piece.across) or piece.away)

    def _finish(self, claim: Claim) -> s.Within | s.Bitwise:
        node = claim.guarantee
        if isinstance(node, s.Bitwise) and not (node.target or node.across or node.away_from_ends):
            hint = "say what it equals (`bitwise equal reference`) or across what (`bitwise equal across runs(100)`)."
            self.problems.append(diagnose("P118", node.span, hint=hint))
        return replace(node, where=condition_of(claim.where)) if claim.where else node

    def _require(self, waiting: list[Bare], piece: Required) -> s.OrRaise:
        """Before `or raise`, the conditions that wait are required too."""
        loose = [bare for bare in waiting if bare.across or bare.away]
        self._unclaimed(loose)
        joined = [bare for bare in waiting if bare not in loose]
        condition = condition_of([*(bare.condition for bare in joined), piece.condition])
        return s.OrRaise(condition, piece.kind, span=cover(joined[0].span, piece.span) if joined else piece.span)

    def _unclaimed(self, waiting: list[Bare]) -> None:
        hint = "put it in `pre`, after `where`, or write what happens else: `CONDITION or raise KIND`."
        self.problems += [diagnose("P122", bare.span, hint=hint) for bare in waiting]

    # ---------------------------------------------------------------------------------------------- tolerance

    def tolerance(self, meta: Any, items: list[s.Tolerance]) -> tuple[str, s.Span, s.Tolerance]:
        return "tolerance", self.span(meta), items[0]

    def both(self, meta: Any, items: list[s.Tolerance]) -> s.Tolerance:
        return items[0] if len(items) == 1 else s.Joined("and", tuple(items), span=self.span(meta))

    def total(self, meta: Any, items: list[Any]) -> s.Tolerance:
        """Keyword forms joined by `+`; neighbouring bare terms make one arithmetic expression."""
        parts: list[s.Tolerance] = []
        for op, part in zip(["+", *items[1::2]], items[::2], strict=True):
            bare = isinstance(part, s.Expr)
            if bare and parts and isinstance(last := parts[-1], s.Elementwise):
                span = cover(last.span, part.span)
                parts[-1] = s.Elementwise(s.Binary(str(op), last.value, part, span=span), span=span)
                continue
            if op == "-":
                hint = "join tolerances with `+` or `and`; put a difference of numbers in parentheses."
                self.problems.append(diagnose("P119", part.span, hint=hint))
            parts.append(s.Elementwise(part, span=part.span) if bare else part)
        return parts[0] if len(parts) == 1 else s.Joined("+", tuple(parts), span=self.span(meta))

    def derived(self, meta: Any, items: list[s.Argument]) -> s.Derived:
        return s.Derived(tuple(i for i in items if i is not None), span=self.span(meta))

    def absolute(self, meta: Any, items: list[s.Expr]) -> s.Absolute:
        return s.Absolute(items[0], span=self.span(meta))

    def relative(self, meta: Any, items: list[s.Expr]) -> s.Relative:
        return s.Relative(items[0], items[1], span=self.span(meta))

    def ulp(self, meta: Any, items: list[s.Expr]) -> s.Ulp:
        return s.Ulp(items[0], items[1], span=self.span(meta))

    def per(self, meta: Any, items: list[Any]) -> s.PerFormat:
        variable, *table = items
        return s.PerFormat(str(variable), tuple(table), span=self.span(meta))

    def row(self, meta: Any, items: list[Any]) -> tuple[str, s.Tolerance]:
        name, bound = items
        return str(name), bound

    def none(self, meta: Any, items: list[Any]) -> s.NoTolerance:
        return s.NoTolerance(span=self.span(meta))
