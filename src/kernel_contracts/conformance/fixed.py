"""The fixed set: a handful of inputs for each contract and choice of dtypes that every platform is given alike.

They follow from the seed and the contract alone, so two machines that never met record answers to the same questions.
Beside them stand inputs outside of the contract's domain where nothing in the run says what is due (NaN, subnormal
numbers, indices out of bounds ...): platforms may differ there, and then a clause is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernel_contracts.checking import experiment_of
from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Case
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.index_policy import indexing
from kernel_contracts.measurement.injection import base, inject, parse
from kernel_contracts.measurement.oracle import work
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.special_plan import special_cases
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.numerics.rounding import round_to

COUNT = 8
"""Inputs of the fixed set, for one contract and choice of dtypes."""
WORK, INPUT, OUTPUT = 1 << 20, 1 << 14, 1 << 10
"""Operations of the reference, input elements and output elements that one of them may have."""
FIRST = 1_000_000
"""Case number of the first: apart from those that a run samples."""
OVERFLOWING = "past the range"


def fixed_cases(contract: Contract, bound: Bound, seed: int) -> list[Case]:
    """One case of each input family that the contract's class plans, of the largest size that is small to keep."""
    plan = classes()[contract.class_id].plan(contract, bound)
    planned = experiments()[plan.experiment].cases(contract, bound, plan, seed=seed)
    sized = [(c, _size(contract, bound, c)) for c in planned]
    small = [(c, n) for c, n in sized if 0 < n <= WORK] or sorted(sized, key=lambda cn: cn[1])[:1]
    best: dict[str, tuple[Case, int]] = {}
    for case, size in small:
        if case.family not in best or size > best[case.family][1]:
            best[case.family] = (case, size)
    kept = _evenly([c for c, _ in best.values()], COUNT)
    return [replace(c, id=FIRST + k) for k, c in enumerate(kept)]


def _evenly(cases: Sequence[Case], count: int) -> list[Case]:
    """At most `count` of them, both ends included."""
    if len(cases) <= count:
        return list(cases)
    return [cases[round(k * (len(cases) - 1) / (count - 1))] for k in range(count)]


def _size(contract: Contract, bound: Bound, case: Case) -> int:
    """Operations of the reference; more than `WORK` where too many numbers would have to be kept."""
    sizes = {**{k: int(v) for k, v in case.scalars.items() if isinstance(v, int)}, **case.dims}
    inputs = sum(math.prod(size_of(d, sizes) for d in t.shape) for t in contract.inputs)
    outputs = sum(math.prod(size_of(d, sizes) for d in t.shape) for t in contract.outputs)
    if not outputs:
        return 0
    if inputs > INPUT or outputs > OUTPUT:
        return WORK + inputs + outputs
    return work(Instance(bound.program, case.dims, {}, case.scalars))


def inputs_of(session: Session, case: Case) -> dict[str, Array]:
    """The inputs of a case of the fixed set. ArithmeticScopeError where there are none."""
    with np.errstate(all="ignore"):
        return dict(experiment_of(session.contract, session.bound).inputs(session, case))


# ------------------------------------------------------------------------------------- beyond what a run declares


@dataclass(frozen=True, slots=True)
class Feature:
    """Something outside of ordinary domains that platforms treat in different ways."""

    name: str
    policies: tuple[str, ...]
    """A contract that declares one of these settles it."""
    clause: str
    """What to write, and the class that judges it."""
    cases: Callable[[Contract, Bound, int], list[Case]]
    inputs: Callable[[Session, Case], dict[str, Array]]


def _special(contract: Contract, bound: Bound, seed: int, value: str) -> list[Case]:
    found = special_cases(contract, bound, seed=seed, signed_zero=False, fixed={})
    mine = [c for c in found if {i.value.lstrip("-") for i in parse(c.family)} == {value}]
    return _evenly([c for c in mine if 0 < _size(contract, bound, c) <= WORK], 6)


def _injected(session: Session, case: Case) -> dict[str, Array]:
    return inject(base(session.request(case)), parse(case.family))


def _tiny(contract: Contract, bound: Bound, seed: int) -> list[Case]:
    """Every input subnormal, then one at a time, then one at a time just above: products with small factors are."""
    names = [t.name for t in contract.inputs if bound.inputs[t.name].is_real]
    texts = ["subnormal *", *(f"{how} {n}" for n in names for how in ("subnormal", "least normal"))]
    ordinary = fixed_cases(contract, bound, seed)[:1]
    return [replace(c, family=text) for c in ordinary for text in (texts if names else ())]


