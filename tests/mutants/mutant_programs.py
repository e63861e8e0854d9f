"""Small programs in the language, and what a mutant makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, emulate, evaluate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.program import Program
from kernel_contracts.vocabulary import vocabulary


def contract(scope: str, reference: str) -> Contract:
    text = (
        f"contract c version 1.0 implements C-CMP-01\n{{\n  scope     {scope}\n  pre       finite(x)\n"
        f"  post      y within tolerance of reference\n  tolerance derived with summation = pairwise\n"
        f"  reference {{ {reference} }}\n}}\n"
    )
    return load_text(text, "c.kc", vocabulary())[0]


def program(scope: str, reference: str) -> Program:
    return contract(scope, reference).bound[0].program


def mutate(base: Program, name: str, *arguments: Any) -> list[tuple[str, Program]]:
    return list(mutants()[name].apply(base, arguments))


def only(base: Program, name: str, *arguments: Any) -> Program:
    ((_, made),) = mutate(base, name, *arguments)
    return made


def value(p: Program, scalars: dict[str, Any] | None = None, dims: dict[str, int] | None = None, **inputs: Any) -> Any:
    """What the program computes exactly, of its output y. Sizes come from the inputs."""
    return evaluate(_instance(p, scalars, dims, inputs), FLOAT64)["y"]


def rounded(
    p: Program, scalars: dict[str, Any] | None = None, dims: dict[str, int] | None = None, **inputs: Any
) -> Any:
    """The same with every operation rounded as declared."""
    return emulate(_instance(p, scalars, dims, inputs), EmulateContext())["y"]


def _instance(
    p: Program, scalars: dict[str, Any] | None, dims: dict[str, int] | None, inputs: dict[str, Any]
) -> Instance:
    arrays = {n: np.asarray(x, dtype=np.float64) for n, x in inputs.items()}
    sizes = dict(dims or {})
    for n, index in p.inputs.items():
        for d, size in zip(p.nodes[index].type.shape, arrays[n].shape, strict=True):
            if isinstance(d, str):
                sizes[d] = size
    return Instance(p, sizes, arrays, scalars or {})


def label(bound: Bound) -> str:
    return "-".join(bound.dtypes.values()) or "plain"
