"""Steps that move numbers and compute none: done by the tool itself, bit for bit, for every platform alike.

reshape  shape            permute  axes            expand  shape, by the broadcasting rule of NumPy and ONNX
concat   axis             select   a condition and two arrays: where it holds, the first
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Sequence[NDArray[Any]]
Parameters = Mapping[str, Any]


def _reshape(parameters: Parameters, arrays: Arrays) -> NDArray[Any]:
    return arrays[0].reshape([int(n) for n in parameters["shape"]])


def _permute(parameters: Parameters, arrays: Arrays) -> NDArray[Any]:
    return arrays[0].transpose([int(n) for n in parameters["axes"]])


def _expand(parameters: Parameters, arrays: Arrays) -> NDArray[Any]:
    return np.broadcast_to(arrays[0], [int(n) for n in parameters["shape"]])


def _concat(parameters: Parameters, arrays: Arrays) -> NDArray[Any]:
    return np.concatenate(list(arrays), axis=int(parameters["axis"]))


def _select(parameters: Parameters, arrays: Arrays) -> NDArray[Any]:
    condition, yes, no = arrays
    if condition.dtype.kind != "b" or yes.dtype != no.dtype or not condition.shape == yes.shape == no.shape:
        raise ValueError("it takes truth values and two arrays, all of one shape")
    return np.where(condition, yes, no)


MOVES: Mapping[str, tuple[int | None, Callable[[Parameters, Arrays], NDArray[Any]]]] = {
    "reshape": (1, _reshape),
    "permute": (1, _permute),
    "expand": (1, _expand),
    "concat": (None, _concat),
    "select": (3, _select),
}
"""Each with the number of arrays that it takes; None for one or more. Every one gives one array."""


def arity_fault(operation: str, inputs: int, outputs: int) -> str:
    """What is wrong with the number of arrays of a move; empty where nothing is."""
    wanted = MOVES[operation][0]
    if outputs == 1 and (inputs == wanted if wanted is not None else inputs >= 1):
        return ""
    takes = {1: "one array", 3: "three arrays", None: "one array or more"}[wanted]
    return f"{operation} takes {takes} and gives one"


def move(operation: str, parameters: Parameters, arrays: Arrays) -> NDArray[Any]:
    """What a move gives, contiguous. KeyError, TypeError or ValueError where its parameters or shapes do not fit."""
    made = MOVES[operation][1](parameters, arrays)
    return made if made.ndim == 0 else np.ascontiguousarray(made)
