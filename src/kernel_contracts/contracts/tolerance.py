"""The tolerance clause: what it admits for given inputs, and whether it can be met or means anything at all.

A tolerance is computed from inputs, sizes and the reference, never from the candidate: naming an output outside
`reference(...)` is an error. A bound tighter than the output format's own rounding cannot be met, one that zeros pass
says nothing; both are found here, before any kernel runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.contracts.values import CONSTANTS, constant, format_of, problem
from kernel_contracts.formats import Format
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array, BoundContext
from kernel_contracts.numerics.rounding import ulp_of

_ARRAY_CALLS: Mapping[str, Any] = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "log2": np.log2,
    "exp": np.exp,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
_OPERANDS: Mapping[str, int] = {"maximum": 2, "minimum": 2}
_NORMS = ("max", "min", "sum", "mean", "norm")


@dataclass(frozen=True, slots=True)
class Environment:
    """What a tolerance may mention."""

    dtypes: Mapping[str, str]
    names: Mapping[str, Any]
    """Sizes, scalars and input arrays (float64)."""
    outputs: Mapping[str, Array]
    """The reference's value of each output, for `reference(y)`."""
    subject: Array
    """The reference's value of the output being judged: bare `reference`."""


def number(expr: syntax.Expr, env: Environment) -> Any:
    """The value of a tolerance expression: a number or an array that broadcasts to the output."""
    if isinstance(expr, syntax.Number):
        return float(expr.value)  # so that 2 ^ -3 is a number
    if isinstance(expr, syntax.Name):
        value = _name(expr, env)
        return float(value) if isinstance(value, int) else value
    if isinstance(expr, syntax.Unary):
        return -number(expr.operand, env) if expr.op == "-" else number(expr.operand, env)
    if isinstance(expr, syntax.Binary):
        left, right = number(expr.left, env), number(expr.right, env)
        if expr.op == "@":
            return np.matmul(left, right)
        if expr.op in ("+", "-", "*", "/", "^"):
            with np.errstate(all="ignore"):
                return {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power}[expr.op](
                    left, right
                )
        raise problem("T313", expr.span, f"a tolerance is computed with + - * / ^ @, not {expr.op}")
    if isinstance(expr, syntax.Call):
        return _call(expr, env)
    raise problem("T313", expr.span, "a tolerance is a number or an expression over sizes, inputs and the reference")


def _name(expr: syntax.Name, env: Environment) -> Any:
    if expr.id == "reference":
        return env.subject
    if expr.id in env.outputs:
        raise circular(expr)
    if expr.id in env.names:
        return env.names[expr.id]
    if expr.id in CONSTANTS:
        return CONSTANTS[expr.id]
    raise problem(
        "N204",
        expr.span,
        f"{expr.id} has no value in a tolerance",
        hint=did_you_mean(expr.id, [*env.names, "reference"]),
    )


def circular(expr: syntax.Name) -> Exception:
    return problem(
        "S401",
        expr.span,
        f"the tolerance mentions the candidate's output {expr.id}; a kernel would set its own tolerance",
        hint=f"write reference({expr.id}), the oracle's value",
    )


def _call(expr: syntax.Call, env: Environment) -> Any:
    args = [a.value for a in expr.arguments if a.keyword is None]
    if expr.function == "reference" and len(args) == 1 and isinstance(args[0], syntax.Name):
        if args[0].id not in env.outputs:
            raise problem(
                "N208",
                args[0].span,
                f"reference({args[0].id}) must name an output",
                hint=did_you_mean(args[0].id, env.outputs),
            )
        return env.outputs[args[0].id]
    if expr.function in ("u", "eps") and len(args) == 1:
        fmt = format_of(args[0], env.dtypes)
        return fmt.u if expr.function == "u" else fmt.eps
    try:
        if expr.function == "gamma" and len(args) == 2:
            return BoundContext().gamma(int(number(args[0], env)), format_of(args[1], env.dtypes))
        values = [number(a, env) for a in args]
        if expr.function in _ARRAY_CALLS and len(values) == _OPERANDS.get(expr.function, 1):
            return _ARRAY_CALLS[expr.function](*values)
        if expr.function in _NORMS and len(values) == 1:
            return _norm(expr, np.asarray(values[0], dtype=np.float64))
    except (TypeError, ValueError, IndexError) as error:
        raise problem("T307", expr.span, f"{expr.function} does not fit here: {error}") from error
    known = [*_ARRAY_CALLS, *_NORMS, "u", "eps", "gamma", "reference"]
    if expr.function in known:
        raise problem(
            "T307", expr.span, f"{expr.function} does not take {len(args)} operand(s)",
            hint="write abs(x), maximum(x, z), max(x, axis = -1), u(P), gamma(N, P) or reference(y)",
        )  # fmt: skip
    raise problem(
        "N205", expr.span, f"a tolerance has no function {expr.function}", hint=did_you_mean(expr.function, known)
    )


def _norm(expr: syntax.Call, x: Array) -> Any:
    """`max(abs(x))` over everything, or with `axis = -1` along one axis that stays as a size of 1."""
    axis = next((constant(a.value) for a in expr.arguments if a.keyword == "axis"), None)
    if expr.function == "norm":
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=axis is not None))
    return getattr(np, expr.function)(x, axis=axis, keepdims=axis is not None)


