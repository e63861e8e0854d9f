"""One call of each operation that stacks of kernel files bring, with the answer in float64."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.calls import Scope, Tensor
from kernel_contracts.stacks.natives import natives

ESSENTIAL = {
    "add", "cumsum", "div", "embedding", "exp", "gather", "layernorm", "matmul", "max", "mul", "relu", "rmsnorm",
    "scatter_add", "softmax", "sum", "transpose",
}  # fmt: skip
ROWS, COLUMNS = 5, 7


class Case(NamedTuple):
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    dims: str
    scalars: dict[str, float] = {}  # noqa: RUF012


def cases() -> dict[str, Case]:
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal((ROWS, COLUMNS)).astype(np.float32) for _ in "xy")
    w, index = rng.standard_normal((COLUMNS, 3)).astype(np.float32), np.array([2, 0, 2])
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    hot = np.exp(wide)
    added = wide.copy()
    np.add.at(added, index, y[:3].astype(np.float64))
    one, two = {"x": x}, {"a": x, "b": y}
    layer = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 0.5) * y[0] + y[1]
    root = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 0.5) * y[0]
    rows = {"table": x, "index": index}
    updates = {"base": x, "updates": y[:3], "index": index}
    return {
        "add": Case(two, {"y": wide + y}, "R N"),
        "mul": Case(two, {"y": wide * y}, "R N"),
        "div": Case(two, {"y": wide / y}, "R N"),
        "relu": Case(one, {"y": np.maximum(wide, 0)}, "R N"),
        "exp": Case(one, {"y": hot}, "R N"),
        "sum": Case(one, {"y": wide.sum(-1)}, "R N"),
        "max": Case(one, {"y": wide.max(-1)}, "R N"),
        "cumsum": Case(one, {"y": wide.cumsum(-1)}, "R N"),
        "softmax": Case(one, {"y": hot / hot.sum(-1, keepdims=True)}, "R N"),
        "layernorm": Case({"x": x, "gamma": y[0], "beta": y[1]}, {"y": layer}, "R N", {"eps": 0.5}),
        "rmsnorm": Case({"x": x, "weight": y[0]}, {"y": root}, "R N", {"eps": 0.5}),
        "matmul": Case({"A": x, "B": w}, {"C": wide @ w}, "M K N"),
        "transpose": Case(one, {"y": wide.T}, "R N"),
        "gather": Case(rows, {"rows": wide[index]}, "V D N"),
        "embedding": Case(rows, {"rows": wide[index]}, "V D N"),
        "scatter_add": Case(updates, {"y": added}, "V D N"),
    }


def own(stack: Stack, operation: str, *arrays: Any, **scalars: Any) -> Any:
    """What a stack's own operation gives, called here: NumPy arrays in and out, a tuple where there are several."""
    module, _, name = natives(stack.name)[operation].partition(":")
    function = stack.compiled(getattr(importlib.import_module(module), name))
    found = function(*(stack.to_native(np.asarray(a), "") for a in arrays), **scalars)
    return tuple(map(stack.from_native, found)) if isinstance(found, list | tuple) else stack.from_native(found)


def assert_right(stack: Stack, operation: str) -> None:
    """That a stack's own operation, one of those above, is right."""
    case = cases()[operation]
    got = own(stack, operation, *case.inputs.values(), **case.scalars)
    (expected,) = case.outputs.values()
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=3e-6, atol=3e-6)


def scope(case: Case) -> Scope:
    formats = {"float32": "fp32", "int64": "int64"}
    inputs = tuple(Tensor(n, formats[a.dtype.name], a.shape) for n, a in case.inputs.items())
    outputs = tuple(Tensor(n, "fp32", a.shape) for n, a in case.outputs.items())
    sizes = {"R": ROWS, "M": ROWS, "V": ROWS, "K": COLUMNS, "D": COLUMNS, "N": COLUMNS}
    if "K" in case.dims or "D" in case.dims:
        sizes["N"] = 3
    return Scope(
        inputs, outputs, tuple((n, "real") for n in case.scalars), tuple((d, sizes[d]) for d in case.dims.split())
    )


def wrong(stack: Stack) -> Iterator[str]:
    """What is not as it should be among the operations of a stack's own; nothing where all is well."""
    own = natives(stack.name)
    yield from (f"{name} is missing" for name in sorted(ESSENTIAL - own.keys()))
    device = stack.devices()[0]
    for name, case in cases().items():
        file, _, entry = own[name].rpartition(":")
        launched = stack.open(file, entry, device).launch(scope(case))
        given = [stack.to_native(np.ascontiguousarray(a), device) for a in case.inputs.values()]
        got = stack.from_native(launched(*given, **case.scalars))
        (expected,) = case.outputs.values()
        if got.dtype != np.float32 or not np.allclose(got, expected, rtol=3e-6, atol=3e-6):
            yield f"{name} gave {got.ravel()[:4]}, not {np.ravel(expected)[:4]}"
