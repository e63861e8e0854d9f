"""A model end to end on one platform: each step by the platform's own kernel, every activation kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.answers.admission import typed
from kernel_contracts.answers.arguments import Call, read_calls
from kernel_contracts.answers.arrays import read_outputs
from kernel_contracts.conformance.model_file import Model, Step, moved
from kernel_contracts.conformance.model_moves import MOVES
from kernel_contracts.conformance.platforms import Platform
from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.stacks.natives import natives

Arrays = Mapping[str, NDArray[Any]]


class StepFailed(Exception):
    """A kernel gave no answer to a step, and why."""

    def __init__(self, step: Step, why: str) -> None:
        self.step, self.why = step, why
        super().__init__(why)


def calls_of(step: Step, arrays: Sequence[NDArray[Any]]) -> tuple[Call, ...]:
    """The contracts that compare values for this step, with its inputs. UsageError that names the step if none."""
    try:
        return tuple(read_calls(step.operation, tuple(arrays), dict(step.parameters)))
    except UsageError as error:
        raise UsageError(f"step {step.name}: {error}") from error


@dataclass
class Player:
    """A platform's kernels, a process each, kept open; what a file of kernels lacks is its stack's own.

    Use as a context manager.
    """

    platform: Platform
    timeout: float = 30.0
    memory_mb: int = 4096
    _kernels: dict[str, Kernel] = field(default_factory=dict)
    _calls: dict[tuple[Any, ...], Call] = field(default_factory=dict)
    _played: tuple[Model, dict[str, NDArray[Any]]] | None = None

    def __enter__(self) -> Player:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for kernel in self._kernels.values():
            kernel.close()
        self._kernels.clear()

    def step(self, step: Step, arrays: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
        """One step's outputs. StepFailed where the kernel gives none of the scope's types."""
        if step.operation in MOVES:
            return (moved(step, arrays),)
        call = self._call(step, arrays)
        kernel = self._kernel(step.operation)
        kernel.announced = call.contract, call.bound
        given = [ArrayIn(t.name, a) for t, a in zip(call.contract.inputs, arrays, strict=True)]
        poison = [(shape, fmt.name) for _, shape, fmt in call.expected()]
        result = kernel.call(given, dict(call.scalars), poison=poison)
        if result.outcome is not Outcome.RETURNED or result.defect:
            raise StepFailed(step, result.detail or result.outcome.value)
        _, defect, detail = typed(call, read_outputs(tuple(result.outputs)))
        if defect:
            raise StepFailed(step, detail)
        if len(result.outputs) != len(step.outputs):
            raise UsageError(f"step {step.name} gives {len(result.outputs)} arrays and names {len(step.outputs)}")
        return result.outputs

    def play(self, model: Model) -> dict[str, NDArray[Any]]:
        """All arrays of the model, run once: a second call gives the same ones."""
        if self._played is not None and self._played[0] is model:
            return self._played[1]
        arrays: dict[str, NDArray[Any]] = dict(model.arrays)
        for step in model.steps:
            outputs = self.step(step, [arrays[n] for n in step.inputs])
            arrays.update(zip(step.outputs, outputs, strict=True))
        self._played = model, arrays
        return arrays

    def replay(self, model: Model, played: Arrays, changed: Arrays, start: int) -> dict[str, NDArray[Any]]:
        """The arrays again with some changed: from step `start` on, those steps alone that a change reaches."""
        arrays = {**played, **changed}
        touched = {n for n, y in changed.items() if not _same_bits(y, played[n])}
        for step in model.steps[start:]:
            if touched.isdisjoint(step.inputs):
                continue
            outputs = self.step(step, [arrays[n] for n in step.inputs])
            for name, y in zip(step.outputs, outputs, strict=True):
                if not _same_bits(y, played[name]):
                    arrays[name] = y
                    touched.add(name)
        return arrays

    def _call(self, step: Step, arrays: Sequence[NDArray[Any]]) -> Call:
        """The first contract of a step, found once for each choice of shapes; kept without the arrays."""
        key = (step.name, *((a.shape, a.dtype.name) for a in arrays))
        if key not in self._calls:
            self._calls[key] = replace(calls_of(step, arrays)[0], inputs={})
        return self._calls[key]

    def _kernel(self, operation: str) -> Kernel:
        if operation not in self._kernels:
            target = self.platform.kernel(operation) or natives(self.platform.stack).get(operation)
            if target is None:
                raise UsageError(f"platform {self.platform.name} has no kernel for {operation}")
            self._kernels[operation] = Kernel(
                target, stack=self.platform.stack, device=self.platform.device, timeout=self.timeout,
                memory_mb=self.memory_mb,
            )  # fmt: skip
        return self._kernels[operation]


def _same_bits(x: NDArray[Any], y: NDArray[Any]) -> bool:
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    a, b = (np.ascontiguousarray(z).reshape(-1).view(np.uint8) for z in (x, y))
    return bool(np.array_equal(a, b))
