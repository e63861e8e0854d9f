"""Which known fault explains a failure: the contract's mutants run on the failing input, compared with what came back.

A mutant explains a candidate when the candidate's error is the mutant's: |y - m| is small beside |y - y*|. That is a
diagnosis, never a verdict; the verdict came from the bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from kernel_contracts.contracts.model import Bound
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, emulate, evaluate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.program import Program
from kernel_contracts.numerics.rounding import round_to

#: Emulating a narrow accumulator costs one vector operation a term; larger cases are left undiagnosed.
EMULATE_LIMIT = 1 << 20
#: A mutant whose own error is this small beside the candidate's cannot be told from none.
_FAINT = 1e-12


def explain(
    bound: Bound, instance: Instance, outputs: Mapping[str, Array], centers: Mapping[str, Array], names: Iterable[str]
) -> dict[str, float]:
    """For each mutant (with its arguments and place) the share of the candidate's error that it leaves unexplained."""
    found: dict[str, float] = {}
    for name in names:
        entry = mutants().get(name)
        if entry is None or (entry.emulated and instance_size(instance) > EMULATE_LIMIT):
            continue
        for arguments in entry.defaults:
            shown = f"({', '.join(str(a) for a in arguments)})" if arguments else ""
            for where, program in entry.apply(bound.program, arguments):
                rest = _unexplained(bound, instance, outputs, centers, program, entry.emulated)
                if rest is not None and rest < 1.0:
                    found[f"{name}{shown}: {where}"] = rest
    return {k: round(v, 6) for k, v in sorted(found.items(), key=lambda kv: kv[1])}


def instance_size(instance: Instance) -> int:
    out = 1
    for n in instance.dims.values():
        out *= max(n, 1)
    return out


def _unexplained(
    bound: Bound,
    instance: Instance,
    outputs: Mapping[str, Array],
    centers: Mapping[str, Array],
    program: Program,
    emulated: bool,
) -> float | None:
    changed = replace(instance, program=program)
    try:
        with np.errstate(all="ignore"):
            made = emulate(changed, EmulateContext()) if emulated else evaluate(changed, FLOAT64)
    except (ArithmeticScopeError, ValueError):
        return None
    left = total = size = 0.0
    for name, y in outputs.items():
        center = np.asarray(centers[name], dtype=np.float64)
        m = np.asarray(made[name], dtype=np.float64)
        if m.shape != center.shape:
            return None
        if bound.outputs[name].is_real:
            m, center = round_to(m, bound.outputs[name]), round_to(center, bound.outputs[name])
        numbers = np.asarray(y, dtype=np.float64)
        scale = float(np.max(np.abs(center[np.isfinite(center)]), initial=0.0)) or 1.0
        left += _square(numbers, m, scale)
        total += _square(numbers, center, scale)
        size += _square(m, center, scale)
    if total <= 0 or size <= _FAINT * total:
        return None
    return float(np.sqrt(left / total))


def _square(a: Array, b: Array, scale: float) -> float:
    """|a - b|^2; where only one of them is a number, as far apart as `scale`."""
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(np.isfinite(a) & np.isfinite(b), np.abs(a - b), np.where(same, 0.0, scale))
        return float(np.sum(np.minimum(apart, 1e150) ** 2))
