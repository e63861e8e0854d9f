"""Where a change of scale must leave the bits alone: no value on the way is near the ends of its format's range.

The reference is evaluated at both scales. Multiplying by a power of two is exact, so a value that the scale touches
must come out multiplied by one power of two throughout, and one that it does not touch must come out the same; binary
arithmetic then rounds alike at both scales (Higham 2002, section 2.1: the model is relative) unless it meets the ends
of the range. Every element that breaks this gets an infinite radius, and the interpretation that derives the tolerance
carries that to whatever depends on it. What still has a finite radius at both scales is away from the ends.

Sums have partial results that no program names. Each is a multiple of the last place of some term, so terms at least
2^p above the least normal number keep all of them normal: that also holds where subnormals are flushed. In the same way
a *grain*, a power of two that divides whatever an execution may hold, keeps a difference of unknown sign away from the
lower end of the range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Adjust, Instance, bound, evaluate
from kernel_contracts.numerics.operators import operator
from kernel_contracts.numerics.program import Node, Program
from kernel_contracts.numerics.rounding import ulp_of

#: Sums whose terms are their first operand as it stands.
_PLAIN_SUMS = ("sum", "mean", "cumsum")
_PRODUCTS = ("matmul", "einsum", "affine")
#: Results that are multiples of what divides all operands, and of what divides two of them.
_SUMS_OF = ("add", "sub", "neg", "abs", "sum", "cumsum", "round", "at_least", "transpose", "reshape", "expand", "slice",
            "broadcast", "max", "min", "maximum", "minimum")  # fmt: skip
_PRODUCTS_OF = ("mul", *_PRODUCTS)


@dataclass(frozen=True, slots=True)
class Scaled:
    """What one change of scale does to the reference."""

    away: Mapping[str, Array]
    """For each output, the elements that must keep their bits (up to the power of two)."""
    shift: Mapping[str, int | None]
    """For each output, the exponent that its elements are shifted by; None where all of them are zero."""


@dataclass(frozen=True, slots=True)
class _Shifted:
    """One node at both scales."""

    shift: int | None
    regular: Array


def compare(base: Instance, scaled: Instance, context: BoundContext) -> Scaled:
    """The reference's outputs at one scale beside those at another."""
    program = base.program
    every = {str(i): i for i in range(len(program.nodes))}
    with np.errstate(all="ignore"):
        first, second = evaluate(base, FLOAT64, every), evaluate(scaled, FLOAT64, every)
        shifts: list[_Shifted] = []
        for i, node in enumerate(program.nodes):
            allowed = _allowed(node, [shifts[a].shift for a in node.args])
            shifts.append(_shifted(np.asarray(first[str(i)]), np.asarray(second[str(i)]), allowed))
        known = [bound(i, context, None, _adjust(program, shifts)) for i in (base, scaled)]
    away = {}
    for name in program.outputs:
        finite = [np.isfinite(k[name].radius()) for k in known]
        away[name] = np.asarray(finite[0] & finite[1])
    return Scaled(away, {name: shifts[i].shift for name, i in program.outputs.items()})


def _allowed(node: Node, shifts: list[int | None]) -> set[int] | None:
    """Exponents that an operation can shift its result by, given those of its operands; None: any.

    Without this a floor that takes over at one of two scales might pass for a power of two.
    """
    if not node.args or any(s is None for s in shifts):
        return None  # zeros throughout tell nothing
    known = [s for s in shifts if s is not None]
    if node.op in _PRODUCTS_OF:
        return {known[0] + known[1]}
    if node.op == "div":
        return {known[0] - known[1]}
    if node.op in ("sqrt", "rsqrt"):
        half = known[0] // 2 if node.op == "sqrt" else -known[0] // 2
        return {half} if known[0] % 2 == 0 else set()
    if node.op == "var":
        return {2 * known[0]}
    if not operator(node.op).computes or node.op in (*_SUMS_OF, *_PLAIN_SUMS):
        return set(known)
    return {0} if not any(known) else set()


def _shifted(a: Array, b: Array, allowed: set[int] | None) -> _Shifted:
    """The power of two that most elements are multiplied by, and the elements that are."""
    if a.dtype.kind != "f":
        return _Shifted(0, np.asarray(a == b))
    (m, e), (n, f) = np.frexp(a), np.frexp(b)
    alike = (m == n) & np.isfinite(a) & (a != 0)
    if allowed is not None:
        alike &= np.isin(f - e, list(allowed))
    values, counts = np.unique((f - e)[alike], return_counts=True)
    shift = int(values[np.argmax(counts)]) if values.size else None
    same = ((a == b) & ~(np.isfinite(a) & (a != 0))) | (np.isnan(a) & np.isnan(b))
    return _Shifted(shift, np.asarray((alike & ((f - e) == shift)) | same))


