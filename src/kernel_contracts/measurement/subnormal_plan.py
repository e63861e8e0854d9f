"""Which small numbers are put where, at which lengths and in which layouts: vector body and tail, small and large.

A family is kept where it puts something at stake: reading its subnormal inputs as zero changes the reference's answer,
or the answer itself is subnormal. Nothing here depends on the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.classes.base import Plan
from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.inputs.base import Request
from kernel_contracts.measurement.lanes import at_length
from kernel_contracts.measurement.lanes import lane as lane_of
from kernel_contracts.measurement.moves import is_move
from kernel_contracts.measurement.requests import tensor_spec
from kernel_contracts.measurement.subnormal_inputs import BITS, ENDS, LEAST_IN_ALL, levels, make, written
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.operators import adds_up, operator
from kernel_contracts.numerics.rounding import round_to

#: One more than a vector, a vector and its half, one element, just past usual tiles.
_LENGTHS = (17, 1, 8, 16, 33, 129)
#: Lengths that are measured in every layout.
_EVERY_LAYOUT = (33, 129)
#: Past the size from which elementwise kernels use several threads (32768 in PyTorch); less where a row costs more.
LARGE, LARGE_COSTLY = 65539, 8209
#: So many families are measured on large arrays too.
_FEW = 3
_FACTORS = (1.0, 0.25, 1024.0)
_ELEMENTARY = frozenset({"exp", "log", "log1p", "expm1", "tanh", "erf", "erfc", "sigmoid", "pow"})


def subnormal_cases(contract: Contract, bound: Bound, plan: Plan, *, seed: int, fixed: Mapping[str, Any]) -> list[Case]:
    """Every case of one contract; the same for every kernel. The inputs that the contract lists come first."""
    rng = np.random.default_rng([seed, 37])
    scalars = {s.name: s.default if s.default is not None else 1 for s in contract.scalars} | dict(fixed)
    lane = lane_of(contract, bound)
    sizes: dict[int, dict[str, int]] = {}
    for length in (*_LENGTHS, large(bound)):
        dims = at_length(contract, lane, length)
        if holds(contract.pre, dict(dims), scalars) and dims not in sizes.values():
            sizes[length] = dims
    if not sizes:
        return []
    everywhere = list(_at_stake(contract, bound, at_length(contract, lane, _LENGTHS[0]), scalars, fixed))
    few = everywhere[:: max(len(everywhere) // _FEW, 1)]
    wanted: list[tuple[dict[str, int], dict[str, Any], str, Layout]] = []
    for length, dims in sizes.items():
        if length == _LENGTHS[0]:
            wanted += [(dims, dict(scalars), str(item), Layout.CONTIGUOUS) for item in plan.inputs]
        is_large = length > max(_LENGTHS)
        layouts = (Layout.CONTIGUOUS, Layout.STRIDED) if is_large else (Layout.CONTIGUOUS,)
        for chosen, family in few if is_large else everywhere:
            wanted += [(dims, chosen, family, at) for at in (tuple(Layout) if length in _EVERY_LAYOUT else layouts)]
    return [
        Case(k, family, dict(bound.dtypes), dims, chosen, layout, int(rng.integers(0, 2**63 - 1)), f"lane {lane}")
        for k, (dims, chosen, family, layout) in enumerate(wanted)
    ]


def large(bound: Bound) -> int:
    """The length of the large cases."""
    costly = any(n.op in _ELEMENTARY for n in bound.program.nodes) or bound.products
    return LARGE_COSTLY if costly else LARGE


def adds(bound: Bound) -> bool:
    return any(adds_up(n.op) for n in bound.program.nodes)


def stages(bound: Bound) -> int:
    """Operations that round one after another; a sum counts as several."""
    program = bound.program
    carries: list[bool] = []
    count = 0
    for node in program.nodes:
        real = node.type.kind == "real"
        carries.append(real and (node.op == "input" or any(carries[a] for a in node.args)))
        if carries[-1] and node.args and operator(node.op).computes:
            count += 2 if adds_up(node.op) else 1
    return count


def _at_stake(
    contract: Contract, bound: Bound, dims: Mapping[str, int], scalars: Mapping[str, Any], fixed: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Families with the parameters to measure them with."""
    if is_move(bound.program, bound.outputs):
        yield dict(scalars), BITS
        return
    for chosen in _parameters(contract, dims, scalars, fixed):
        for family in _families(contract, bound):
            if _matters(contract, bound, dims, chosen, family):
                yield chosen, family


