"""What becomes of an index outside its table, under each policy: the index as it counts, the result that is due.

A policy is put into effect by rewriting the inputs. The table gets one more row for indices that count as zero or are
dropped: reads find zeros there, writes go there and the row is cut off again. So one reference serves every policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.dims import Dim, Shape, names
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.rounding import round_to

OUT, NEGATIVE = "out_of_bounds", "negative_index"
#: Policies that give a result. `drop` and `zero` differ in name only: writes drop, reads give zero.
READS, WRITES = ("clamp", "wrap", "zero"), ("clamp", "wrap", "drop")


@dataclass(frozen=True, slots=True)
class Indexing:
    """Which input holds indices and which size they run over."""

    name: str
    dim: str
    writes: bool

    @property
    def policies(self) -> tuple[str, ...]:
        return WRITES if self.writes else READS


def indexing(contract: Contract, bound: Bound) -> Indexing | None:
    """The first input that the precondition keeps below a size; None where there is none."""
    for t in contract.inputs:
        fact = contract.pre.facts.get(t.name)
        if bound.inputs[t.name].kind != "int" or fact is None or fact.high is None:
            continue
        dim = _runs_over(fact.high)
        if dim:
            return Indexing(t.name, dim, any(dim in o.shape for o in contract.outputs))
    return None


def _runs_over(high: Dim) -> str:
    """The size n where the largest index is n - 1."""
    free = sorted(names(high))
    return free[0] if len(free) == 1 and all(size_of(high, {free[0]: n}) == n - 1 for n in (1, 7, 1000)) else ""


def kind(index: int, size: int) -> str:
    """How an index lies: inside (empty), negative as Python counts from the end, or out of bounds."""
    return "" if 0 <= index < size else NEGATIVE if -size <= index < 0 else OUT


def declared(contract: Contract, where: Indexing, how: str) -> tuple[str, ...]:
    """The policies that the contract admits for this kind of index; none where it says nothing."""
    general = contract.policies.get(OUT, ())
    side = contract.policies.get(f"{OUT}_{'write' if where.writes else 'read'}", general)
    chosen = contract.policies.get(NEGATIVE, side) if how == NEGATIVE else side
    alias = {"zero": "drop"} if where.writes else {"drop": "zero"}
    return tuple(alias.get(c, c) for c in chosen)


def settle(index: Array, size: int, policies: Mapping[str, str]) -> Array:
    """Indices as they count: inside, or `size` for the additional row."""
    flat = [_settled(int(i), size, policies) for i in np.asarray(index).ravel().tolist()]
    return np.asarray(flat, dtype=np.int64).reshape(np.shape(index))


def _settled(i: int, size: int, policies: Mapping[str, str]) -> int:
    how = kind(i, size)
    if not how:
        return i
    policy = policies[how]
    return min(max(i, 0), size - 1) if policy == "clamp" else i % size if policy == "wrap" else size


def grown(x: Array, shape: Shape, dim: str, fill: float = 0.0) -> Array:
    """The array with one more element along every axis of the indexed size."""
    width = [(0, 1 if d == dim else 0) for d in shape]
    return np.pad(x, width, constant_values=fill) if x.dtype.kind == "f" else np.pad(x, width)


def cut(y: Array, shape: Shape, dim: str) -> Array:
    """The array without the additional element."""
    return y[tuple(slice(0, -1) if d == dim else slice(None) for d in shape)]


def due(
    contract: Contract,
    bound: Bound,
    where: Indexing,
    dims: Mapping[str, int],
    inputs: Mapping[str, Array],
    scalars: Mapping[str, float | int | bool],
    settled: Array,
) -> dict[str, Array]:
    """The outputs that the reference gives for settled indices."""
    size = dims[where.dim]
    more = {t.name: grown(inputs[t.name], t.shape, where.dim) for t in contract.inputs if t.name != where.name}
    instance = Instance(bound.program, {**dims, where.dim: size + 1}, {**more, where.name: settled}, scalars)
    made = evaluate(instance, FLOAT64)
    out: dict[str, Array] = {}
    for t in contract.outputs:
        y = cut(np.asarray(made[t.name]), t.shape, where.dim)
        out[t.name] = round_to(y, bound.outputs[t.name]) if bound.outputs[t.name].is_real else y
    return out
