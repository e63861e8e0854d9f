"""Takes a precondition apart: ranges of sizes and scalars, facts about inputs, and what remains as conditions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kernel_contracts.contracts.model import Facts, Precondition, Range, ScalarDecl, TensorDecl
from kernel_contracts.contracts.values import CONSTANTS, constant, dim, problem
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.numerics.dims import make

#: A size without a declared range.
ANY_SIZE = Range(1, 2**31)
_FLIP = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


def conjuncts(expr: syntax.Expr | None) -> Iterator[syntax.Expr]:
    """The parts joined by `and`."""
    if expr is None:
        return
    if isinstance(expr, syntax.Binary) and expr.op == "and":
        yield from conjuncts(expr.left)
        yield from conjuncts(expr.right)
    else:
        yield expr


def _names(expr: syntax.Expr) -> Iterator[str]:
    """Names in an expression over numbers."""
    if isinstance(expr, syntax.Name):
        yield expr.id
    for part in (getattr(expr, f, None) for f in ("left", "right", "operand")):
        if part is not None:
            yield from _names(part)


class _Reader:
    def __init__(self, dims: tuple[str, ...], inputs: tuple[TensorDecl, ...], scalars: tuple[ScalarDecl, ...]) -> None:
        self.tensors = {t.name for t in inputs}
        self.scalar_names = {s.name for s in scalars}
        self.dims = set(dims)
        self.ranges: dict[str, Range] = {}
        self.scalars: dict[str, Range] = {}
        self.facts: dict[str, Facts] = {}
        self.predicates: list[syntax.Expr] = []

    def read(self, part: syntax.Expr) -> None:
        if isinstance(part, syntax.Call) and part.function in ("finite", "positive"):
            self._about_inputs(part)
        elif isinstance(part, syntax.Binary) and part.op == "in":
            subjects = part.left.items if isinstance(part.left, syntax.Group) else (part.left,)
            for subject in subjects:
                self._member(subject, part)
        elif isinstance(part, syntax.Binary) and part.op in _FLIP and self._comparison(part):
            pass
        else:
            self._condition(part)

    def _about_inputs(self, part: syntax.Call) -> None:
        for argument in part.arguments:
            if not isinstance(argument.value, syntax.Name) or argument.value.id not in self.tensors:
                shown = argument.value.id if isinstance(argument.value, syntax.Name) else "an expression"
                raise problem(
                    "N207",
                    argument.span,
                    f"{part.function}({shown}) must name an input",
                    hint=did_you_mean(shown, self.tensors),
                )
            self._fact(argument.value.id, **{part.function: True})

    def _fact(self, name: str, **values: Any) -> None:
        old = self.facts.get(name, Facts())
        self.facts[name] = replace(old, **values)

    def _member(self, subject: syntax.Expr, part: syntax.Binary) -> None:
        if not isinstance(subject, syntax.Name):
            self._condition(syntax.Binary("in", subject, part.right, span=part.span))
            return
        if subject.id in self.tensors:
            if not isinstance(part.right, syntax.Binary) or part.right.op != "..":
                raise problem(
                    "T310", part.right.span, f"the elements of {subject.id} lie in a range low..high",
                    hint=f"write {subject.id} in 0..V - 1",
                )  # fmt: skip
            self._fact(subject.id, low=dim(part.right.left), high=dim(part.right.right))
            return
        if subject.id not in self.dims | self.scalar_names:
            known = self.dims | self.scalar_names | self.tensors
            raise problem(
                "N201", subject.span, f"the name {subject.id} is not known here", hint=did_you_mean(subject.id, known)
            )
        if isinstance(part.right, syntax.Binary) and any(
            n in self.dims | self.scalar_names for n in _names(part.right)
        ):
            self._condition(syntax.Binary("in", subject, part.right, span=part.span))
            return
        self._narrow(subject.id, self._range(part.right))

    def _range(self, expr: syntax.Expr) -> Range:
        if isinstance(expr, syntax.Choice):
            values = tuple(sorted(constant(i) for i in expr.items))
            return Range(values[0], values[-1], values)
        value = constant(expr)
        if not isinstance(value, tuple) or len(value) != 2:
            raise problem(
                "T310", expr.span, "membership needs a range low..high or a set {a, b}",
                hint="write N in 1..4096, or N in {64, 128}",
            )  # fmt: skip
        if value[0] > value[1]:
            raise problem(
                "T311", expr.span, f"the range {value[0]}..{value[1]} is empty",
                hint=f"write {value[1]}..{value[0]}: the smaller end comes first",
            )  # fmt: skip
        return Range(*value)

    def _narrow(self, name: str, new: Range) -> None:
        table = self.ranges if name in self.dims else self.scalars
        old = table.get(name, Range(-math.inf, math.inf) if name in self.scalar_names else Range(0, 2**40))
        table[name] = old.meet(new)

    def _comparison(self, part: syntax.Binary) -> bool:
        """`N <= 100`, `abs(x) <= 5`, `x > 0`, `0 <= index`: ranges and facts. False when it is none of them."""
        left, right, op = part.left, part.right, part.op
        for subject, other, sign in ((left, right, op), (right, left, _FLIP[op])):
            if isinstance(subject, syntax.Name) and subject.id in self.tensors:
                return self._bound_input(subject.id, other, sign)
            if isinstance(subject, syntax.Call) and subject.function == "abs" and sign in ("<=", "<"):
                inner = subject.arguments[0].value
                if isinstance(inner, syntax.Name) and inner.id in self.tensors:
                    self._fact(inner.id, limit=float(constant(other)))
                    return True
            names = self.dims | self.scalar_names
            if isinstance(subject, syntax.Name) and subject.id in names and isinstance(other, syntax.Number):
                step = 1 if subject.id in self.dims else 0
                value = other.value
                high = {"<=": value, "<": value - step, "==": value}.get(sign, math.inf)
                low = {">=": value, ">": value + step, "==": value}.get(sign, -math.inf)
                self._narrow(subject.id, Range(low, high))
                return step == 1 or sign in ("<=", ">=", "==")
        return False

    def _bound_input(self, name: str, other: syntax.Expr, sign: str) -> bool:
        if isinstance(other, syntax.Number) and other.value == 0 and sign in (">", ">="):
            if sign == ">":
                self._fact(name, positive=True)
            else:
                self._fact(name, low=0, positive=True)
            return True
        limit = dim(other)
        if sign in ("<", "<="):
            self._fact(name, high=limit if sign == "<=" else make("-", limit, 1))
        elif sign in (">", ">="):
            self._fact(name, low=limit if sign == ">=" else make("+", limit, 1))
        else:
            return False
        return True

    def _condition(self, part: syntax.Expr) -> None:
        """A condition over sizes and scalars, tried once so that unknown names show."""
        trial = dict.fromkeys(self.dims | self.scalar_names, 1) | dict(CONSTANTS)
        value = constant(part, trial)
        if not isinstance(value, bool):
            raise problem(
                "T312", part.span, "a precondition is true or false",
                hint="write a comparison, a membership such as N in 1..4096, or finite(x)",
            )  # fmt: skip
        self.predicates.append(part)


def read_precondition(
    pre: syntax.Expr | None, dims: tuple[str, ...], inputs: tuple[TensorDecl, ...], scalars: tuple[ScalarDecl, ...]
) -> Precondition:
    """The domain of a contract. Raises Problem at the first part that makes no sense."""
    reader = _Reader(dims, inputs, scalars)
    for part in conjuncts(pre):
        reader.read(part)
    ranges = {d: reader.ranges.get(d, ANY_SIZE) for d in dims}
    for name, r in ranges.items():
        if r.low > r.high or r.choices == ():
            place = pre.span if pre is not None else syntax.NOWHERE
            raise problem(
                "T311",
                place,
                f"no size {name} meets the precondition",
                hint="two conditions exclude each other; drop one",
            )
    return Precondition(ranges, reader.scalars, reader.facts, tuple(reader.predicates))


def holds(pre: Precondition, dims: dict[str, int], scalars: dict[str, Any]) -> bool:
    """Whether sizes and scalars meet the precondition."""
    if not all(pre.ranges[d].holds(n) for d, n in dims.items() if d in pre.ranges):
        return False
    names = {**scalars, **dims}
    if not all(r.holds(names[s]) for s, r in pre.scalars.items() if s in names):
        return False
    return all(bool(constant(p, names)) for p in pre.predicates)