def _adjust(program: Program, shifts: list[_Shifted]) -> Adjust:
    """Widens to infinity what is not multiplied as a whole, or lies near the ends of its range while it is."""
    places = {id(node): i for i, node in enumerate(program.nodes)}
    grains: dict[int, float] = {}

    def adjust(node: Node, args: list[Bounded], result: Bounded) -> Bounded:
        place = places[id(node)]
        here, bad = shifts[place], ~shifts[place].regular
        if node.type.kind == "real":
            grains[place] = _grain(node, result, [grains.get(a, 0.0) for a in node.args])
            if here.shift not in (0, None):
                bad = bad | ~inside(result, *_range(node), grains[place])
            if node.args and operator(node.op).sums:
                bad = bad | _hidden(node, args, [shifts[a].shift for a in node.args], [grains[a] for a in node.args])
        if not bad.any():
            return result
        return replace(result, e=np.where(np.broadcast_to(bad, np.shape(result.v)), np.inf, result.radius()))

    return adjust


def _range(node: Node) -> tuple[Format, bool]:
    """The format whose range counts, and whether room for a rounding error is kept above its least normal number."""
    if node.args and operator(node.op).computes:
        return node.format, True
    return node.type.format, False


def _grain(node: Node, result: Bounded, grains: list[float]) -> float:
    """A power of two that divides every number that an execution may hold here; 0 where none is known.

    Rounding to nearest keeps multiples of a power of two multiples of it. Anything else that is held in a format is a
    multiple of the last place of its smallest element.
    """
    fmt = node.type.format
    if node.op in _SUMS_OF and node.type.kind == "real":
        known = min(grains)
    elif node.op in _PRODUCTS_OF:
        known = grains[0] * grains[1] if node.op != "affine" else min(grains[0] * grains[1], grains[2])
    else:
        known = 0.0
    size = np.abs(np.asarray(result.v, dtype=np.float64))
    exact = (size == 0) & (result.radius() == 0)
    with np.errstate(invalid="ignore"):
        least = float(np.min(np.where(exact, np.inf, size - result.radius()), initial=np.inf))
    if np.isinf(least):
        return max(known, 1.0) if exact.all() else known
    held = node.format if node.args and operator(node.op).computes else fmt
    return max(known, float(ulp_of(least, held)) if least >= held.least_normal else 0.0)


def inside(x: Bounded, fmt: Format, room: bool, grain: float = 0.0) -> Array:
    """Elements that are zero for sure, or of a magnitude that every execution holds as zero or a normal number."""
    magnitude, e = np.abs(np.asarray(x.v, dtype=np.float64)), x.radius()
    least = fmt.least_normal * (2.0**fmt.precision if room else 1.0)
    normal = ((magnitude - e >= least) | (grain >= least)) & (magnitude + e <= fmt.max_finite)
    return np.asarray(normal | ((magnitude == 0) & (e == 0)))


def _hidden(node: Node, args: list[Bounded], shifts: list[int | None], grains: list[float]) -> bool:
    """Whether some term of a sum, or some partial sum, may be near the ends of the range."""
    if all(s in (0, None) for s in shifts):
        return False
    if node.op in _PLAIN_SUMS:
        return not bool(inside(args[0], node.format, True, grains[0]).all())
    if node.op not in _PRODUCTS:
        return True  # what it computes on the way is not known here
    if node.op == "affine" and not inside(args[2], node.format, True, grains[2]).all():
        return True
    if sum(s or 0 for s in shifts[:2]) == 0 and node.op != "affine":
        return False  # the products are the same at both scales
    least = node.format.least_normal * 2.0**node.format.precision
    if grains[0] * grains[1] >= least:
        return False
    smallest = 1.0
    for x in args[:2]:
        size = np.abs(np.asarray(x.v, dtype=np.float64)) - x.radius()
        zero = (np.asarray(x.v) == 0) & (x.radius() == 0)
        smallest *= float(np.min(np.where(zero, np.inf, size), initial=np.inf))
    return not smallest >= least


def ends_met(instance: Instance) -> dict[str, int]:
    """How many elements the reference's own roundings carry out of a format's normal range.

    `underflowed` counts numbers that become subnormal, `lost` those of them that become zero, `overflowed` those beyond
    the largest finite number. The instance's inputs count too, as they are.
    """
    program = instance.program
    held = [i for i, n in enumerate(program.nodes) if n.op in ("round", "cast") and n.type.kind == "real"]
    held = [i for i in held if program.nodes[program.nodes[i].args[0]].type.kind == "real"]
    wanted = {str(a): a for i in held for a in program.nodes[i].args} | {
        str(i): i for i in program.inputs.values() if program.nodes[i].type.kind == "real"
    }
    with np.errstate(all="ignore"):
        values = evaluate(instance, FLOAT64, wanted)
    counts = {"underflowed": 0, "lost": 0, "overflowed": 0}
    for place, fmt in [(program.nodes[i].args[0], program.nodes[i].type.format) for i in held] + [
        (i, program.nodes[i].type.format) for i in program.inputs.values() if program.nodes[i].type.kind == "real"
    ]:
        size = np.abs(np.asarray(values[str(place)], dtype=np.float64))
        counts["underflowed"] += int(np.count_nonzero((size > 0) & (size < fmt.least_normal)))
        counts["lost"] += int(np.count_nonzero((size > 0) & (size <= fmt.least_subnormal / 2)))
        counts["overflowed"] += int(np.count_nonzero(size >= fmt.overflow_threshold))
    return counts
