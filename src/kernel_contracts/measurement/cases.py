"""From a class's plan to concrete cases: shapes, inputs, layouts, parameters and seeds, all reproducible."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernel_contracts.classes.base import Plan
from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem, Range
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.measurement.oracle import work
from kernel_contracts.measurement.shapes import Candidate, DimRange, candidate_shapes
from kernel_contracts.numerics.interpret import Instance

#: Product of all sizes that one case may reach unless the caller asks for more.
BUDGET = 1 << 22
#: Operations of the reference that one case may take: the product of sizes says little about S x S scores.
COST = 1 << 25
_LARGEST = 1 << 24
_SWEEP = ("sweep",)


def plan_cases(
    contract: Contract,
    bound: Bound,
    plan: Plan,
    *,
    seed: int,
    samples: int | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> list[Case]:
    """The cases of one contract and dtype choice, in an order that meets every shape and every input early."""
    count = samples or plan.samples
    rng = np.random.default_rng([seed, zlib.crc32(f"{contract.key} {bound.label}".encode())])
    shapes = _shapes(contract, bound, plan, rng)
    if not shapes:
        return []
    if len(shapes) > 2 * count:
        swept = sum(s.families == _SWEEP for s in shapes)  # they come first and are what the author asked for by name
        kept = min(swept, 2 * count)
        drawn = rng.choice(len(shapes) - kept, 2 * count - kept, replace=False)
        shapes = shapes[:kept] + [shapes[kept + i] for i in sorted(drawn)]
    total = max(count, min(len(shapes), 2 * count), len(plan.inputs))
    order = rng.permutation(len(shapes))
    cases: list[Case] = []
    for k in range(total):
        candidate = shapes[order[k % len(shapes)]]
        item = plan.inputs[input_at(k, len(shapes), len(plan.inputs))]
        layout = plan.layouts[0] if k % 2 == 0 else plan.layouts[(k // 2) % len(plan.layouts)]
        scalars = _scalars(contract, candidate.dims, rng, plan.vary_scalars and k % 3 != 0, fixed or {})
        case_seed = int(rng.integers(0, 2**63 - 1))
        if scalars is None:
            continue
        cases.append(
            Case(
                k,
                str(item),
                dict(bound.dtypes),
                dict(candidate.dims),
                scalars,
                Layout(layout),
                case_seed,
                candidate.family,
            )
        )
    return cases


def input_at(k: int, shapes: int, inputs: int) -> int:
    """Which input family case `k` gets, where shape `k % shapes` is used: every one comes up, and the pairs change.

    One family further after each round of the shapes leaves out the last of every `shapes + 1`: where their number
    divides that of the families it would always be the same ones, so the step waits until the pairs would repeat.
    """
    rounds = k // (math.lcm(shapes, inputs) if inputs % (shapes + 1) == 0 else shapes)
    return (k + rounds) % inputs


def _shapes(contract: Contract, bound: Bound, plan: Plan, rng: np.random.Generator) -> list[Candidate]:
    ranges = {d: _dim_range(r) for d, r in contract.pre.ranges.items()}
    if not ranges:
        return [Candidate({}, ("rank 0",))]
    items = [(i.name, tuple(_plain(a) for a in i.arguments)) for i in plan.shapes]
    largest = max((int(_plain(i.arguments[0])) for i in plan.shapes if i.name == "large" and i.arguments), default=0)
    found = candidate_shapes(items, ranges, rng, max(BUDGET, min(4 * largest, _LARGEST)))
    defaults = contract.defaults()
    found = [c for c in found if _meets(contract, c.dims, defaults)]
    cost = {id(c): _cost(contract, bound, c.dims) for c in found}
    affordable = [c for c in found if cost[id(c)] <= COST]
    for name, values in plan.sweeps:
        base = (affordable or found)[: max(len(values), 1)]
        base = base or [Candidate({d: r.least for d, r in ranges.items()}, ("least",))]
        small = min(base, key=lambda c: math.prod(c.dims.values()))
        swept = [Candidate({**small.dims, name: v}, _SWEEP) for v in values]
        swept = [c for c in swept if _meets(contract, c.dims, defaults)]
        cost |= {id(c): _cost(contract, bound, c.dims) for c in swept}
        found = swept + found
    cheap = [c for c in found if cost[id(c)] <= COST]
    return cheap or sorted(found, key=lambda c: cost[id(c)])[:4]


def _cost(contract: Contract, bound: Bound, dims: Mapping[str, int]) -> int:
    """Operations of the reference at these sizes; sizes that depend on a parameter without default count as 1."""
    scalars = {s.name: s.default if s.default is not None else 1 for s in contract.scalars}
    return work(Instance(bound.program, dims, {}, scalars))


def _meets(contract: Contract, dims: Mapping[str, int], scalars: Mapping[str, Any]) -> bool:
    known = {**{s.name: 1 for s in contract.scalars if s.default is None}, **scalars}
    return holds(contract.pre, dict(dims), known)


def _plain(argument: float | tuple[float, float]) -> float:
    return float(argument[0]) if isinstance(argument, tuple) else float(argument)


def _dim_range(r: Range) -> DimRange:
    return DimRange(int(r.low), int(r.high), tuple(int(c) for c in r.choices) if r.choices is not None else None)


def _scalars(
    contract: Contract, dims: Mapping[str, int], rng: np.random.Generator, vary: bool, fixed: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Parameters for one case: defaults, or values drawn within the precondition. None when none can be found."""
    for attempt in range(8):
        out: dict[str, Any] = {}
        for s in contract.scalars:
            if s.name in fixed:
                out[s.name] = fixed[s.name]
            elif s.type in ("real", "int", "bool"):
                draw = vary and attempt < 7
                out[s.name] = _draw(s.type, s.default, contract.pre.scalars.get(s.name), rng, draw or s.default is None)
        if holds(contract.pre, dict(dims), out):
            return out
    return None


def _draw(kind: str, default: Any, allowed: Range | None, rng: np.random.Generator, vary: bool) -> Any:
    if not vary:
        return default
    if kind == "bool":
        return bool(rng.integers(0, 2))
    if allowed is not None and allowed.choices is not None:
        picked = allowed.choices[int(rng.integers(0, len(allowed.choices)))]
        return int(picked) if kind == "int" else float(picked)
    if kind == "int":
        return default if allowed is None else int(rng.integers(int(allowed.low), int(allowed.high) + 1))
    return _draw_real(default, allowed, rng)


def _draw_real(default: float | None, allowed: Range | None, rng: np.random.Generator) -> float:
    low, high = (allowed.low, allowed.high) if allowed is not None else (-math.inf, math.inf)
    if math.isfinite(low) and math.isfinite(high):
        if low > 0:
            return float(math.exp(rng.uniform(math.log(low), math.log(high))))
        return float(rng.uniform(low, high))
    return float((default if default else 1.0) * 10.0 ** rng.uniform(-2, 2))


def item_of(case: Case) -> MeasureItem:
    """The input family of a case, read back from its text."""
    name, _, rest = case.family.partition("(")
    arguments: list[float | tuple[float, float]] = []
    for part in rest.rstrip(")").split(",") if rest else []:
        low, dots, high = part.strip().partition("..")
        arguments.append((float(low), float(high)) if dots else float(low))
    return MeasureItem(name, tuple(arguments))
