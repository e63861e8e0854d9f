"""A model by the plain functions of NumPy, in this very process."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.conformance.model_file import Model
from kernel_contracts.conformance.model_moves import MOVES, move
from kernel_contracts.stacks.natives import natives


def played(model: Model) -> list[NDArray[Any]]:
    """What its outputs are."""
    own = natives("numpy")
    arrays = dict(model.arrays)
    for s in model.steps:
        given = [arrays[n] for n in s.inputs]
        if s.operation in MOVES:
            made: Any = move(s.operation, s.parameters, given)
        else:
            module, _, name = own[s.operation].partition(":")
            made = getattr(importlib.import_module(module), name)(*given, **s.parameters)
        arrays[s.outputs[0]] = np.asarray(made)
    return [arrays[n] for n in model.outputs]
