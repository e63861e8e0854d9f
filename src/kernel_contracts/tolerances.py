"""The derived tolerance as numbers, for given inputs or for a shape, without a kernel anywhere near.

`tolerance("matmul", a, b)` gives one absolute tolerance an element; `describe_tolerance("matmul", "bf16",
"4096x4096x4096")` says where it comes from and what the usual tolerances would hide or wrongly flag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.answers.admission import Ruling
from kernel_contracts.answers.arguments import Call, find_contracts, read_calls, whole_numbers
from kernel_contracts.answers.domain import check_domain
from kernel_contracts.answers.formulas import symbols, terms
from kernel_contracts.assertions import DEFAULTS, AssertOptions
from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.formats import FORMATS
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.oracle import work
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.rounding import from_storage, round_to, to_storage
from kernel_contracts.oracles import ladder
from kernel_contracts.report.tolerance import OutputTolerance, ToleranceRecord, UsualReading

__all__ = ["describe_tolerance", "tolerance"]

#: rtol and atol that torch.testing.assert_close takes where nothing is said (PyTorch 2.13).
USUAL = {"fp64": (1e-7, 1e-7), "fp32": (1.3e-6, 1e-5), "fp16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5)}
#: Conforming executions that are emulated, and how many operations one of them may have.
EXECUTIONS, EMULATED = 3, 1 << 22
#: Sizes that no sum runs over are cut to this, or to so many where the output has one of them only.
_ROWS, _ELEMENTS = 64, 4096
#: Operators under which |f(x)| grows with |x|, so that the program on magnitudes is the sum of magnitudes.
_SUMS = {"matmul", "affine", "einsum", "sum", "mean", "cumsum"}
_PLAIN = {"add", "mul", "round", "cast", "at_least", "transpose", "reshape", "expand", "broadcast"}


def tolerance(
    contract: str | Contract, /, *inputs: Any, options: AssertOptions = DEFAULTS, **params: Any
) -> Array | tuple[Array, ...]:
    """The absolute tolerance of each output element as float64: infinite where every answer is admitted.

    Takes what `assert_conforms` takes. An array, or a tuple of arrays where the contract has several outputs; the
    tightest where several contracts compare values. Raises UsageError when the arguments cannot be judged.
    """
    found: list[Array] | None = None
    for call in read_calls(contract, inputs, params, options.classes):
        admitted = Ruling(call).admissions()
        radii = [_tightest(admitted[name], shape) for name, shape, _ in call.expected()]
        found = radii if found is None else [np.minimum(a, b) for a, b in zip(found, radii, strict=True)]
    assert found is not None
    return found[0] if len(found) == 1 else tuple(found)


def _tightest(acceptances: Sequence[Acceptance], shape: tuple[int, ...]) -> Array:
    out = np.full(shape, np.inf)
    for a in acceptances:
        out = np.minimum(out, np.where(a.free, np.inf, a.tolerance))
    return out


# ----------------------------------------------------------------------------------------------------- a description


def describe_tolerance(
    operation: str | Contract, dtype: str, shape: str | Mapping[str, int], *, seed: int = 0,
    params: Mapping[str, Any] | None = None, classes: Sequence[str] | None = None,
) -> ToleranceRecord:  # fmt: skip
    """Where the tolerance of an operation comes from at these sizes, and what usual tolerances would hide or flag.

    `shape` is `4096x4096x4096` in the order of the contract's sizes, or a mapping. Inputs are standard normal, drawn
    from `seed`. Raises UsageError when no contract covers the dtype or the sizes.
    """
    contract, bound, dims, scalars = _subject(operation, dtype, shape, dict(params or {}), classes)
    sampled = _cut(contract, bound, dims)
    call = _drawn(contract, bound, sampled, scalars, seed)
    small = _cut_for_emulation(contract, bound, sampled, scalars)
    found = terms(bound.program, bound.context, {**whole_numbers(scalars), **dims})
    return ToleranceRecord(
        contract.name, contract.version, contract.class_id, contract.operation, dict(bound.dtypes), dims, sampled,
        EXECUTIONS, small, symbols(found), found,
        tuple(_outputs(call, _drawn(contract, bound, small, scalars, seed), seed)), seed,
    )  # fmt: skip


def _subject(
    operation: str | Contract,
    dtype: str,
    shape: str | Mapping[str, int],
    params: dict[str, Any],
    classes: Sequence[str] | None,
) -> tuple[Contract, Bound, dict[str, int], dict[str, Any]]:
    """The first contract that covers the dtype and the sizes."""
    if dtype not in FORMATS:
        raise UsageError(f"there is no number format {dtype}; {did_you_mean(dtype, FORMATS) or 'see kc list formats'}")
    refused: list[UsageError] = []
    for contract in find_contracts(operation, classes):
        try:
            bound = _bound(contract, dtype)
            scalars = {**contract.defaults(), **params}
            dims = _sizes(contract, shape)
            unknown = set(params) - {s.name for s in contract.scalars}
            missing = {s.name for s in contract.scalars if s.type in ("real", "int", "bool")} - set(scalars)
            if unknown or missing:
                word = "has no" if unknown else "needs the"
                raise UsageError(f"{contract.operation} {word} parameter {min(unknown or missing)}")
            check_domain(contract, dims, scalars, {})
            return contract, bound, dims, scalars
        except UsageError as error:
            refused.append(error)
    raise refused[0]


def _bound(contract: Contract, dtype: str) -> Bound:
    fitting = [b for b in contract.bound if dtype in b.dtypes.values()]
    if not contract.variables:
        fitting = [b for b in contract.bound if dtype in {f.name for f in (*b.inputs.values(), *b.outputs.values())}]
    if not fitting:
        offered = sorted({f.name for b in contract.bound for f in (*b.inputs.values(), *b.outputs.values())})
        raise UsageError(f"{contract.name} does not cover {dtype}; it covers {', '.join(offered)}")
    return max(fitting, key=lambda b: sum(d == dtype for d in b.dtypes.values()))


def _sizes(contract: Contract, shape: str | Mapping[str, int]) -> dict[str, int]:
    wanted = ", ".join(contract.dims)
    if isinstance(shape, str):
        parts = [p.strip() for p in shape.replace("*", "x").split("x")] if shape.strip() else []
        if not all(p.isdigit() for p in parts) or len(parts) != len(contract.dims):
            example = "x".join(["128"] * len(contract.dims))
            raise UsageError(
                f"the shape {shape!r} does not give {wanted} of {contract.operation}; write as in {example}"
            )
        return dict(zip(contract.dims, map(int, parts), strict=True))
    if set(shape) != set(contract.dims):
        raise UsageError(
            f"the shape gives {', '.join(shape) or 'nothing'}; {contract.operation} has the sizes {wanted}"
        )
    return {d: int(shape[d]) for d in contract.dims}


# ------------------------------------------------------------------------------------------------------ the evidence


def _independent(contract: Contract, bound: Bound) -> list[str]:
    """Sizes of the outputs that no sum runs over: each element's tolerance is the same when they are cut."""
    summed = {str(t.shape[a]) for t in contract.inputs for a in bound.contracted.get(t.name, ())}
    return [d for d in contract.dims if d not in summed and any(d in t.shape for t in contract.outputs)]


