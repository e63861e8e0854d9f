"""PyTorch compiled by inductor: every kernel goes through `torch.compile` as a whole graph, once for each shape.

Requirement: needs a C++ compiler on a processor. Compiled code is kept in a folder of the user's own, and nothing but
that folder and the number of compilations that are allowed is set: neither changes a result.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel_contracts.errors import TargetError
from kernel_contracts.stacks.torch import TorchStack

_COMPILATIONS = 1 << 16
"""PyTorch gives up a function after eight shapes; a contract asks for more."""

_VARIANTS = {
    "one-thread": {"OMP_NUM_THREADS": "1"},
    "two-threads": {"OMP_NUM_THREADS": "2"},
    "default-isa": {"ATEN_CPU_CAPABILITY": "default"},
    "precision-casts": {"TORCHINDUCTOR_EMULATE_PRECISION_CASTS": "1"},
}

_FOLDER = "TORCHINDUCTOR_CACHE_DIR"


class InductorStack(TorchStack):
    """Compiled PyTorch."""

    name = "inductor"
    variants = _VARIANTS
    compiling = 180.0
    lacks = frozenset(
        {"collectives", "scaling"}  # neither a group of processes nor the steps of an optimizer are one graph
        | {"matmul_backward", "linear_backward", "gelu_backward", "layernorm_backward"}  # autograd inside a graph
        | {"attention_backward", "max_pool_backward"}
    )

    def __init__(self) -> None:
        self.environment = {_FOLDER: os.environ.get(_FOLDER) or str(_private_folder())}

    def preload(self) -> None:
        for module in ("torch._dynamo", "torch._inductor.compile_fx"):
            importlib.import_module(module)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        import torch

        if shutil.which("g++") is None and shutil.which("c++") is None and not torch.cuda.is_available():
            raise TargetError("stack inductor compiles with a C++ compiler; install g++")
        torch._dynamo.config.recompile_limit = _COMPILATIONS
        torch._dynamo.config.accumulated_recompile_limit = _COMPILATIONS
        made: Callable[..., Any] = torch.compile(function, fullgraph=True, dynamic=False)
        return made


def _private_folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "kernel-contracts" / "inductor"


STACK = InductorStack()
