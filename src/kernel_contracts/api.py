"""The public door: check a kernel, state a tolerance, assert conformity. Everything else is behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernel_contracts.checking import Options, Result, Watch, check_all, contracts_for
from kernel_contracts.measurement.ranked import opened
from kernel_contracts.stacks.base import find


def check(
    target: str,
    operation: str | None = None,
    *,
    contract: str | None = None,
    classes: Sequence[str] | None = None,
    dtypes: Sequence[str] | None = None,
    samples: int | None = None,
    seed: int | None = None,
    stack: str = "numpy",
    device: str = "",
    params: Mapping[str, Any] | None = None,
    timeout: float = 30.0,
    memory_mb: int = 4096,
    watch: Watch | None = None,
) -> list[Result]:
    """Verdicts on the kernel `target` (`file.py:function`, `module:function`, `builtin:OPERATION`).

    `operation` names a standard-library operation, `contract` a file `FILE[:NAME]` instead. The kernel runs in a
    process of its own with a time limit in seconds a call and a memory limit in MiB.
    Raises UsageError, TargetError or LanguageError; what the kernel does wrong is in the results.
    """
    chosen = contracts_for(operation, contract, classes)
    adapter = find(stack)
    if target.startswith("builtin:"):
        target = builtin(target.removeprefix("builtin:"), stack)
    options = Options(
        tuple(classes) if classes else None, tuple(dtypes) if dtypes else None, samples, seed, dict(params or {})
    )
    with opened(chosen, target, stack=stack, device=device, timeout=timeout, memory_mb=memory_mb) as kernel:
        report = kernel.load()
        return list(check_all(chosen, kernel, options, native=adapter.native_dtypes, watch=watch, report=report))


def builtin(operation: str, stack: str) -> str:
    """The target of a stack's own implementation of an operation. Raises UsageError when it has none."""
    from kernel_contracts.errors import UsageError
    from kernel_contracts.language.diagnostics import did_you_mean
    from kernel_contracts.stacks.natives import natives

    table = natives(stack)
    if operation not in table:
        hint = did_you_mean(operation, table)
        raise UsageError(f"stack {stack} has no builtin {operation}; {hint or 'see kc list operations'}")
    return table[operation]
