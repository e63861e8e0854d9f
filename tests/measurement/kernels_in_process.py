"""Kernels of one line for the session, without a worker, and contracts of the library to measure them with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import load_text, standard_library
from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.cases import plan_cases
from kernel_contracts.measurement.emulated import Callee, returned
from kernel_contracts.measurement.oracle import work
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary


class Function:
    """A Python function as a kernel; what it was called with is kept."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls: list[tuple[list[ArrayIn], dict[str, Any]]] = []

    def call(
        self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any] = {}, *, poison: Sequence[Any] = ()
    ) -> CallResult:
        self.calls.append((list(arrays), dict(scalars)))
        with np.errstate(all="ignore"):
            value = self.function(*(a.array for a in arrays), **scalars)
        if isinstance(value, CallResult):
            return value
        items = value if isinstance(value, tuple) else (value,)
        return returned(tuple(np.asarray(v) for v in items), 0.0)


def contract(name: str, dtype: str = "fp32") -> tuple[Contract, Bound]:
    """A contract of the library by name, for P = dtype."""
    found = next(c for c in standard_library(vocabulary()) if c.name == name)
    return found, next(b for b in found.bound if b.dtypes.get("P", dtype) == dtype)


def written(
    scope: str, reference: str, pre: str = "", tolerance: str = "derived", **more: str
) -> tuple[Contract, Bound]:
    """A contract of a few clauses."""
    clauses = {"scope": scope, "pre": pre, "post": "y within tolerance of reference", "tolerance": tolerance,
               "reference": f"{{ {reference} }}", **more}  # fmt: skip
    body = "\n".join(f"  {k} {v}" for k, v in clauses.items() if v)
    (made,) = load_text(f"contract c version 1.0 implements C-CMP-01\n{{\n{body}\n}}\n", "c.kc", vocabulary())
    return made, made.bound[0]


def session(pair: tuple[Contract, Bound], kernel: Callee | Callable[..., Any], **given: Any) -> Session:
    callee = kernel if hasattr(kernel, "call") else Function(kernel)  # type: ignore[arg-type]
    return Session(*pair, callee, given.pop("ladder", ladder()), **given)  # type: ignore[arg-type]


def case(pair: tuple[Contract, Bound], family: str = "normal", seed: int = 1, layout: Layout = Layout.CONTIGUOUS,
         scalars: Mapping[str, Any] | None = None, **dims: int) -> Case:  # fmt: skip
    given = {**pair[0].defaults(), **(scalars or {})}
    return Case(0, family, dict(pair[1].dtypes), dims, given, layout, seed, "test")


def planned(pair: tuple[Contract, Bound], seed: int, limit: int = 1 << 15, count: int = 20) -> list[Case]:
    """The class's own plan, its small cases only."""
    plan = classes()[pair[0].class_id].plan(*pair)
    cases = plan_cases(*pair, plan, seed=seed, samples=96)
    return [c for c in cases if work(Instance(pair[1].program, c.dims, {}, c.scalars)) <= limit][:count]


def judge(pair: tuple[Contract, Bound], observations: Sequence[Any]) -> Any:
    return classes()[pair[0].class_id].judge(*pair, observations)
