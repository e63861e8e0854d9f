"""Small contract files, written clause by clause, and what elaborating them gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import LanguageError
from kernel_contracts.language.diagnostics import Diagnostic
from kernel_contracts.measurement.emulated import Emulated
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary


def text(
    scope: str = "double for P in {fp32} (x: P[N]) -> y: P[N]",
    reference: str = "{ y = x + x }",
    pre: str = "N in 1..1024",
    post: str = "y within tolerance of reference",
    tolerance: str = "derived",
    rest: str = "",
    name: str = "example",
    implements: str = "C-CMP-01",
) -> str:
    clauses = {"scope": scope, "pre": pre, "post": post, "tolerance": tolerance, "reference": reference}
    lines = [f"  {k:<9} {v}" for k, v in clauses.items() if v]
    return "\n".join(
        [f"contract {name} version 1.0 implements {implements}", "{", *lines, *([rest] if rest else []), "}\n"]
    )


def load(source: str, path: str | Path = "example.kc") -> tuple[Contract, ...]:
    return load_text(source, str(path), vocabulary())


def one(source: str = "", path: str | Path = "example.kc", **clauses: str) -> Contract:
    """The one contract of a text, or of clauses."""
    (found,) = load(source or text(**clauses), path)
    return found


def wrong(source: str = "", path: str | Path = "example.kc", **clauses: str) -> Diagnostic:
    """The one finding about a text, or about clauses."""
    with pytest.raises(LanguageError) as caught:
        load(source or text(**clauses), path)
    (found,) = caught.value.diagnostics
    return found


def session(contract: Contract, choice: int = 0) -> Session:
    bound = contract.bound[choice]
    return Session(contract, bound, Emulated(contract, bound), ladder())


def case(contract: Contract, dims: dict[str, int], scalars: dict[str, Any] | None = None, choice: int = 0) -> Case:
    return Case(
        0, "normal", dict(contract.bound[choice].dtypes), dims, {**contract.defaults(), **(scalars or {})},
        Layout.CONTIGUOUS, 1,
    )  # fmt: skip


def admitted(
    contract: Contract, dims: dict[str, int], inputs: dict[str, Array], choice: int = 0, **scalars: Any
) -> list[Acceptance]:
    """What each claim admits for given inputs, where the kernel gives the oracle's own values."""
    run, bound = session(contract, choice), contract.bound[choice]
    known = {**contract.defaults(), **scalars}
    bounded, truth = run.truth(Instance(bound.judged, dims, inputs, known))
    outputs = {n.removeprefix("output "): b.v for n, b in bounded.items() if n.startswith("output ")}
    found = run.admitted(Instance(bound.judged, dims, inputs, known), bounded, truth, outputs)
    return [j.acceptance for j in found]