def _cut(contract: Contract, bound: Bound, dims: Mapping[str, int], rows: int = _ROWS) -> dict[str, int]:
    free = _independent(contract, bound)
    alone = len(free) == 1 and all(t.shape == (free[0],) for t in contract.outputs)
    cuttable = [d for d in free if d not in contract.pre.ranges or contract.pre.ranges[d].choices is None]
    most = _ELEMENTS if alone and rows == _ROWS else rows
    return {d: min(n, most) if d in cuttable else n for d, n in dims.items()}


def _cut_for_emulation(
    contract: Contract, bound: Bound, dims: Mapping[str, int], scalars: Mapping[str, Any]
) -> dict[str, int]:
    out, rows = dict(dims), _ROWS
    while rows > 1 and work(Instance(bound.program, out, {}, scalars)) > EMULATED:
        rows //= 2
        out = _cut(contract, bound, dims, rows)
    return out


def _drawn(contract: Contract, bound: Bound, dims: Mapping[str, int], scalars: Mapping[str, Any], seed: int) -> Call:
    """A call with standard normal inputs."""
    case = Case(0, "normal", dict(bound.dtypes), dict(dims), dict(scalars), Layout.CONTIGUOUS, seed)
    session = Session(contract, bound, Emulated(contract, bound), ladder())
    try:
        inputs = session.inputs(case)
    except ArithmeticScopeError as error:
        raise UsageError(f"{contract.name}: {error}") from None
    return Call(contract, bound, dict(dims), dict(scalars), inputs)


