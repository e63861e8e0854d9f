"""What a contract promises about scales: `h bitwise equal across scales(2^0..2^15, g, scale) away from range ends`.

The arguments after the range say what carries the factor: inputs and parameters are multiplied by it before the call,
a result is expected to have been. `1 / x` carries its reciprocal, `x ^ 2` its square. Without them every real input and
every real parameter carries it, and no result does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernel_contracts.contracts.model import Contract, ScalarDecl, TensorDecl
from kernel_contracts.contracts.values import Problem, constant, problem
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean

AXIS = "scales"
_WRITE = "write scales(2^0..2^15, g, scale): powers of two, then what is multiplied by them"
_LARGEST = 200
"""The largest exponent of a factor: more than any format of the language can hold twice over, fp64 apart."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """One result that must not depend on a scale, other than by the power of it that it carries."""

    output: str
    low: int
    high: int
    """Factors are 2^low .. 2^high."""
    carriers: Mapping[str, int]
    """For each input, parameter and result that carries the factor, which power of it."""
    away: bool
    """Only where no value is near the ends of its format's range."""

    @property
    def given(self) -> tuple[tuple[str, int], ...]:
        """What decides a call, so that results with the same share it: range apart, carriers that are not results."""
        return tuple(sorted(self.carriers.items()))


def scalings_of(contract: Contract) -> tuple[Scaling, ...]:
    """Every promise across scales of a contract, in the order of its text."""
    return read_scalings(contract.post, contract.inputs, contract.scalars, contract.outputs)


def read_scalings(
    post: Iterable[syntax.Guarantee],
    inputs: tuple[TensorDecl, ...],
    scalars: tuple[ScalarDecl, ...],
    outputs: tuple[TensorDecl, ...],
) -> tuple[Scaling, ...]:
    """The same before there is a contract. Raises Problem at the first that makes no sense."""
    results = [t.name for t in outputs]
    known = [*(t.name for t in inputs), *(s.name for s in scalars if s.type == "real"), *results]
    everything = {n: 1 for n in known if n not in results}
    found: list[Scaling] = []
    for guarantee in post:
        if not isinstance(guarantee, syntax.Bitwise) or guarantee.target is not None:
            continue
        for expr in guarantee.across:
            if not isinstance(expr, syntax.Call) or expr.function != AXIS:
                continue
            subject = guarantee.subject
            if not isinstance(subject, syntax.Name) or subject.id not in results:
                raise problem(
                    "N208", subject.span, "what is compared across scales is a result by name",
                    hint=f"choose {', '.join(results)}",
                )  # fmt: skip
            low, high = _factors(expr)
            carriers = dict(_carrier(a.value, known) for a in expr.arguments[1:]) or everything
            found.append(Scaling(subject.id, low, high, carriers, guarantee.away_from_ends))
    return tuple(found)


def _factors(expr: syntax.Call) -> tuple[int, int]:
    """The exponents of `2^a..2^b`; of one power, that one."""
    try:
        value = constant(expr.arguments[0].value) if expr.arguments else None
    except Problem:
        value = None
    ends = value if isinstance(value, tuple) else (value, value)
    exponents = [_exponent(end) for end in ends]
    if len(exponents) != 2 or any(e is None for e in exponents):
        raise problem("T310", expr.span, "the factors of scales are a range of powers of two", hint=_WRITE)
    low, high = (e for e in exponents if e is not None)
    if low > high:
        raise problem("T311", expr.span, f"no factor lies in 2^{low}..2^{high}", hint="swap the two ends")
    return low, high


def _exponent(value: object) -> int | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        return None
    mantissa, exponent = math.frexp(value)
    return exponent - 1 if mantissa == 0.5 and abs(exponent) <= _LARGEST else None


def _carrier(expr: syntax.Expr, known: list[str]) -> tuple[str, int]:
    """`x`, `1 / x`, `x ^ 2`, `1 / x ^ 2` as a name and a power."""
    sign = 1
    if isinstance(expr, syntax.Binary) and expr.op == "/" and _number(expr.left) == 1:
        sign, expr = -1, expr.right
    power = 1
    if isinstance(expr, syntax.Binary) and expr.op == "^" and _number(expr.right) in (1, 2, 3, 4):
        power, expr = int(_number(expr.right)), expr.left
    if not isinstance(expr, syntax.Name):
        raise problem("T303", expr.span, "what carries a scale is x, 1 / x or x ^ 2", hint=_WRITE)
    if expr.id not in known:
        raise problem(
            "N201", expr.span, f"{expr.id} is no real input, parameter or result of this scope",
            hint=did_you_mean(expr.id, known),
        )  # fmt: skip
    return expr.id, sign * power


def _number(expr: syntax.Expr) -> float:
    return float(expr.value) if isinstance(expr, syntax.Number) else math.nan
