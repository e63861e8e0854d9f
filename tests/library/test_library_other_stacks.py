"""The operations of the other stacks compute what they are called: each once, compared as an ordinary test would.

Whether they keep the contracts is not asked here: several libraries do not, which is what they are measured for.
"""

from __future__ import annotations

import importlib

import pytest

from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.functions import InProcess
from kernel_contracts.measurement.functional import passes
from kernel_contracts.stacks.base import stacks
from kernel_contracts.stacks.natives import natives
from kernel_contracts.vocabulary import vocabulary

STACKS = ("jax", "jax_jit", "onnxruntime", "mlx")
LIBRARY = {c.operation: c for c in reversed(standard_library(vocabulary()))}
CASES = [pytest.param(s, o, id=f"{s}-{o}") for s in STACKS for o in natives(s)]
LOOSE = (1e-3, 1e-3)


def plainest(contract: Contract) -> Bound | None:
    """The choice of dtypes that every library has."""
    wanted = [b for b in contract.bound if not b.dtypes or "fp32" in b.dtypes.values()]
    return wanted[0] if wanted else None


def test_every_native_is_an_operation_of_the_library() -> None:
    for name, stack in stacks().items():
        assert set(natives(name)) <= set(LIBRARY), name
        assert not set(natives(name)) & stack.lacks
        assert natives(f"{name}@whatever") == natives(name)


@pytest.mark.parametrize(("name", "operation"), CASES)
def test_a_native_computes_what_it_is_called(name: str, operation: str) -> None:
    stack = stacks()[name]
    if not stack.available():
        pytest.skip(f"{name} is not installed: {stack.install_hint()}")
    contract = LIBRARY[operation]
    bound = plainest(contract)
    if bound is None:
        pytest.skip(f"{operation} has no fp32 form")
    used = {f.name for f in (*bound.inputs.values(), *bound.outputs.values())}
    if "int64" in used and "int64" not in stack.native_dtypes:
        pytest.skip(f"{name} holds no int64 by default")
    module, _, function = natives(name)[operation].partition(":")
    kernel = InProcess(getattr(importlib.import_module(module), function), stack)
    assert passes(contract, bound, kernel, 3, LOOSE, cases=1)