def _outputs(call: Call, small: Call, seed: int) -> Iterator[OutputTolerance]:
    ruling, emulated = Ruling(call), Ruling(small)
    magnitudes = _magnitudes(call)
    runs = _executions(small, seed)
    honest, admissions = emulated.admissions(), ruling.admissions()
    for name, _, fmt in call.expected():
        admitted = admissions[name]
        if not admitted:
            continue
        a = admitted[0]
        radius = np.where(a.free, np.inf, a.tolerance)
        center = np.asarray(a.center, dtype=np.float64)
        known = np.isfinite(radius) & np.isfinite(center)
        shown = radius[known] if known.any() else np.zeros(1)
        size = np.sqrt(np.mean(center[known] ** 2)) if known.any() else 0.0
        typical = float(np.median(shown))
        relative = None
        if magnitudes is not None and known.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = float(np.nanmedian(radius[known] / magnitudes[name][known]))
        seen = [run[name] for run in runs]
        usual = tuple(_usual(rule, a, known, honest[name][0], seen) for rule in _rules(fmt.name))
        yield OutputTolerance(
            name, fmt.name, int(radius.size), float(shown.min()), typical, float(shown.max()), float(size), relative,
            max((float(honest[name][0].ratios(y).max(initial=0.0)) for y in seen), default=0.0),
            float(np.mean(a.free)) if radius.size else 0.0, float(np.mean(a.exact)) if radius.size else 0.0, usual,
        )  # fmt: skip


def _magnitudes(call: Call) -> dict[str, Array] | None:
    """The reference on |inputs|, where that is the sum of magnitudes."""
    program = call.bound.program
    used = {n.op for n in program.nodes if n.args}
    if not used <= _SUMS | _PLAIN or not used & _SUMS:
        return None
    inputs = {n: np.abs(x) for n, x in call.inputs.items()}
    made = evaluate(replace(call.instance, program=program, inputs=inputs))
    return {n: np.asarray(y, dtype=np.float64) for n, y in made.items()}


def _executions(call: Call, seed: int) -> list[dict[str, Array]]:
    """Outputs of a few conforming executions, in orders drawn from the seed."""
    kernel = Emulated(call.contract, call.bound, seed=seed)
    arrays = [ArrayIn(n, to_storage(x, call.bound.inputs[n])) for n, x in call.inputs.items()]
    runs = []
    for _ in range(EXECUTIONS):
        result = kernel.call(arrays, call.scalars)
        runs.append({t.name: from_storage(y) for t, y in zip(call.contract.outputs, result.outputs, strict=True)})
    return runs


def _rules(fmt: str) -> list[tuple[str, float, float]]:
    found = [(f"rtol {t:g}, atol {t:g}", t, t) for t in (1e-2, 1e-3)]
    if fmt in USUAL:
        rtol, atol = USUAL[fmt]
        found.insert(0, (f"assert_close for {fmt} (rtol {rtol:g}, atol {atol:g})", rtol, atol))
    return found


def _usual(
    rule: tuple[str, float, float], a: Acceptance, known: Array, small: Acceptance, runs: Sequence[Array]
) -> UsualReading:
    """What |y - y*| <= atol + rtol |y*| lets pass and flags, with the correctly rounded answer as y*."""
    name, rtol, atol = rule
    center = np.asarray(a.center, dtype=np.float64)[known]
    radius = np.asarray(a.tolerance, dtype=np.float64)[known]
    allowed = atol + rtol * np.abs(center)
    with np.errstate(divide="ignore"):
        hides = np.where(radius > 0, allowed / np.where(radius > 0, radius, 1.0), np.inf)
    due = np.asarray(small.center, dtype=np.float64)
    due = round_to(due, small.format) if small.format.is_real else due
    with np.errstate(invalid="ignore"):
        wrong = [np.mean(~(np.abs(y - due) <= atol + rtol * np.abs(due)) & ~small.free) for y in runs if y.size]
    zeros = float(np.mean(np.abs(center) <= allowed)) if center.size else 0.0
    return UsualReading(
        name, rtol, atol, float(np.median(hides)) if hides.size else 0.0, float(hides.max(initial=0.0)),
        float(np.mean(wrong)) if wrong else 0.0, zeros,
    )  # fmt: skip
