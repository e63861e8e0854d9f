"""What an input family is told about one tensor of a case, and what the kernel is handed then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Case
from kernel_contracts.contracts.model import Bound, Contract, Facts
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.inputs.base import TensorSpec
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.rounding import to_storage


def tensor_spec(
    name: str, bound: Bound, shape: tuple[int, ...], facts: Mapping[str, Facts], environment: Mapping[str, int]
) -> TensorSpec:
    """The input `name` at these sizes. Raises ArithmeticScopeError where no value meets the precondition."""
    fact = facts.get(name, Facts())
    low = None if fact.low is None else size_of(fact.low, environment)
    high = None if fact.high is None else size_of(fact.high, environment)
    fmt = bound.inputs[name]
    if fmt.kind == "int" and low is not None and high is not None and low > high and np.prod(shape):
        raise ArithmeticScopeError(f"{name} has no value between {low} and {high} at these sizes")
    axes = bound.contracted.get(name, ())
    return TensorSpec(name, fmt, shape, axes, low, high, fact.positive, fact.limit, not fact.finite)


def handed(
    contract: Contract, bound: Bound, case: Case, inputs: Mapping[str, Array]
) -> tuple[list[ArrayIn], dict[str, Any]]:
    """The arrays in the order of the scope, in their storage formats and as the case lays them out, and the scalars."""
    arrays = [ArrayIn(t.name, to_storage(inputs[t.name], bound.inputs[t.name]), case.layout) for t in contract.inputs]
    return arrays, {s.name: case.scalars[s.name] for s in contract.scalars if s.name in case.scalars}