def apply(tolerance: syntax.Tolerance, derived: Acceptance, env: Environment, fmt: Format) -> Acceptance:
    """What `tolerance` admits, given what the derived bound admits around the same oracle."""
    if isinstance(tolerance, syntax.Derived | syntax.NoTolerance):
        return derived
    if isinstance(tolerance, syntax.PerFormat):
        return apply(_entry(tolerance, env.dtypes), derived, env, fmt)
    if isinstance(tolerance, syntax.Joined) and tolerance.op == "and":
        out = apply(tolerance.parts[0], derived, env, fmt)
        for part in tolerance.parts[1:]:
            other = apply(part, derived, env, fmt)
            out = out.within(other.below, other.above)
        return out
    radius = np.broadcast_to(np.asarray(_radius(tolerance, derived, env, fmt), dtype=np.float64), derived.center.shape)
    settled = np.isinf(derived.center)
    return Acceptance(
        derived.format,
        derived.center,
        np.where(settled, 0.0, -radius),
        np.where(settled, 0.0, radius),
        np.isnan(derived.center) | np.isnan(radius),
        radius,
    )


def _radius(tolerance: syntax.Tolerance, derived: Acceptance, env: Environment, fmt: Format) -> Any:
    if isinstance(tolerance, syntax.Absolute | syntax.Elementwise):
        return number(tolerance.value, env)
    if isinstance(tolerance, syntax.Relative):
        return number(tolerance.value, env) * np.abs(number(tolerance.of, env))
    if isinstance(tolerance, syntax.Ulp):
        return number(tolerance.count, env) * ulp_of(derived.center, format_of(tolerance.format, env.dtypes))
    if isinstance(tolerance, syntax.Joined):
        return sum(_radius(p, derived, env, fmt) for p in tolerance.parts)
    if isinstance(tolerance, syntax.PerFormat):
        return _radius(_entry(tolerance, env.dtypes), derived, env, fmt)
    return derived.tolerance


def _entry(tolerance: syntax.PerFormat, dtypes: Mapping[str, str]) -> syntax.Tolerance:
    name = dtypes.get(tolerance.variable, tolerance.variable)
    for key, entry in tolerance.table:
        if key == name:
            return entry
    raise problem("S405", tolerance.span, f"the table has no entry for {name}", hint=f"add {name}: derived")


def context_of(tolerance: syntax.Tolerance | None, flush: bool, overflows: bool = False) -> BoundContext:
    """The options of the first `derived` in the clause."""
    options = next((t.options for t in _parts(tolerance) if isinstance(t, syntax.Derived)), ())
    given: dict[str, Any] = {"flush": flush, "overflows": overflows}
    ulps = dict(BoundContext().ulps)
    for option in options:
        _option(option, given, ulps)
    return BoundContext(**given, ulps=ulps)


def _option(option: syntax.Argument, given: dict[str, Any], ulps: dict[str, float]) -> None:
    value = option.value
    if option.keyword == "summation":
        name = value.function if isinstance(value, syntax.Call) else value.id if isinstance(value, syntax.Name) else ""
        if name == "probabilistic" and isinstance(value, syntax.Call):
            given["probabilistic"] = float(_positive(value))
        elif name in ("any", "sequential", "pairwise", "blocked", "split"):
            given["summation"] = name
            if isinstance(value, syntax.Call):
                given["block"] = int(_positive(value))
        else:
            orders = ["any", "sequential", "pairwise", "blocked", "split", "probabilistic"]
            raise problem(
                "S406", value.span, f"{name or 'this'} is no order of summation", hint=did_you_mean(name, orders)
            )
    elif option.keyword == "confidence":
        given["probabilistic"] = float(constant(value))
    elif option.keyword is not None and option.keyword in ulps:
        ulps[option.keyword] = float(_budget(option.keyword, value, given))
    else:
        known = ["summation", *ulps]
        raise problem(
            "S406",
            option.span,
            f"derived has no option {option.keyword}",
            hint=did_you_mean(str(option.keyword), known) or "options: summation = ORDER, or FUNCTION = ULPS",
        )


def _budget(name: str, value: syntax.Expr, given: dict[str, Any]) -> Any:
    """`erf = 4` in ulp of the result, `erf = absolute(4)` in ulp of 1."""
    if not isinstance(value, syntax.Call):
        return constant(value)
    if value.function != "absolute" or len(value.arguments) != 1:
        raise problem("S406", value.span, f"{name} takes a number of ulp", hint=f"write {name} = 4 or absolute(4)")
    given["absolute"] = given.get("absolute", frozenset()) | {name}
    return constant(value.arguments[0].value)


def _positive(value: syntax.Call) -> Any:
    """The one argument of blocked(b), split(k) or probabilistic(lambda)."""
    found = constant(value.arguments[0].value) if len(value.arguments) == 1 else None
    if not isinstance(found, int | float) or found < (1 if value.function != "probabilistic" else 0):
        raise problem(
            "S406", value.span, f"{value.function} takes one number of at least 1", hint=f"write {value.function}(8)"
        )
    return found


def _parts(tolerance: syntax.Tolerance | None) -> list[syntax.Tolerance]:
    if isinstance(tolerance, syntax.Joined):
        return [q for p in tolerance.parts for q in _parts(p)]
    if isinstance(tolerance, syntax.PerFormat):
        return [q for _, p in tolerance.table for q in _parts(p)]
    return [tolerance] if tolerance is not None else []


def is_reference(expr: syntax.Expr) -> bool:
    """`reference`, `abs(reference)`, `reference(y)`, `abs(reference(y))`."""
    if isinstance(expr, syntax.Call) and expr.function == "abs" and len(expr.arguments) == 1:
        return is_reference(expr.arguments[0].value)
    return (isinstance(expr, syntax.Name) and expr.id == "reference") or (
        isinstance(expr, syntax.Call) and expr.function == "reference"
    )


def finite(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else math.nan
