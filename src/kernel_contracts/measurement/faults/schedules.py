"""Faults of kernels with schedules: memory left as it was, a former answer kept, a tuner that leaves its mark.

Where nothing else is said, the last of the contract's own candidates is faulty and a call without a schedule is right,
so an ordinary test, which asks for no schedule, sees nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult, Way
from kernel_contracts.measurement.candidates import Candidates
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.exchange import poison_byte
from kernel_contracts.measurement.faults.base import Fault, Faulty
from kernel_contracts.measurement.schedule_space import Space
from kernel_contracts.numerics.rounding import from_storage, to_storage

Raw = NDArray[Any]
_ROWS = 32
"""Rows of which a launch with one dimension too few computes the first."""
_TILE = 16


class Tuned(Faulty):
    """The contract's candidates behind a change of what they return; remembers calls as a real buffer would."""

    def __init__(self, contract: Contract, bound: Bound, change: Change) -> None:
        self.candidates = Candidates(contract, bound)
        super().__init__(self.candidates)
        self.contract, self.bound, self.change = contract, bound, change
        self.memory: dict[tuple[tuple[int, ...], ...], tuple[Raw, ...]] = {}
        """What the last call under a schedule left in the output buffer, by its shape."""
        self.met: list[tuple[tuple[int, ...], ...]] = []
        """Shapes of inputs in the order in which they first came without a schedule."""

    def schedules(self, parameter: str, dims: Mapping[str, int]) -> Space:
        return self.candidates.schedules(parameter, dims)

    def spawn(self, environment: Mapping[str, str]) -> Tuned:
        """The same in a process that has met nothing."""
        return Tuned(self.contract, self.bound, self.change)

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
        way: Way | None = None,
    ) -> CallResult:
        result = self.candidates.call(arrays, scalars, poison=poison, way=way)
        index = None if way is None else way.index
        sizes = tuple(a.array.shape for a in arrays)
        new = index is None and sizes not in self.met
        if new:
            self.met.append(sizes)
        outputs = self.change(self, index, result.outputs, sizes, new)
        self.memory[tuple(y.shape for y in outputs)] = outputs
        return replace(result, outputs=outputs)

    def former(self, outputs: Sequence[Raw]) -> tuple[Raw, ...]:
        """What the buffer holds before this call: the last answer, or fresh memory."""
        found = self.memory.get(tuple(y.shape for y in outputs))
        return found if found is not None else tuple(unwritten(y) for y in outputs)

    def stored(self, place: int, y: NDArray[Any]) -> Raw:
        return np.asarray(to_storage(y, self.bound.outputs[self.contract.outputs[place].name]))


Change = Callable[[Tuned, int | None, tuple[Raw, ...], tuple[tuple[int, ...], ...], bool], tuple[Raw, ...]]


def unwritten(y: Raw) -> Raw:
    """Fresh memory of an output's shape."""
    return np.full(y.nbytes, poison_byte(y.dtype), np.uint8).view(y.dtype).reshape(y.shape)


def _half(y: Raw, instead: Raw, first: bool) -> Raw:
    """One half of an output as it is, the other one replaced; a single element counts as the second half."""
    out = np.array(y).reshape(-1)
    middle = out.size // 2
    where = slice(0, middle) if first else slice(middle, None)
    out[where] = instead.reshape(-1)[where]
    return out.reshape(y.shape)


def _one_row(kernel: Tuned, index: int | None, outputs: tuple[Raw, ...], sizes: Any, new: bool) -> tuple[Raw, ...]:
    if index != kernel.candidates.last:
        return outputs
    out = []
    for y in outputs:
        left = unwritten(y)
        left[::_ROWS] = y[::_ROWS]
        out.append(left)
    return tuple(out)


def _shared(kernel: Tuned, index: int | None, outputs: tuple[Raw, ...], sizes: Any, new: bool) -> tuple[Raw, ...]:
    if index is None or index < kernel.candidates.last - 1:
        return outputs
    return tuple(_half(y, unwritten(y), index == kernel.candidates.last) for y in outputs)


def _keeps(kernel: Tuned, index: int | None, outputs: tuple[Raw, ...], sizes: Any, new: bool) -> tuple[Raw, ...]:
    if index != kernel.candidates.last:
        return outputs
    return tuple(_half(y, f, False) for y, f in zip(outputs, kernel.former(outputs), strict=True))


def _adds(kernel: Tuned, index: int | None, outputs: tuple[Raw, ...], sizes: Any, new: bool) -> tuple[Raw, ...]:
    if index != kernel.candidates.last or tuple(y.shape for y in outputs) not in kernel.memory:
        return outputs
    both = zip(outputs, kernel.former(outputs), strict=True)
    with np.errstate(all="ignore"):
        return tuple(kernel.stored(k, from_storage(y) + from_storage(f)) for k, (y, f) in enumerate(both))


def _carries(kernel: Tuned, index: int | None, outputs: tuple[Raw, ...], sizes: Any, new: bool) -> tuple[Raw, ...]:
    """Running totals whose carries were counted for tiles twice as large: the later tiles start at zero."""
    if index != kernel.candidates.last or not any(n.op == "cumsum" for n in kernel.bound.program.nodes):
        return outputs
    out = []
    for k, y in enumerate(outputs):
        total = np.array(from_storage(y))
        for start in range(_TILE * -(-total.shape[-1] // (2 * _TILE)), total.shape[-1], _TILE):
            if start:
                with np.errstate(invalid="ignore"):
                    total[..., start : start + _TILE] -= from_storage(y)[..., start - 1 : start]
        out.append(kernel.stored(k, total))
    return tuple(out)


def _odd(sizes: tuple[tuple[int, ...], ...]) -> bool:
    """Whether no tile divides some size: where a tuner's choice matters, and an ordinary test does not look."""
    return any(n % _TILE for shape in sizes for n in shape)


def _first_shape(kernel: Tuned, index: int | None, outputs: tuple[Raw, ...], sizes: Any, new: bool) -> tuple[Raw, ...]:
    """The schedule chosen for the first sizes is used for all others, whose remainder it does not compute."""
    if index is not None or sizes == kernel.met[0] or not _odd(sizes):
        return outputs
    return tuple(_half(y, np.zeros_like(y), False) for y in outputs)


def _trace(kernel: Tuned, index: int | None, outputs: tuple[Raw, ...], sizes: Any, new: bool) -> tuple[Raw, ...]:
    """The call that tunes runs the winner once more on what the benchmark left in the output."""
    if not new or not _odd(sizes):
        return outputs
    with np.errstate(all="ignore"):
        return tuple(kernel.stored(k, 2 * from_storage(y)) for k, y in enumerate(outputs))


def _fault(name: str, doc: str, change: Change) -> Fault:
    def wrap(contract: Contract, bound: Bound, inner: Callee, arguments: tuple[object, ...]) -> Callee:
        return Tuned(contract, bound, change)

    return Fault(name, doc, wrap)


FAULT = (
    _fault("one_row_written", "one schedule is launched so that it writes one row in 32", _one_row),
    _fault("shared_output", "two schedules write one half each, and look complete only one after the other", _shared),
    _fault("keeps_buffer", "one schedule leaves half of its buffer as the call before left it", _keeps),
    _fault("adds_again", "one schedule adds to its output, which nobody sets to zero before", _adds),
    _fault(
        "carries_miscounted", "one schedule's tiles are half as long as those its carries were counted for", _carries
    ),
    _fault("tuned_for_first_shape", "the schedule chosen for the first sizes is used for all others", _first_shape),
    _fault("tuning_trace", "the call that tunes leaves what its benchmark added", _trace),
)
