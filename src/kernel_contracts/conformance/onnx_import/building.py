"""What the rules build with: values of known shape, and the steps that give them.

Requirement: a value that is known when the file is read is worked on at once where that moves numbers only; anything
that is rounded becomes a step, so that each platform computes it itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.conformance.model_file import Step
from kernel_contracts.conformance.model_moves import MOVES, move
from kernel_contracts.errors import UsageError

FLOATS = ("float64", "float32", "float16")
"""Types of numbers that a model's arrays may have."""


class NoOperation(UsageError):
    """A node that the standard library has no operation for, or uses in a form that it does not have."""


@dataclass(frozen=True, slots=True)
class Value:
    """An array of the graph."""

    name: str
    """Of the array in the model."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    known: NDArray[Any] | None = None
    """Its numbers, where they are constants or depend on the integers given alone."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def number(self) -> float | None:
        """The one number that it is, if it is known and one."""
        return float(self.known.ravel()[0]) if self.known is not None and self.known.size == 1 else None


@dataclass(frozen=True, slots=True)
class Made:
    """How a value came about, in the words of the graph: what fusing looks at."""

    op: str
    inputs: tuple[Value, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


class Builder:
    """Collects steps and the arrays they start from; one node of the graph at a time."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.steps: list[Step] = []
        self.made: dict[str, Made] = {}
        """By name of the value."""
        self.refused: dict[str, str] = {}
        """Steps that no operation stands for, with the reason: an error only where a fused form does not replace it."""
        self.node = ""
        self._names: set[str] = set()
        self._source: dict[str, Value] = {}
        """What a value is a reshape of."""

    def constant(self, array: NDArray[Any], name: str = "") -> Value:
        """A known value."""
        return Value(name or self._unique(f"{self.node} constant"), array.shape, array.dtype, array)

    def step(
        self, operation: str, inputs: Sequence[Value], shape: Sequence[int], *, dtype: np.dtype[Any] | None = None,
        parameters: Mapping[str, Any] | None = None, refused: str = "",
    ) -> Value:  # fmt: skip
        """One step that gives one array; named like the node, moves with their operation added."""
        label = f"{self.node} {operation}" if operation in MOVES else self.node
        name = self._unique(label)
        taken = tuple(self._taken(v) for v in inputs)
        self.steps.append(Step(name, operation, taken, (f"{name}:0",), dict(parameters or {})))
        if refused:
            self.refused[name] = refused
        return Value(f"{name}:0", tuple(int(n) for n in shape), dtype or inputs[0].dtype)

    def _taken(self, value: Value) -> str:
        if value.known is not None:
            self.arrays.setdefault(value.name, value.known)
        return value.name

    def _unique(self, text: str) -> str:
        name, k = text, 2
        while name in self._names:
            name, k = f"{text} {k}", k + 1
        self._names.add(name)
        return name

    # ------------------------------------------------------------------------------------------ moves

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """Of several in a row the last alone counts."""
        wanted = tuple(int(n) for n in shape)
        source = self._source.get(x.name, x)
        if wanted in (x.shape, source.shape):
            return x if wanted == x.shape else source
        made = self._moved("reshape", (source,), wanted, {"shape": list(wanted)})
        self._source[made.name] = source
        return made

    def permute(self, x: Value, axes: Sequence[int]) -> Value:
        order = [int(a) % max(len(x.shape), 1) for a in axes]
        if order == list(range(len(x.shape))):
            return x
        return self._moved("permute", (x,), [x.shape[a] for a in order], {"axes": order})

    def expand(self, x: Value, shape: Sequence[int]) -> Value:
        wanted = tuple(int(n) for n in shape)
        return x if wanted == x.shape else self._moved("expand", (x,), wanted, {"shape": list(wanted)})

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        shape = list(values[0].shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        return values[0] if len(values) == 1 else self._moved("concat", tuple(values), shape, {"axis": axis})

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        shape = np.broadcast_shapes(condition.shape, yes.shape, no.shape)
        spread = [self.expand(v, shape) for v in (condition, yes, no)]
        return self._moved("select", tuple(spread), shape, {}, dtype=yes.dtype)

    def _moved(
        self, operation: str, values: tuple[Value, ...], shape: Sequence[int], parameters: Mapping[str, Any],
        dtype: np.dtype[Any] | None = None,
    ) -> Value:  # fmt: skip
        if all(v.known is not None for v in values):
            return self.constant(move(operation, parameters, [v.known for v in values if v.known is not None]))
        return self.step(operation, values, shape, parameters=parameters, dtype=dtype)

    # ------------------------------------------------------------------------------------------ shapes that scopes have

    def rows(self, x: Value) -> Value:
        """As a matrix whose rows run along the last axis."""
        last = x.shape[-1] if x.shape else 1
        return self.reshape(x, (x.size // last if last else math.prod(x.shape[:-1]), last))

    def line(self, x: Value) -> Value:
        return self.reshape(x, (x.size,))

    def last(self, x: Value, axes: Sequence[int]) -> tuple[Value, list[int]]:
        """The axes moved behind the others; the order that this is."""
        order = [a for a in range(len(x.shape)) if a not in axes] + list(axes)
        return self.permute(x, order), order

    def back(self, x: Value, order: Sequence[int]) -> Value:
        """The axes moved back from an order."""
        return self.permute(x, [list(order).index(a) for a in range(len(order))])