def _families(contract: Contract, bound: Bound) -> Iterator[str]:
    reals = [t.name for t in contract.inputs if bound.inputs[t.name].is_real]
    if any(n.op in _ELEMENTARY for n in bound.program.nodes):
        yield ENDS
    for name in reals:
        level = levels(bound.inputs[name])
        if any(f.least_normal > bound.inputs[name].least_normal for f in bound.outputs.values() if f.is_real):
            yield written("beneath", name, level["one"])
        if len(reals) == 1:
            power = _power(contract, bound, name)
            if power is not None:
                yield written(f"2^{power} in", name, level["one"])
            yield written("subnormal", name, level["one"])
            yield written("least", name, level["one"])
            continue
        for beside in ("one", "zero", "more", "less", "least", "subnormal"):
            yield written("subnormal", name, level[beside])
        yield written("least", name, level["less"])
        yield written("least", name, level["one"])
    if len(reals) > 1:
        yield LEAST_IN_ALL


def _power(contract: Contract, bound: Bound, name: str) -> int | None:
    """The power of two, above the least normal number, whose answers are subnormal: 2^-63 where x is squared."""
    fmt = bound.inputs[name]
    top = math.frexp(fmt.max_finite)[1] - 1
    if any(n.op in _ELEMENTARY for n in bound.program.nodes):
        return None
    dims = at_length(contract, lane_of(contract, bound), 1)
    scalars = {s.name: s.default if s.default is not None else 1 for s in contract.scalars}
    hits = []
    for power in range(fmt.emin + 1, top, max(fmt.precision // 3, 1)):
        family = written(f"2^{power} in", name, "2^0")
        if _matters(contract, bound, dims, scalars, family, results=True):
            hits.append(power)
    return hits[len(hits) // 2] if hits else None


def _parameters(
    contract: Contract, dims: Mapping[str, int], scalars: Mapping[str, Any], fixed: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The parameters as they are, and real ones as powers of two, which scale without rounding."""
    free = [s.name for s in contract.scalars if s.type == "real" and s.name not in fixed]
    found = [dict(scalars)]
    for name in free:
        made = [{**scalars, name: factor} for factor in _FACTORS]
        found = [m for m in made if holds(contract.pre, dict(dims), m)] or found
    return found


def _matters(
    contract: Contract,
    bound: Bound,
    dims: Mapping[str, int],
    scalars: Mapping[str, Any],
    family: str,
    *,
    results: bool = False,
) -> bool:
    """Whether an answer depends on how subnormal numbers are treated; with `results`, whether one is subnormal."""
    request = request_of(contract, bound, dims, scalars, 7)
    with np.errstate(all="ignore"):
        try:
            inputs = make(request, family)
            instance = Instance(bound.program, dims, inputs, scalars)
            usual = evaluate(instance, FLOAT64)
            other = evaluate(replace(instance, inputs=zeroed(bound, inputs)), FLOAT64)
        except ArithmeticScopeError:
            return False
        for name, fmt in bound.outputs.items():
            if not fmt.is_real:
                continue
            y, z = round_to(usual[name], fmt), round_to(other[name], fmt)
            small = (y != 0) & (np.abs(y) < fmt.least_normal)
            if bool(small.any()) or not (results or np.array_equal(y, z, equal_nan=True)):
                return True
    return not results and adds(bound) and family.startswith("least")


def zeroed(bound: Bound, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs as they count where subnormal ones are read as zero."""
    out = dict(inputs)
    for name, fmt in bound.inputs.items():
        if fmt.is_real:
            x = np.asarray(inputs[name], dtype=np.float64)
            out[name] = np.where(np.abs(x) < fmt.least_normal, np.copysign(0.0, x), x)
    return out


def request_of(
    contract: Contract, bound: Bound, dims: Mapping[str, int], scalars: Mapping[str, Any], seed: int
) -> Request:
    """What an input is made from, without a session."""
    sizes = {**{k: v for k, v in scalars.items() if isinstance(v, int)}, **dims}
    tensors = tuple(
        tensor_spec(t.name, bound, tuple(size_of(d, sizes) for d in t.shape), contract.pre.facts, sizes)
        for t in contract.inputs
    )
    real = [f for f in bound.outputs.values() if f.is_real]
    output = min(real, key=lambda f: f.precision) if real else bound.accumulator
    return Request(tensors, bound.accumulator, bound.products, output, np.random.default_rng(seed))
