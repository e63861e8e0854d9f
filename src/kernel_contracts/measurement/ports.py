"""The inputs and outputs of a model file beside a contract's scope: found by name where they have it, else in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernel_contracts.errors import TargetError
from kernel_contracts.measurement.calls import Scope


@dataclass(frozen=True, slots=True)
class Matched:
    """Names of the model, for one scope."""

    arrays: tuple[str, ...]
    """Inputs, in the order of the scope's arrays."""
    scalars: tuple[str, ...]
    """Inputs that are scalars of the scope."""
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ports:
    """What a model takes and gives: element types, in the words of its stack, by name and in order."""

    file: str
    """As it is shown."""
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    known: Mapping[str, str]
    """Names of formats by element type."""

    @property
    def formats(self) -> frozenset[str] | None:
        """Those that the model is for; None where it holds something that is no number format."""
        types = [*self.inputs.values(), *self.outputs.values()]
        return frozenset(self.known[t] for t in types) if all(t in self.known for t in types) else None

    def matched(self, scope: Scope) -> Matched:
        """Raises TargetError with a sentence where number or formats do not fit."""
        arrays = [t.name for t in scope.inputs]
        scalars = [name for name, _ in scope.scalars if name in self.inputs]
        if not set(arrays) <= self.inputs.keys():
            left = [name for name in self.inputs if name not in scalars]
            if len(left) != len(arrays):
                raise self._misfit("inputs", self.inputs, arrays)
            arrays = left
        for name, fmt in zip(arrays, (t.format for t in scope.inputs), strict=True):
            if self.known.get(self.inputs[name], "") != fmt:
                told = f"{self.file} takes {name} as {self.inputs[name]}; the contract gives {fmt}; choose --dtype"
                raise TargetError(told)
        wanted = [t.name for t in scope.outputs]
        if not set(wanted) <= self.outputs.keys():
            if len(self.outputs) != len(wanted):
                raise self._misfit("outputs", self.outputs, wanted)
            wanted = list(self.outputs)
        return Matched(tuple(arrays), tuple(scalars), tuple(wanted))

    def _misfit(self, what: str, there: Mapping[str, str], wanted: list[str]) -> TargetError:
        return TargetError(f"{self.file} has the {what} {', '.join(there)}; the contract {', '.join(wanted)}")
