"""Which known fault explains a failure: the contract's mutants run on the failing input, compared with what came back.

A mutant explains a candidate when the candidate's error is the mutant's: |y - m| is small beside |y - y*|. That is a
diagnosis, never a verdict; the verdict came from the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from kernel_contracts.contracts.model import Bound
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.known import Known, Wrong
from kernel_contracts.measurement.oracle import work
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, emulate, evaluate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.program import Program
from kernel_contracts.numerics.rounding import round_to, ulp_of

#: Emulating a narrow accumulator costs one vector operation a term; larger and longer cases are left undiagnosed.
EMULATE_LIMIT = 1 << 20
WORK_LIMIT = 1 << 22
#: Beyond this nothing is tried: some forty programs would be run, and a smaller case fails in the same way.
EXPLAIN_LIMIT = 1 << 23
TERMS_LIMIT = 1 << 12
#: Lists of mutants that are kept.
_PROGRAMS = 512
#: A mutant whose own error is this small beside the candidate's cannot be told from none.
_FAINT = 1e-12


def explain(
    bound: Bound,
    instance: Instance,
    outputs: Mapping[str, Array],
    centers: Mapping[str, Array],
    names: Iterable[str],
    tolerances: Mapping[str, Array] = MappingProxyType({}),
    given: Mapping[str, tuple[tuple[object, ...], ...]] = MappingProxyType({}),
    known: Known | None = None,
) -> dict[str, float]:
    """For each mutant (with its arguments and place) the share of the candidate's error that it leaves unexplained.

    `given` are arguments to try for a mutant instead of its usual ones. `known` keeps what the mutants answer.

    Errors count in units of `tolerances` where they are given, so that a small element that is wrong weighs more than
    the honest rounding of a large one.
    """
    found: dict[str, float] = {}
    if work(instance) > EXPLAIN_LIMIT:
        return found
    too_long = (
        instance_size(instance) > EMULATE_LIMIT or work(instance) > WORK_LIMIT or _terms(bound, instance) > TERMS_LIMIT
    )
    weights = {n: _weight(centers[n], tolerances.get(n), bound, n) for n in outputs}
    right = {n: _rounded(centers[n], bound, n) for n in outputs}
    for name in names:
        entry = mutants().get(name)
        if entry is None or (entry.emulated and too_long):
            continue
        for arguments in given.get(name, entry.defaults):
            shown = f"({', '.join(str(a) for a in arguments)})" if arguments else ""
            for where, program in _programs(bound.program, name, arguments):
                made = _answers(bound, replace(instance, program=program), entry.emulated, known)
                rest = None if made is None else _unexplained(outputs, right, made, weights)
                if rest is not None and rest < 1.0:
                    found[f"{name}{shown}: {where}"] = rest
    return {k: round(v, 6) for k, v in sorted(found.items(), key=lambda kv: kv[1])}


_made: dict[tuple[int, str, tuple[object, ...]], tuple[Program, list[tuple[str, Program]]]] = {}


def _programs(program: Program, name: str, arguments: tuple[object, ...]) -> list[tuple[str, Program]]:
    """The mutants of a program, made once: every failing case is compared with the same ones."""
    key = (id(program), name, arguments)
    kept = _made.get(key)
    if kept is None:
        if len(_made) >= _PROGRAMS:
            _made.clear()
        kept = _made[key] = (program, list(mutants()[name].apply(program, arguments)))  # keeps the id its own
    return kept[1]


def instance_size(instance: Instance) -> int:
    out = 1
    for n in instance.dims.values():
        out *= max(n, 1)
    return out


def _terms(bound: Bound, instance: Instance) -> int:
    """The longest sum of the reference."""
    lengths = [math.prod(np.shape(instance.inputs[n])[a] for a in axes) for n, axes in bound.contracted.items()]
    return max(lengths, default=1)


def _weight(center: Array, tolerance: Array | None, bound: Bound, output: str) -> Array:
    """What one unit of error counts: one over the tolerance, and over half an ulp where there is none to spare."""
    if tolerance is None or not bound.outputs[output].is_real:
        return np.ones(np.shape(center))
    least = ulp_of(np.asarray(center, dtype=np.float64), bound.outputs[output]) / 2
    with np.errstate(all="ignore"):
        weight = 1.0 / np.maximum(tolerance, least)
    return np.where(np.isfinite(weight), weight, 0.0)


def _answers(bound: Bound, changed: Instance, emulated: bool, known: Known | None) -> Wrong | None:
    """What a mutant returns; None where it has no answer."""

    def make(changed: Instance) -> Wrong | None:
        try:
            with np.errstate(all="ignore"):
                made = emulate(changed, EmulateContext()) if emulated else evaluate(changed, FLOAT64)
        except (ArithmeticScopeError, ValueError):
            return None
        return {n: _rounded(made[n], bound, n) for n in bound.outputs}

    return make(changed) if known is None else known.wrong(changed, make)


def _rounded(value: Array, bound: Bound, output: str) -> Array:
    """As the output's format holds it."""
    numbers = np.asarray(value, dtype=np.float64)
    return round_to(numbers, bound.outputs[output]) if bound.outputs[output].is_real else numbers


def _unexplained(
    outputs: Mapping[str, Array], right: Mapping[str, Array], made: Wrong, weights: Mapping[str, Array]
) -> float | None:
    left = total = size = 0.0
    for name, y in outputs.items():
        center, m, weight = right[name], made[name], weights[name]
        if m.shape != center.shape:
            return None
        numbers = np.asarray(y, dtype=np.float64)
        scale = float(np.max(np.abs(center[np.isfinite(center)]), initial=0.0)) or 1.0
        left += _square(numbers, m, scale, weight)
        total += _square(numbers, center, scale, weight)
        size += _square(m, center, scale, weight)
    if total <= 0 or size <= _FAINT * total:
        return None
    return float(np.sqrt(left / total))


def _square(a: Array, b: Array, scale: float, weight: Array) -> float:
    """|a - b|^2 by weight; where only one of them is a number, as far apart as `scale`."""
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(np.isfinite(a) & np.isfinite(b), np.abs(a - b), np.where(same, 0.0, scale))
        return float(np.sum(np.minimum(weight * apart, 1e150) ** 2))
