"""The public door: check a kernel, state a tolerance, assert conformity. Everything else is behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernel_contracts.checking import Options, Result, Watch, check_all, contracts_for
from kernel_contracts.errors import UsageError
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.measurement.calls import LoadReport
from kernel_contracts.measurement.ranked import opened
from kernel_contracts.stacks.base import find
from kernel_contracts.stacks.natives import natives

BUILTIN = "builtin:"


def check(
    target: str = "",
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
    forbid: Sequence[str] = (),
) -> list[Result]:
    """Verdicts on the kernel `target` (`file.py:function`, `module:function`, `builtin:OPERATION`, a kernel file).

    `operation` names a standard-library operation, `contract` a file `FILE[:NAME]` instead; without a target, the
    stack's own implementation of it is measured. `stack` may name a variant, `torch@one-thread`. The kernel runs in a
    process of its own with a time limit in seconds a call and a memory limit in MiB; `forbid` names functions that
    it may not call, such as `torch.matmul`.
    Raises UsageError, TargetError or LanguageError; what the kernel does wrong is in the results.
    """
    target, operation = complete(target, operation, contract)
    chosen = contracts_for(operation, contract, classes)
    adapter = find(stack)
    target = real_target(target, stack)
    options = Options(
        tuple(classes) if classes else None, tuple(dtypes) if dtypes else None, samples, seed, dict(params or {})
    )
    with opened(
        chosen, target, stack=stack, device=device, timeout=timeout, memory_mb=memory_mb, forbid=forbid
    ) as kernel:
        report = kernel.load()
        native = offered(adapter.native_dtypes, report)
        return list(check_all(chosen, kernel, options, native=native, watch=watch, report=report))


def complete(target: str, operation: str | None, contract: str | None) -> tuple[str, str | None]:
    """Target and operation, each from the other where one is left out: `softmax` is `builtin:softmax`, and back."""
    if not target and operation is None:
        raise UsageError("say what to measure: a TARGET, or --as OPERATION for the stack's own implementation of it")
    if not target:
        return f"{BUILTIN}{operation}", operation
    if operation is None and contract is None and target.startswith(BUILTIN):
        return target, target.removeprefix(BUILTIN)
    return target, operation


def real_target(target: str, stack: str) -> str:
    """The target itself, or what `builtin:OPERATION` stands for on this stack."""
    return builtin(target.removeprefix(BUILTIN), stack) if target.startswith(BUILTIN) else target


def offered(native: frozenset[str], report: LoadReport) -> frozenset[str]:
    """The formats to measure when none are asked for: those of the stack, or of the kernel file."""
    return native if report.formats is None else report.formats


def builtin(operation: str, stack: str) -> str:
    """The target of a stack's own implementation of an operation. Raises UsageError when it has none."""
    table = natives(stack)
    if operation in table:
        return table[operation]
    if not table:
        raise UsageError(f"stack {stack} has no implementations of its own; name a kernel: kc check TARGET")
    close = f"{did_you_mean(operation, table)} " if len(table) > 12 else ""
    raise UsageError(f"stack {stack} has no builtin {operation}; {close.lstrip()}it has {', '.join(table)}")