def _tiny_inputs(session: Session, case: Case) -> dict[str, Array]:
    request = session.request(case)
    out = base(request)
    how, _, name = case.family.rpartition(" ")
    for t in request.reals:
        if name in ("*", t.name):
            digits = t.format.precision - 1
            signs = np.where(request.rng.random(t.shape) < 0.5, -1.0, 1.0)
            size = np.floor(2.0 ** (digits * request.rng.random(t.shape))) * t.format.least_subnormal
            if how != "subnormal":
                size = t.format.least_normal * request.rng.uniform(1.0, 2.0, t.shape)
            out[t.name] = round_to(size if t.positive else size * signs, t.format)
    return out


def _past(contract: Contract, bound: Bound, seed: int) -> list[Case]:
    """Only where an input reaches past every finite output: conversions to a narrower format."""
    reals = [f for f in bound.outputs.values() if f.is_real]
    if not reals or not any(f.is_real and f.max_finite > reals[0].max_finite for f in bound.inputs.values()):
        return []
    return [replace(c, family=OVERFLOWING) for c in fixed_cases(contract, bound, seed)[:1]]


def _past_inputs(session: Session, case: Case) -> dict[str, Array]:
    request = session.request(case)
    out = {t.name: x for t, x in zip(request.tensors, base(request).values(), strict=True)}
    for t in request.reals:
        top = request.output_top
        if t.format.max_finite > top:
            signs = np.where(request.rng.random(t.shape) < 0.5, -1.0, 1.0)
            out[t.name] = round_to(signs * top * request.rng.uniform(0.5, 8.0, t.shape), t.format)
    return out


def _indices(contract: Contract, bound: Bound, seed: int) -> list[Case]:
    where = indexing(contract, bound)
    if where is None or where.dim not in contract.dims:
        return []
    plan = replace(classes()["C-EXC-02"].plan(contract, bound), experiment="indices")
    return _evenly(experiments()["indices"].cases(contract, bound, plan, seed=seed), 12)


FEATURES: Mapping[str, Feature] = {
    f.name: f
    for f in (
        Feature("nan", ("nan",), "policy nan = ... (C-EXC-01)", lambda c, b, s: _special(c, b, s, "nan"), _injected),
        Feature("inf", ("inf",), "policy inf = ... (C-EXC-01)", lambda c, b, s: _special(c, b, s, "inf"), _injected),
        Feature(
            "subnormal", ("subnormal_input", "subnormal_result"),
            "policy subnormal_input = ... and policy subnormal_result = ... (C-PRC-03)", _tiny,
            _tiny_inputs,
        ),
        Feature("overflow", ("overflow",), "policy overflow = ...", _past, _past_inputs),
        Feature(
            "index", ("out_of_bounds", "out_of_bounds_read", "out_of_bounds_write"),
            "policy out_of_bounds = ... (C-EXC-02)", _indices,
            lambda s, c: dict(experiments()["indices"].inputs(s, c)),
        ),
    )
}  # fmt: skip
"""What is looked at where no contract of the run on the same operation and formats settles it."""


def beyond(contracts: Iterable[Contract]) -> dict[tuple[str, str], tuple[str, ...]]:
    """For each contract and dtype label, the features to look at there; each operation and choice of formats once."""
    declared: dict[tuple[str, ...], set[str]] = {}
    first: dict[tuple[str, ...], tuple[str, str]] = {}
    for contract in sorted(contracts, key=lambda c: (c.ranks is not None, bool(c.refusals), len(c.scalars), c.name)):
        for bound in contract.bound:
            key = _formats(contract, bound)
            declared.setdefault(key, set()).update(contract.policies)
            first.setdefault(key, (contract.name, bound.label))
    out: dict[tuple[str, str], tuple[str, ...]] = {}
    for key, place in first.items():
        missing = tuple(f.name for f in FEATURES.values() if not declared[key] & set(f.policies))
        if missing:
            out[place] = missing
    return out


def _formats(contract: Contract, bound: Bound) -> tuple[str, ...]:
    held = (*bound.inputs.values(), *bound.outputs.values())
    return (contract.operation, *(f.name for f in held))


def feature_cases(feature: str, contract: Contract, bound: Bound, seed: int) -> list[Case]:
    """The inputs that show how a platform treats the feature; none where they cannot be made."""
    if contract.ranks:
        return []
    try:
        found = FEATURES[feature].cases(contract, bound, seed)
    except ArithmeticScopeError:
        return []
    return [replace(c, id=FIRST + k) for k, c in enumerate(found)]
