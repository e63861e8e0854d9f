"""Static checks of a tolerance and of a violation clause: can it be met, does it say anything, can it be shown?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kernel_contracts.contracts.model import Bound, Measure, Precondition
from kernel_contracts.contracts.tolerance import circular, is_reference
from kernel_contracts.contracts.values import Problem, constant, format_of, problem
from kernel_contracts.contracts.vocabulary import Vocabulary
from kernel_contracts.formats import Format
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.numerics import dims
from kernel_contracts.numerics.operators import adds_up


def expressions(tolerance: syntax.Tolerance) -> Iterator[syntax.Expr]:
    """Every expression in a tolerance clause."""
    if isinstance(tolerance, syntax.Absolute | syntax.Elementwise):
        yield tolerance.value
    elif isinstance(tolerance, syntax.Relative):
        yield from (tolerance.value, tolerance.of)
    elif isinstance(tolerance, syntax.Ulp):
        yield tolerance.count
    elif isinstance(tolerance, syntax.PerFormat):
        for _, part in tolerance.table:
            yield from expressions(part)
    elif isinstance(tolerance, syntax.Joined):
        for part in tolerance.parts:
            yield from expressions(part)


def check_names(tolerance: syntax.Tolerance, outputs: set[str], inputs: set[str]) -> None:
    """No tolerance may mention what the kernel returned. Raises Problem (S401)."""
    for expr in expressions(tolerance):
        _no_output(expr, outputs - inputs)


def _no_output(expr: syntax.Expr, outputs: set[str]) -> None:
    if isinstance(expr, syntax.Name) and expr.id in outputs:
        raise circular(expr)
    if isinstance(expr, syntax.Call) and expr.function != "reference":
        for argument in expr.arguments:
            _no_output(argument.value, outputs)
    elif isinstance(expr, syntax.Unary):
        _no_output(expr.operand, outputs)
    elif isinstance(expr, syntax.Binary):
        _no_output(expr.left, outputs)
        _no_output(expr.right, outputs)
    elif isinstance(expr, syntax.Listing | syntax.Choice | syntax.Group):
        for item in expr.items:
            _no_output(item, outputs)


class ToleranceCheck:
    """Bounds a clause from above, in units of |reference|, to see whether rounding alone breaks it."""

    def __init__(self, bound: Bound, output: Format, pre: Precondition, scalars: Mapping[str, float]) -> None:
        self.dtypes = bound.dtypes
        self.output = output
        sizes = {d: int(r.choices[0] if r.choices else max(r.low, 1)) for d, r in pre.ranges.items()}
        large = {d: int(r.choices[-1] if r.choices else min(r.high, 2**31)) for d, r in pre.ranges.items()}
        self.ends = [{**scalars, **sizes}, {**scalars, **large}]

    def run(self, tolerance: syntax.Tolerance) -> None:
        """Raises Problem S402 (cannot be met) or S403 (says nothing)."""
        if isinstance(tolerance, syntax.PerFormat):
            name = self.dtypes.get(tolerance.variable, tolerance.variable)
            for key, part in tolerance.table:
                if key == name:
                    self.run(part)
        elif isinstance(tolerance, syntax.Joined) and tolerance.op == "and":
            for part in tolerance.parts:
                self.run(part)
        else:
            self._single(tolerance)

    def _single(self, tolerance: syntax.Tolerance) -> None:
        share = self.relative_share(tolerance)
        u = self.output.u
        if share is None:
            return
        if share < u * (1 - 2.0**-20):
            raise problem(
                "S402",
                tolerance.span,
                f"no kernel can meet this: rounding an exact result to {self.output} alone is off by up to "
                f"u = {u:.3g} of it, and {share:.3g} is allowed",
                hint=f"write derived, or ulp 1 of {self.output}, or at least relative u({self.output}) of reference",
            )
        if share >= 1:
            raise problem(
                "S403",
                tolerance.span,
                f"this admits zeros for every answer: {share:.3g} times the reference is allowed",
                hint="write derived, or a tolerance well below 1 of abs(reference)",
            )

    def relative_share(self, tolerance: syntax.Tolerance) -> float | None:
        """The allowance as a multiple of |reference|; None when it has parts that this cannot compare."""
        if isinstance(tolerance, syntax.Relative):
            values = [v for v in (self._number(tolerance.value, names) for names in self.ends) if v is not None]
            for v in values:
                if v < 0:
                    raise problem("S402", tolerance.span, f"a tolerance of {v:g} is negative; nothing meets it")
            return max(values) if values and is_reference(tolerance.of) else None
        if isinstance(tolerance, syntax.Ulp):
            return self._ulps(tolerance)
        if isinstance(tolerance, syntax.Absolute | syntax.Elementwise):
            value = self._number(tolerance.value, self.ends[1])
            if value is not None and value <= 0 and isinstance(tolerance, syntax.Absolute):
                raise problem(
                    "S402",
                    tolerance.span,
                    f"an absolute tolerance of {value:g} leaves no room for rounding",
                    hint="for exact results write: bitwise equal reference, with tolerance none",
                )
            return None
        return None

    def _ulps(self, tolerance: syntax.Ulp) -> float | None:
        fmt = format_of(tolerance.format, self.dtypes)
        count = self._number(tolerance.count, self.ends[1])
        if count is None:
            return None
        if count * fmt.eps < self.output.u * (1 - 2.0**-20):
            raise problem(
                "S402",
                tolerance.span,
                f"no kernel can meet this: {count:g} ulp of {fmt} is less than the half ulp of {self.output} "
                "that rounding takes",
                hint=f"write at least ulp 0.5 of {self.output}",
            )
        if count * fmt.u >= 1:
            raise problem(
                "S403",
                tolerance.span,
                f"this admits zeros for every answer: {count:g} ulp of {fmt} is the value itself",
                hint=f"{fmt} has {fmt.precision} significant bits; allow a few ulp",
            )
        return None

    @staticmethod
    def _number(expr: syntax.Expr, names: Mapping[str, float]) -> float | None:
        try:
            value = constant(expr, names)
        except (Problem, ArithmeticError, ValueError):
            return None
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def check_lengths(bound: Bound, pre: Precondition, span: syntax.Span) -> None:
    """A sum so long that depth * u reaches 1/2 has no bound at all (S404)."""
    largest = {d: int(r.choices[-1] if r.choices else min(r.high, 2**31)) for d, r in pre.ranges.items()}
    for node in bound.program.nodes:
        if not adds_up(node.op) or node.type.kind != "real":
            continue
        first = bound.program.nodes[node.args[0]].type.shape
        axes = node.attr("axis", (len(first) - 1,))
        try:
            n = math.prod(dims.evaluate(first[a], largest) for a in axes)
        except Exception:
            continue
        depth = bound.context.depth(n) + 1
        if math.isinf(bound.context.gamma(depth, node.format)):
            what = " * ".join(dims.text(first[a]) for a in axes)
            raise problem(
                "S404",
                span,
                f"sums of up to {n} terms ({what}) in {node.format} have no error bound: "
                f"{depth} roundings of u = {node.format.u:.3g} reach 1/2",
                hint="limit the size in pre, declare `derived with summation = pairwise`, or a wider accumulator",
            )


def check_violations(
    names: tuple[syntax.Name, ...], measure: Measure, class_id: str, vocabulary: Vocabulary, span: syntax.Span
) -> None:
    """Every signature must exist and some declared input must be able to show it (M501, N210)."""
    shown: set[str] = set(vocabulary.always)
    if class_id in vocabulary.classes:
        shown |= vocabulary.classes[class_id].signatures
    for item in measure.inputs:
        shown |= vocabulary.inputs.get(item.name, frozenset())
    for name in names:
        if vocabulary.signatures and name.id not in vocabulary.signatures:
            raise problem(
                "N210", name.span, f"there is no signature {name.id}",
                hint=did_you_mean(name.id, vocabulary.signatures) or "see kc list signatures",
            )  # fmt: skip
        if vocabulary.inputs and vocabulary.signatures and name.id not in shown:
            able = sorted(k for k, v in vocabulary.inputs.items() if name.id in v)
            raise problem(
                "M501",
                name.span,
                f"no declared input can show {name.id}",
                hint=f"add one of: {', '.join(able)}" if able else "drop the signature",
            )
