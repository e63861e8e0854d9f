"""Calls to assert about: inputs of library operations, and what a conforming or a faulty execution answers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.rounding import to_storage
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary

SIZES = (3, 5, 7, 4, 6, 2, 2)
"""For the sizes of an operation in order; small, and all different where there are few."""

TWO_OUTPUTS = '''
contract peak version 1.0 implements C-CMP-01
"""The largest entry of each row, where it is, and the row's sum."""
{
  scope     peak for P in {fp32, bf16} (x: P[R, N]) -> top: P[R], place: int64[R], total: P[R]
  pre       R, N in 1..4096 and finite(x)
  post      top within tolerance of reference
            and place bitwise equal reference
            and total within tolerance of reference
  tolerance derived
  reference {
    top = max(x, axis = -1)
    place = argmax(x, axis = -1)
    total = round(sum(x, axis = -1), P) in fp32
  }
  measure {
    inputs  normal
    shapes  one, primes
    samples 8
  }
  violation wrong_value
  calibrate {
    good     emulated
    baseline zeros
  }
}
'''


def library() -> list[tuple[Contract, Bound]]:
    """The first contract of each operation that compares values, at each of its dtype choices."""
    first: dict[str, Contract] = {}
    for contract in standard_library(vocabulary()):
        first.setdefault(contract.operation, contract)
    return [(c, b) for c in first.values() for b in c.bound]


def name(pair: tuple[Contract, Bound]) -> str:
    contract, bound = pair
    return f"{contract.operation}-{'-'.join(bound.dtypes.values()) or 'plain'}"


def dims(contract: Contract) -> dict[str, int]:
    """Small sizes that the contract covers."""
    found = dict(zip(contract.dims, SIZES, strict=False))
    for size, r in contract.pre.ranges.items():
        if size in found and not r.holds(found[size]):
            found[size] = int(r.choices[0] if r.choices else r.low)
    return found


def needed(contract: Contract) -> dict[str, Any]:
    """A small value for each parameter that a caller must give; all of them are integers so far."""
    open_ones = [s for s in contract.scalars if s.default is None and s.type == "int"]
    return {s.name: max(2, int(contract.pre.scalars[s.name].low)) for s in open_ones}


def parameters(contract: Contract) -> dict[str, Any]:
    return {**contract.defaults(), **needed(contract)}


def drawn(contract: Contract, bound: Bound, seed: int = 0, sizes: dict[str, int] | None = None) -> list[ArrayIn]:
    """Standard normal inputs in their storage dtypes."""
    chosen = sizes or dims(contract)
    case = Case(0, "normal", dict(bound.dtypes), chosen, parameters(contract), Layout.CONTIGUOUS, seed)
    made = Session(contract, bound, Emulated(contract, bound), ladder()).inputs(case)
    return [ArrayIn(t.name, to_storage(made[t.name], bound.inputs[t.name])) for t in contract.inputs]


def answer(contract: Contract, bound: Bound, inputs: list[ArrayIn], seed: int = 0) -> Any:
    """A conforming execution's outputs: an array, or a tuple of arrays."""
    outputs = Emulated(contract, bound, seed=seed).call(inputs, parameters(contract)).outputs
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def faulty(
    contract: Contract, bound: Bound, inputs: list[ArrayIn], mutant: str, arguments: tuple[Any, ...], place: str = ""
) -> Any:
    """The same of a kernel with a known fault, at the first place whose description has `place` in it."""
    program = next(p for where, p in mutants()[mutant].apply(bound.program, arguments) if place in where)
    outputs = Emulated(contract, replace(bound, program=program)).call(inputs, parameters(contract)).outputs
    return outputs[0]


def find(operation: str, dtype: str) -> tuple[Contract, Bound]:
    return next((c, b) for c, b in library() if c.operation == operation and dtype in (*b.dtypes.values(), "plain"))


def masked(text: str) -> str:
    """Numbers and paths out, words kept."""
    text = re.sub(r"kc replay \S+", "kc replay PATH", text)
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", text)


def write(folder: Path, text: str, name: str = "own.kc") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def arrays(inputs: list[ArrayIn]) -> list[np.ndarray[Any, Any]]:
    return [i.array for i in inputs]
