"""Small evaluators over expressions of the language: sizes, dtype expressions, constants, conditions.

Each takes a syntax tree and gives a plain value, or raises `Problem` with the place.
"""

from __future__ import annotations

import math
import operator as op
from collections.abc import Callable, Mapping
from typing import Any

from kernel_contracts import formats
from kernel_contracts.formats import Format
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import Diagnostic, diagnose, did_you_mean
from kernel_contracts.language.syntax import Span
from kernel_contracts.numerics import dims
from kernel_contracts.numerics.dims import Dim

CONSTANTS: Mapping[str, Any] = {"pi": math.pi, "inf": math.inf, "e": math.e, "true": True, "false": False}


class Problem(Exception):
    """One finding, on its way to the list that the author gets."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


def problem(code: str, span: Span, message: str, *, hint: str = "", expected: str = "", found: str = "") -> Problem:
    if not (hint or expected or found):
        hint = f"kc explain {code} shows an example"
    return Problem(diagnose(code, span, message, hint=hint, expected=expected, found=found))


def dim(expr: syntax.Expr, known: set[str] | None = None) -> Dim:
    """A size: numbers, dim names, + - * // % ^. `known` limits the names; None takes any."""
    if isinstance(expr, syntax.Number) and isinstance(expr.value, int):
        return expr.value
    if isinstance(expr, syntax.Name):
        if known is not None and expr.id not in known:
            raise problem(
                "N202", expr.span, f"the size {expr.id} is not a dim of this scope", hint=did_you_mean(expr.id, known)
            )
        return expr.id
    if isinstance(expr, syntax.Unary) and expr.op == "-":
        return dims.make("-", 0, dim(expr.operand, known))
    if isinstance(expr, syntax.Binary) and expr.op in ("+", "-", "*", "//", "%", "^"):
        return dims.make(expr.op, dim(expr.left, known), dim(expr.right, known))
    raise problem(
        "T301", expr.span, "a size is made of whole numbers, dims and + - * // % ^",
        hint="write whole-number division as //",
    )  # fmt: skip


def format_of(expr: syntax.Expr, binding: Mapping[str, str]) -> Format:
    """A dtype expression: a format name, a dtype variable, `max(P, fp32)`, `min(P, Q)`."""
    if isinstance(expr, syntax.Name):
        found = formats.find(binding.get(expr.id, expr.id))
        if found is not None:
            return found
        names = [*formats.FORMATS, *binding]
        raise problem("N203", expr.span, f"there is no number format {expr.id}", hint=did_you_mean(expr.id, names))
    if isinstance(expr, syntax.Call) and expr.function in ("max", "min"):
        parts = [format_of(a.value, binding) for a in expr.arguments]
        if parts:
            out = parts[0]
            for p in parts[1:]:
                wide = formats.wider(out, p)
                out = wide if expr.function == "max" else (p if wide is out else out)
            return out
    raise problem(
        "T302", expr.span, "a number format is a name, a dtype variable, or max(P, fp32)",
        hint=f"formats: {', '.join(formats.FORMATS)}",
    )  # fmt: skip


_OPS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": op.add, "-": op.sub, "*": op.mul, "/": op.truediv, "//": op.floordiv, "%": op.mod, "^": op.pow,
    "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge, "==": op.eq, "!=": op.ne,
}  # fmt: skip
_CALLS: Mapping[str, Callable[..., Any]] = {
    "log2": math.log2, "sqrt": math.sqrt, "log": math.log, "exp": math.exp, "abs": abs, "max": max, "min": min,
    "ceil": math.ceil, "floor": math.floor,
}  # fmt: skip


def constant(expr: syntax.Expr, names: Mapping[str, Any] | None = None) -> Any:
    """A number, truth value, or pair (for a range) known before any input is.

    `names` gives values to dims, scalars and dtype-free names; `pi`, `inf`, `true`, `false` are always there.
    """
    names = names or {}
    if isinstance(expr, syntax.Number):
        return expr.value
    if isinstance(expr, syntax.Name):
        if expr.id in names:
            return names[expr.id]
        if expr.id in CONSTANTS:
            return CONSTANTS[expr.id]
        raise problem(
            "N204", expr.span, f"{expr.id} has no value here", hint=did_you_mean(expr.id, [*names, *CONSTANTS])
        )
    if isinstance(expr, syntax.Unary):
        value = constant(expr.operand, names)
        return not value if expr.op == "not" else -value if expr.op == "-" else value
    if isinstance(expr, syntax.Binary):
        return _binary(expr, names)
    if isinstance(expr, syntax.Call) and expr.function in _CALLS:
        return _called(expr, [constant(a.value, names) for a in expr.arguments])
    if isinstance(expr, syntax.Choice | syntax.Listing | syntax.Group):
        return tuple(constant(i, names) for i in expr.items)
    raise problem(
        "T303", expr.span, "this must be known before any input is: a number, a size or a parameter",
        hint=f"functions of numbers: {', '.join(_CALLS)}",
    )  # fmt: skip


def _called(expr: syntax.Call, values: list[Any]) -> Any:
    try:
        return _CALLS[expr.function](*values)
    except (TypeError, ValueError, ArithmeticError) as error:
        given = ", ".join(str(v) for v in values)
        raise problem("T303", expr.span, f"{expr.function}({given}) has no value: {error}") from error


def _binary(expr: syntax.Binary, names: Mapping[str, Any]) -> Any:
    if expr.op == "..":
        return (constant(expr.left, names), constant(expr.right, names))
    if expr.op in ("and", "or"):
        left = constant(expr.left, names)
        if bool(left) == (expr.op == "or"):
            return left
        return constant(expr.right, names)
    if expr.op == "in":
        subjects = expr.left.items if isinstance(expr.left, syntax.Group) else (expr.left,)
        return all(member(constant(s, names), expr.right, names) for s in subjects)
    if expr.op not in _OPS:
        raise problem(
            "T303", expr.span, f"the operator {expr.op} needs arrays; here only numbers are known",
            hint=f"operators of numbers: {' '.join(_OPS)}",
        )  # fmt: skip
    left, right = constant(expr.left, names), constant(expr.right, names)
    try:
        return _OPS[expr.op](left, right)
    except (ZeroDivisionError, OverflowError, TypeError) as error:
        raise problem("T303", expr.span, f"{left} {expr.op} {right} has no value: {error}") from error


def member(value: Any, of: syntax.Expr, names: Mapping[str, Any]) -> bool:
    """`value in {a, b}` or `value in low..high`."""
    if isinstance(of, syntax.Choice):
        return value in [constant(i, names) for i in of.items]
    low, high = constant(of, names)
    return bool(low <= value <= high)
