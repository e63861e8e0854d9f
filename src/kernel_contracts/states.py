"""The kernels that the states of a contract name: its own program, mutants of it, faults at the call, Python files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernel_contracts.classes import classes
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.contracts.values import Problem, constant
from kernel_contracts.errors import UsageError
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.candidates import Candidates
from kernel_contracts.measurement.emulated import Callee, Emulated, Fixed, When, dims_of, held, returned
from kernel_contracts.measurement.faults import faults
from kernel_contracts.measurement.faults.index import conforming
from kernel_contracts.measurement.ranked import opened
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.program import Program
from kernel_contracts.numerics.rounding import from_storage


def kernels_of(contract: Contract, bound: Bound, entry: syntax.CalibrateState) -> Sequence[Callee]:
    """The kernels that a state stands for. Raises UsageError when it names nothing known."""
    kernel = entry.kernel
    name = kernel.id if isinstance(kernel, syntax.Name) else kernel.function if isinstance(kernel, syntax.Call) else ""
    if name == "emulated":
        return [conforming(contract, bound, own_kernel(contract, bound))]
    if name == "zeros":
        return [Fixed(lambda shape, fmt: np.zeros(shape))]
    if name == "ones":
        return [Fixed(lambda shape, fmt: np.ones(shape))]
    given = kernel.arguments[0].value if isinstance(kernel, syntax.Call) and kernel.arguments else None
    if name == "python" and isinstance(given, syntax.Text):
        return [opened([contract], given.value, working_directory=Path(contract.path).parent)]
    if name == "mutant" and isinstance(kernel, syntax.Call) and given is not None:
        return _mutants_of(contract, bound, kernel)
    if name == "fault" and isinstance(kernel, syntax.Call) and given is not None:
        return [_fault_of(contract, bound, given)]
    raise UsageError(
        f"{contract.path}: the {entry.state} state of {contract.name} is {name or 'nothing known'}; "
        'write emulated, mutant(...), fault(...), zeros, ones or python "file.py:function"'
    )


def _mutants_of(contract: Contract, bound: Bound, call: syntax.Call) -> Sequence[Callee]:
    """`mutant(accumulate(fp16), above(K, 256))`: the fault, and optionally the sizes at which it shows."""
    fault = call.arguments[0].value
    name = fault.function if isinstance(fault, syntax.Call) else fault.id if isinstance(fault, syntax.Name) else ""
    if name not in mutants():
        hint = did_you_mean(name, mutants())
        raise UsageError(f"{contract.path}: there is no mutant {name}; {hint or 'see kc list mutants'}")
    arguments = tuple(_argument(a.value) for a in fault.arguments) if isinstance(fault, syntax.Call) else ()
    when = _when(contract, call.arguments[1].value) if len(call.arguments) > 1 else None
    found = mutants()[name].apply(bound.program, arguments)
    return [own_kernel(contract, bound, p, when) for _, p in found]


def own_kernel(
    contract: Contract, bound: Bound, program: Program | None = None, when: When | None = None
) -> Emulated:  # fmt: skip
    """The contract's program, or `program` in its place, as a kernel of the kind that the class measures."""
    if classes()[contract.class_id].plan(contract, bound).experiment == "schedules":
        return Candidates(contract, bound, program, when)
    return Emulated(contract, bound, program, when=when, steady=steady(contract, bound))


class Exact:
    """The value of the reference, rounded once to each output: what a kernel more accurate than any other gives."""

    def __init__(self, contract: Contract, bound: Bound) -> None:
        self.contract, self.bound = contract, bound

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
    ) -> CallResult:
        began = time.perf_counter()
        inputs = {a.name: from_storage(a.array) for a in arrays}
        dims = dims_of(self.contract, {n: x.shape for n, x in inputs.items()})
        with np.errstate(all="ignore"):
            made = evaluate(Instance(self.bound.program, dims, inputs, dict(scalars)), FLOAT64)
        outputs = self.bound.outputs
        return returned(
            tuple(held(np.asarray(made[t.name]), outputs[t.name].name) for t in self.contract.outputs), began
        )


def steady(contract: Contract, bound: Bound) -> bool:
    """Whether our own kernels keep to one order: where calls are compared, a new one at each call is the fault."""
    return classes()[contract.class_id].plan(contract, bound).experiment in ("repeats", "schedules", "scales")


def _fault_of(contract: Contract, bound: Bound, fault: syntax.Expr) -> Callee:
    """`fault(nan_to_zero)`: the contract's own program behind a faulty call."""
    name = fault.function if isinstance(fault, syntax.Call) else fault.id if isinstance(fault, syntax.Name) else ""
    if name not in faults():
        raise UsageError(
            f"{contract.path}: there is no fault {name}; {did_you_mean(name, faults()) or 'see kc list faults'}"
        )
    arguments = tuple(_argument(a.value) for a in fault.arguments) if isinstance(fault, syntax.Call) else ()
    return faults()[name].wrap(contract, bound, Emulated(contract, bound, steady=steady(contract, bound)), arguments)


def _argument(expr: syntax.Expr) -> object:
    try:
        return expr.id if isinstance(expr, syntax.Name) else constant(expr)
    except Problem as problem:
        raise UsageError(f"the argument {_text(expr)} of a mutant is no format, number or name: {problem}") from problem


def _when(contract: Contract, expr: syntax.Expr) -> When:
    """`above(K, 256)`: where a size exceeds; `off(N, 16)`: where it is no multiple."""
    known = isinstance(expr, syntax.Call) and expr.function in ("above", "off") and len(expr.arguments) == 2
    if not known or not isinstance(expr, syntax.Call) or not isinstance(expr.arguments[0].value, syntax.Name):
        raise UsageError(f"{contract.path}: a mutant is limited by above(K, 256) or off(N, 16)")
    dim, limit = expr.arguments[0].value.id, _limit(contract, expr.arguments[1].value)
    if dim not in contract.dims:
        raise UsageError(f"{contract.path}: {dim} is not a size of {contract.name}; {did_you_mean(dim, contract.dims)}")
    if expr.function == "above":
        return lambda sizes: sizes[dim] > limit
    return lambda sizes: sizes[dim] % limit != 0


def _limit(contract: Contract, expr: syntax.Expr) -> int:
    limit = _argument(expr)
    if not isinstance(limit, int) or limit < 1:
        raise UsageError(f"{contract.path}: {_text(expr)} is no size; write for example above(K, 256) or off(N, 16)")
    return limit


def _text(expr: syntax.Expr) -> str:
    from kernel_contracts.language.printer import print_node

    return print_node(expr)
