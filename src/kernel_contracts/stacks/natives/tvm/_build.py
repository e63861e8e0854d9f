"""Tensor expressions in, compiled kernels out, kept by what they were made for as long as the process runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kernel_contracts.stacks.tvm import accumulator, target

Array = Any
Expression = Any
Build = Callable[..., Any]
_Key = tuple[tuple[tuple[int, ...], str], ...]


def run(build: Build, *arrays: Array, **fixed: Any) -> Any:
    """What the expressions that `build` makes of the arrays come to: one array, or a tuple of them.

    Requirement: `build` is the same object at every call; `fixed` are numbers that become part of the kernel.
    """
    import tvm

    key = tuple((tuple(int(n) for n in a.shape), str(a.dtype)) for a in arrays)
    kernel, outputs = _compiled(build, key, tuple(sorted(fixed.items())))
    made = tuple(tvm.runtime.empty(shape, dtype) for shape, dtype in outputs)
    kernel(*arrays, *made)
    return made[0] if len(made) == 1 else made


@cache
def _compiled(build: Build, key: _Key, fixed: tuple[tuple[str, Any], ...]) -> tuple[Any, _Key]:
    import tvm
    from tvm import te

    inputs = [te.placeholder(shape, dtype, name=f"x{k}") for k, (shape, dtype) in enumerate(key)]
    with target():
        built = build(*inputs, **dict(fixed))
        outputs = list(built) if isinstance(built, tuple) else [built]
        kernel = tvm.compile(te.create_prim_func([*inputs, *outputs]), target=target())
    return kernel, tuple((tuple(int(n) for n in o.shape), str(o.dtype)) for o in outputs)


def wide(x: Expression) -> Expression:
    """The expression in the accumulator's dtype."""
    from tvm import topi

    return topi.cast(x, accumulator(str(x.dtype)))


def rounded(x: Expression, like: Expression) -> Expression:
    """The expression in the format of another."""
    from tvm import topi

    return topi.cast(x, str(like.dtype))


def number(value: float, like: Expression) -> Any:
    """A constant in the dtype of an expression."""
    from tvm import te

    return te.const(value, str(like.dtype))


def product(a: Any, b: Any) -> Any:
    """Two numbers multiplied exactly where float32 or float64 can, then taken into the accumulator."""
    dtype = str(a.dtype)
    held = "float64" if dtype == "float64" else "float32"
    return (a.astype(held) * b.astype(held)).astype(accumulator(dtype))
