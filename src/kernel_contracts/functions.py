"""A Python function of this process as a kernel under test: for test suites, where the function is at hand.

Requirement: the function is trusted not to crash or hang, because it runs here. Inputs are laid out, guarded and
compared as they are for a kernel in a process of its own; one that is not trusted is named by its file instead.
"""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_contracts.api import check
from kernel_contracts.checking import Options, Result, check_all, contracts_for
from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.measurement import conduct, exchange
from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.calls import ArrayIn, CallResult, Way
from kernel_contracts.measurement.schedule_space import Schedules, Space
from kernel_contracts.stacks.base import find

Function = Callable[..., Any]


class InProcess:
    """A function called where it stands, through a stack's arrays."""

    def __init__(self, function: Function, stack: Stack, device: str = "") -> None:
        if any(os.environ.get(k) != v for k, v in stack.environment.items()):
            wanted = " ".join(f"{k}={v}" for k, v in stack.environment.items())
            raise UsageError(
                f"stack {stack.name} needs {wanted} before its process starts; "
                f"name the kernel by its file, or start this process so"
            )
        self._function, self._stack = stack.compiled(function), stack
        self._device = device or stack.devices()[0]
        self._accepted = _keywords(function)
        self._spaces: dict[str, Schedules] = {}

    def _space(self, parameter: str) -> Schedules:
        return self._spaces.setdefault(parameter, Schedules(self._function, parameter))

    def schedules(self, parameter: str, dims: Mapping[str, int]) -> Space:
        """The schedules that the function exposes at these sizes."""
        return self._space(parameter).space(dims)

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
        way: Way | None = None,
    ) -> CallResult:
        """One call. Memory of outputs is not poisoned: that would need an allocator of its own."""
        image, places = exchange.pack(arrays)
        buffer = image.copy()
        described = [p.as_json() for p in places]
        try:
            views, natives = conduct.prepare(self._stack, self._device, buffer, described)
        except TypeError as error:
            raise ArithmeticScopeError(f"stack {self._stack.name} cannot hold these inputs: {error}") from None
        passed = {k: v for k, v in scalars.items() if self._accepted is None or k in self._accepted}
        before = conduct.float_state()
        way = way or Way()
        schedule = ExitStack()
        given = dict(passed)
        if way.index is not None:
            given |= schedule.enter_context(self._space(way.parameter).applied(way.dims, way.index))
        outs = conduct.out_arrays(self._stack, self._device, _stored(poison)) if way.out else ()
        if outs:
            given["out"] = outs[0] if len(outs) == 1 else outs
        began = time.perf_counter()
        with warnings.catch_warnings(), schedule:
            # a test run that turns warnings into errors must not make an exception of a kernel's
            warnings.simplefilter("ignore")
            ending = conduct.run(self._function, natives, given, self._stack, self._device)
        if outs and ending.error is None:
            ending = replace(ending, value=outs)
        seconds = time.perf_counter() - began
        if isinstance(ending.error, KeyboardInterrupt):
            raise ending.error  # the user's, not the kernel's
        result = self._result(ending)
        lost = conduct.mirror(self._stack, described, views, natives)
        touched = {*exchange.changed(image, buffer, places), *lost}
        return replace(
            result, mutated=tuple(a.name for a in arrays if a.name in touched), seconds=seconds,
            dropped=tuple(k for k in scalars if k not in passed), state={**ending.state, "before": before},
        )  # fmt: skip

    def _result(self, ending: conduct.Ending) -> CallResult:
        if ending.error is not None:
            how = Outcome.OUT_OF_MEMORY if conduct.is_out_of_memory(ending.error) else Outcome.RAISED
            told = conduct.describe(ending.error)
            return CallResult(how, told["text"], error_type=told["error"])
        try:
            outputs = tuple(np.array(y, order="C") for y in conduct.collect(ending.value, self._stack))
        except conduct.Defect as defect:
            return CallResult(Outcome.RETURNED, str(defect), defect="wrong_type")
        dtypes = tuple(exchange.format_name(y.dtype) for y in outputs)
        return CallResult(Outcome.RETURNED, outputs=outputs, dtypes=dtypes)


def _stored(poison: Sequence[tuple[tuple[int, ...], str]]) -> list[tuple[tuple[int, ...], str]]:
    return [(shape, exchange.storage_name(name)) for shape, name in poison]


def _keywords(function: Function) -> frozenset[str] | None:
    """Names that can be passed by keyword; None when anything can."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built-ins without a signature
        return frozenset()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


def check_kernel(
    kernel: str | Function, operation: str | None = None, *, contract: str | None = None,
    classes: Sequence[str] | None = None, dtypes: Sequence[str] | None = None, samples: int | None = None,
    seed: int | None = None, stack: str = "numpy", device: str = "", params: Mapping[str, Any] | None = None,
) -> list[Result]:  # fmt: skip
    """Verdicts on a function of this process, or on a target text, which runs in a process of its own (`api.check`)."""
    if isinstance(kernel, str):
        return check(
            kernel, operation, contract=contract, classes=classes, dtypes=dtypes, samples=samples, seed=seed,
            stack=stack, device=device, params=params,
        )  # fmt: skip
    if not callable(kernel):
        raise UsageError(f"a kernel is a function or a target such as file.py:function, not a {type(kernel).__name__}")
    chosen = contracts_for(operation, contract, classes)
    adapter = find(stack)
    options = Options(
        tuple(classes) if classes else None, tuple(dtypes) if dtypes else None, samples, seed, dict(params or {})
    )
    return list(check_all(chosen, InProcess(kernel, adapter, device), options, native=adapter.native_dtypes))
