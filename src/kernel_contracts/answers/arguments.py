"""From what a user passes to checked calls: the contracts that apply, for these dtypes, sizes and parameters.

Requirement: contracts are elaborated once a process, and a call that leaves the contract's domain never reaches a
verdict: it is a UsageError that names the input, the index and the condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from kernel_contracts.answers.arrays import Given, read_array
from kernel_contracts.answers.domain import check_domain
from kernel_contracts.checking import contracts_for, experiment_of
from kernel_contracts.contracts.model import Bound, Contract, ScalarDecl
from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.formats import Format
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.measurement.emulated import dims_of
from kernel_contracts.measurement.experiments.values import Values
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.dims import shape_text
from kernel_contracts.numerics.interpret import Instance


@dataclass(frozen=True, slots=True)
class Call:
    """One contract at one choice of dtypes, with arrays that meet its precondition."""

    contract: Contract
    bound: Bound
    dims: Mapping[str, int]
    scalars: Mapping[str, Any]
    inputs: Mapping[str, Array]
    same: tuple[Contract, ...] = ()
    """Further contracts that admit exactly the same answers here."""

    @property
    def instance(self) -> Instance:
        return Instance(self.bound.judged, self.dims, self.inputs, self.scalars)

    @property
    def contracts(self) -> tuple[Contract, ...]:
        return (self.contract, *self.same)

    def expected(self) -> list[tuple[str, tuple[int, ...], Format]]:
        """Name, shape and format of each output."""
        sizes = {**whole_numbers(self.scalars), **self.dims}
        return [
            (t.name, tuple(size_of(d, sizes) for d in t.shape), self.bound.outputs[t.name])
            for t in self.contract.outputs
        ]


def whole_numbers(scalars: Mapping[str, Any]) -> dict[str, int]:
    """The parameters that sizes may be made of."""
    return {k: int(v) for k, v in scalars.items() if isinstance(v, int)}


def find_contracts(contract: str | Contract, classes: Sequence[str] | None = None) -> tuple[Contract, ...]:
    """The contracts that compare values: of an operation, of FILE[:NAME], or the one given. Elaborated once."""
    if isinstance(contract, Contract):
        found: tuple[Contract, ...] = (contract,)
    elif not isinstance(contract, str):
        kind = type(contract).__name__
        raise UsageError(f"a contract is an operation's name, FILE[:NAME] or a Contract, not a {kind}")
    elif contract.endswith(".kc") or ".kc:" in contract:
        path = contract if Path(contract).exists() else contract.rpartition(":")[0]
        found = _from_file(contract, Path(path).stat().st_mtime_ns if Path(path).exists() else 0, _key(classes))
    else:
        found = _from_library(contract, _key(classes))
    comparing = tuple(c for c in found if c.bound[0].claims)
    if not comparing:
        names = ", ".join(c.name for c in found)
        raise UsageError(f"{names}: no guarantee here compares values with a reference, so there is nothing to assert")
    # policies on NaN, bad indices or repetition want calls of their own; one answer is asked about them where there is
    # nothing else to ask
    usual = tuple(c for c in comparing if isinstance(experiment_of(c, c.bound[0]), Values))
    return usual if usual and not classes else comparing


def _key(classes: Sequence[str] | None) -> tuple[str, ...] | None:
    return tuple(classes) if classes else None


@cache
def _from_library(operation: str, classes: tuple[str, ...] | None) -> tuple[Contract, ...]:
    return contracts_for(operation, None, classes)


@cache
def _from_file(contract: str, stamp: int, classes: tuple[str, ...] | None) -> tuple[Contract, ...]:
    return contracts_for(None, contract, classes)


def read_calls(
    contract: str | Contract, inputs: Sequence[Any], params: Mapping[str, Any], classes: Sequence[str] | None = None,
    outputs: Sequence[Given] = (),
) -> tuple[Call, ...]:  # fmt: skip
    """A call for each contract that covers these arguments, those that admit the same answers joined into one.

    `outputs` settles dtypes that the inputs leave open. Raises UsageError or ArithmeticScopeError.
    """
    found = find_contracts(contract, classes)
    given = _inputs(found[0], inputs)
    calls: list[Call] = []
    refused: list[UsageError] = []
    for candidate in found:
        try:
            calls.append(_call(candidate, given, params, outputs))
        except UsageError as error:
            refused.append(error)
    if not calls:
        raise refused[0]
    return _joined(calls)


def _inputs(contract: Contract, inputs: Sequence[Any]) -> list[Given]:
    names = [t.name for t in contract.inputs]
    if len(inputs) != len(names):
        raise UsageError(f"{contract.operation} takes {len(names)} array(s) ({', '.join(names)}), not {len(inputs)}")
    given = []
    for name, value in zip(names, inputs, strict=True):
        try:
            given.append(read_array(value))
        except TypeError as error:
            raise UsageError(f"input {name} cannot be used: {error}") from None
    return given


def _call(contract: Contract, given: Sequence[Given], params: Mapping[str, Any], outputs: Sequence[Given]) -> Call:
    if len(given) != len(contract.inputs):
        raise UsageError(f"{contract.name} takes {len(contract.inputs)} array(s), not {len(given)}")
    for t, g in zip(contract.inputs, given, strict=True):
        if len(g.shape) != len(t.shape):
            declared = f"{t.name}{shape_text(t.shape)}"
            raise UsageError(f"input {t.name} has shape {list(g.shape)}; {contract.name} takes {declared}: reshape it")
    bound = _choose(contract, given, outputs)
    scalars = _scalars(contract, params)
    try:
        dims = dims_of(contract, {t.name: g.shape for t, g in zip(contract.inputs, given, strict=True)})
        sizes = {**whole_numbers(scalars), **dims}
        for t, g in zip(contract.inputs, given, strict=True):
            wanted = tuple(size_of(d, sizes) for d in t.shape)
            if wanted != g.shape:
                raise UsageError(f"input {t.name} has shape {list(g.shape)} where {contract.name} says {list(wanted)}")
        values = {t.name: g.held_in(bound.inputs[t.name]) for t, g in zip(contract.inputs, given, strict=True)}
    except ArithmeticScopeError as error:
        raise UsageError(f"{contract.name}: {error}") from None
    check_domain(contract, dims, scalars, values)
    return Call(contract, bound, dims, scalars, values)


def _choose(contract: Contract, given: Sequence[Given], outputs: Sequence[Given]) -> Bound:
    """The choice of dtypes that these arrays have; what they leave open follows the outputs, then fp32."""
    names = [t.name for t in contract.inputs]
    fitting = [b for b in contract.bound if all(g.fits(b.inputs[n]) for n, g in zip(names, given, strict=True))]
    if not fitting:
        have = ", ".join(f"{n} {g.format or 'a list'}" for n, g in zip(names, given, strict=True))
        takes = "; ".join(", ".join(f"{n} {b.inputs[n]}" for n in names) for b in contract.bound)
        raise UsageError(f"{contract.name} does not cover these dtypes ({have}); it takes {takes}")
    if len(outputs) == len(contract.outputs):
        named = [t.name for t in contract.outputs]
        told = [b for b in fitting if all(g.fits(b.outputs[n]) for n, g in zip(named, outputs, strict=True))]
        fitting = told or fitting
    return next((b for b in fitting if "fp32" in b.dtypes.values()), fitting[0]) if len(fitting) > 1 else fitting[0]


def _scalars(contract: Contract, params: Mapping[str, Any]) -> dict[str, Any]:
    declared = {s.name: s for s in contract.scalars if s.type in ("real", "int", "bool")}
    for name in params:
        if name not in declared:
            known = did_you_mean(name, declared) or f"it has {', '.join(declared) or 'none'}"
            raise UsageError(f"{contract.operation} has no parameter {name}; {known}")
    out: dict[str, Any] = {}
    for name, s in declared.items():
        if name in params:
            out[name] = _number(s, params[name])
        elif s.default is not None:
            out[name] = s.default
        else:
            raise UsageError(f"{contract.operation} needs the parameter {name}; pass it by name: {name}=...")
    return out


def _number(declared: ScalarDecl, value: Any) -> float | int | bool:
    """A parameter as the scope types it; arrays of one element count as their element."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if declared.type == "bool" and isinstance(value, bool):
        return value
    if declared.type == "int" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if declared.type == "real" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise UsageError(f"the parameter {declared.name} is of type {declared.type}, not {value!r}")


def _joined(calls: Sequence[Call]) -> tuple[Call, ...]:
    """Contracts of one operation often claim the same for different reasons: each is measured once."""
    out: list[Call] = []
    for call in calls:
        for k, known in enumerate(out):
            if _admits_the_same(known, call):
                out[k] = replace(known, same=(*known.same, call.contract))
                break
        else:
            out.append(call)
    return tuple(out)


def _admits_the_same(a: Call, b: Call) -> bool:
    def claims(c: Call) -> list[Any]:
        guarantees = [g for g in c.contract.post if isinstance(g, syntax.Within | syntax.Bitwise)]
        return [(type(g), g.subject, g.target, g.where) for g in guarantees if g.target is not None]

    return (
        a.bound.judged == b.bound.judged
        and a.bound.context == b.bound.context
        and a.contract.tolerance == b.contract.tolerance
        and claims(a) == claims(b)
        and a.scalars == b.scalars
    )
