"""Programs that move numbers and compute nothing, carried out on bits: NaN payloads and the sign of zero included.

Values cannot stand for bits here: on its way through float64 a NaN loses its payload and a signalling one its state.
So every element is given a number, the numbers are moved by the reference, and the bits follow them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.formats import FORMATS, Format
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.exchange import format_name
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.operators.movement import OPERATORS
from kernel_contracts.numerics.program import Program
from kernel_contracts.numerics.rounding import storage_dtype, to_storage

_MOVES = frozenset(o.name for o in OPERATORS)
_LEAVES = frozenset({"input", "constant", "scalar", "size"})


def is_move(program: Program, outputs: Mapping[str, Format]) -> bool:
    """Whether every real number of the outputs is one of the inputs, or a constant, in the format it came in."""
    reals = [program.nodes[i] for i in program.inputs.values() if program.nodes[i].type.kind == "real"]
    formats = {n.type.format.name for n in reals}
    if len(formats) != 1 or any(fmt.name not in formats for fmt in outputs.values()):
        return False
    return all(n.op in _MOVES or n.op in _LEAVES for n in program.nodes if n.type.kind == "real")


def words(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory as unsigned integers of the same width."""
    return np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}"))


def moved(
    program: Program, dims: Mapping[str, int], arrays: Sequence[ArrayIn], scalars: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Each output of a program that `is_move`, in the storage dtype of its inputs."""
    kinds = {name: program.nodes[i].type.kind for name, i in program.inputs.items()}
    reals = [a for a in arrays if kinds.get(a.name) == "real"]
    total = sum(a.array.size for a in reals)
    pool = np.concatenate([words(a.array).reshape(-1) for a in reals])

    def numbered(first: int) -> dict[str, NDArray[Any]]:
        given: dict[str, Any] = {a.name: np.asarray(a.array) for a in arrays}
        for a in reals:
            given[a.name] = np.arange(first, first + a.array.size, dtype=np.float64).reshape(a.array.shape)
            first += a.array.size
        return evaluate(Instance(program, dims, given, dict(scalars)), FLOAT64)

    # numbered twice: what does not grow by the difference is a constant of the program
    low, high = numbered(1), numbered(1 + total)
    out: dict[str, NDArray[Any]] = {}
    for name, first in low.items():
        fmt = program.nodes[program.outputs[name]].type.format
        with np.errstate(invalid="ignore"):
            carried = np.asarray(high[name] - first == total) & (total > 0)
        place = np.where(carried, first, 1).astype(np.int64) - 1
        constant = words(to_storage(np.where(carried, 0.0, first), fmt)).reshape(np.shape(first))
        bits = np.where(carried, pool[place], constant) if total else constant
        out[name] = np.asarray(bits).view(storage_dtype(fmt)).reshape(np.shape(first))
    return out


# ------------------------------------------------------------------------------------------------ parts of a number


def magnitude(array: NDArray[Any]) -> NDArray[Any]:
    """The bits without the sign."""
    bits = words(array).reshape(array.shape)
    return np.asarray(bits & bits.dtype.type(_sign(array) - 1))


def subnormal(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a stored number is below the least normal one of its format and not zero."""
    size = magnitude(array)
    return np.asarray((size > 0) & (size < size.dtype.type(1 << _fraction(array))))


def flushed(array: NDArray[Any], where: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """A copy in which subnormal numbers are zeros of their sign; every other bit stays."""
    hit = subnormal(array) if where is None else subnormal(array) & where
    bits = words(array).reshape(array.shape)
    sign = 0 if array.dtype.name.endswith("fnuz") else _sign(array)  # those formats have no negative zero
    return np.asarray(np.where(hit, bits & bits.dtype.type(sign), bits)).view(array.dtype)


def _sign(array: NDArray[Any]) -> int:
    return 1 << (8 * array.dtype.itemsize - 1)


def _fraction(array: NDArray[Any]) -> int:
    """Stored bits of the significand."""
    return FORMATS[format_name(array.dtype)].precision - 1
