"""Kernels made from a contract's own program: conforming ones in any order of summation, and mutants of them.

They stand where a kernel under test stands and are called the same way, so that a calibration measures the whole
path. They are our own code and need no process of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.exchange import format_name
from kernel_contracts.measurement.moves import is_move, moved
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.dims import Dim
from kernel_contracts.numerics.interpret import Instance, emulate
from kernel_contracts.numerics.number_wins import NUMBER_WINS
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.program import Program
from kernel_contracts.numerics.rounding import from_storage, to_storage
from kernel_contracts.numerics.summation import Order, draw_order, draw_rank_order

When = Callable[[Mapping[str, int]], bool]


class Callee(Protocol):
    """Whatever can be measured: a kernel in its worker process, or one of ours."""

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = ...,
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = ...,
    ) -> CallResult: ...


class Emulated:
    """A program of `contract`, executed with every operation rounded; a new legal order at each call, or one."""

    def __init__(
        self,
        contract: Contract,
        bound: Bound,
        program: Program | None = None,
        seed: int = 0,
        when: When | None = None,
        *,
        steady: bool = False,
    ) -> None:
        self.contract, self.bound = contract, bound
        self.program = program or bound.program
        self.when = when
        """Sizes at which `program` is used; the contract's own elsewhere. None: everywhere."""
        self.rng = np.random.default_rng(seed)
        self.seed, self.steady = seed, steady
        """With `steady`, every call goes the same way."""

    def spawn(self, environment: Mapping[str, str]) -> Emulated:
        """The same again: our own code does not depend on its process."""
        return self

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
        order: Order | None = None,
    ) -> CallResult:
        began = time.perf_counter()
        if self.steady:
            self.rng = np.random.default_rng(self.seed)
        inputs = {a.name: from_storage(a.array) for a in arrays}
        dims = dims_of(self.contract, {n: x.shape for n, x in inputs.items()})
        context = self.bound.context
        if order is None and self.contract.ranks and context.summation == "any":
            order = draw_rank_order(self.rng)
        order = order or draw_order(self.rng, context.summation, context.block)
        how = EmulateContext(
            order, bool(self.rng.integers(0, 4) == 0), self.rng,
            bool(self.rng.integers(0, 2)), context.ulps, absolute=context.absolute,
        )  # fmt: skip
        try:
            program = self.program if self.when is None or self.when(dims) else self.bound.program
            if any(x.dtype.kind == "f" and np.isnan(x).any() for x in inputs.values()) and is_move(
                program, self.bound.outputs
            ):
                bits = moved(program, dims, arrays, scalars)  # values have no payload
                return returned(tuple(bits[t.name] for t in self.contract.outputs), began)
            numbers_win = self.contract.policies.get("nan") == ("number_wins",)
            with np.errstate(all="ignore"):
                made = emulate(Instance(program, dims, inputs, dict(scalars)), how, NUMBER_WINS if numbers_win else {})
        except ArithmeticScopeError as error:
            return CallResult(Outcome.RAISED, f"ArithmeticScopeError: {error}", error_type="ArithmeticScopeError")
        outputs = tuple(held(made[t.name], self.bound.outputs[t.name].name) for t in self.contract.outputs)
        return returned(outputs, began)


class Fixed:
    """A kernel that ignores its inputs: the visibly failing baseline."""

    def __init__(self, make: Callable[[tuple[int, ...], str], Array]) -> None:
        self.make = make

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
    ) -> CallResult:
        began = time.perf_counter()
        return returned(tuple(held(self.make(shape, fmt), fmt) for shape, fmt in poison), began)


def returned(outputs: tuple[Any, ...], began: float) -> CallResult:
    names = tuple(format_name(o.dtype) for o in outputs)
    return CallResult(Outcome.RETURNED, outputs=outputs, dtypes=names, seconds=time.perf_counter() - began)


def held(x: Array, fmt: str) -> Any:
    """Float64, integer or boolean values in the storage dtype of a format."""
    from kernel_contracts.formats import FORMATS

    return to_storage(x, FORMATS[fmt])


def dims_of(contract: Contract, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Sizes read off the shapes of the inputs. Raises ArithmeticScopeError where they contradict each other."""
    found: dict[str, int] = {}
    for t in contract.inputs:
        shape = shapes[t.name]
        if len(shape) != len(t.shape):
            raise ArithmeticScopeError(
                f"{t.name} has {len(shape)} dimension(s); the contract {contract.name} says {len(t.shape)}"
            )
        for size, n in zip(t.shape, shape, strict=True):
            if isinstance(size, str) and found.setdefault(size, n) != n:
                raise ArithmeticScopeError(f"{t.name} has {size} = {n}, another input has {size} = {found[size]}")
            if isinstance(size, int) and size != n:
                raise ArithmeticScopeError(f"{t.name} has a size of {n} where the contract says {size}")
    for t in contract.inputs:
        for size, n in zip(t.shape, shapes[t.name], strict=True):
            _divided(size, n, found)
    return found


def _divided(size: Dim, n: int, found: dict[str, int]) -> None:
    """`W * N` gives N where W is known from elsewhere."""
    if isinstance(size, tuple) and size[0] == "*":
        for known, other in ((size[1], size[2]), (size[2], size[1])):
            if isinstance(other, str) and other not in found and (isinstance(known, int) or known in found):
                factor = known if isinstance(known, int) else found[str(known)]
                if factor and n % factor == 0:
                    found[other] = n // factor
