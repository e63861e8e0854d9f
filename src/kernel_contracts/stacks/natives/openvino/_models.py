"""Tiny models: a function of ports in, an answer out; compiled once for each set of types and ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_contracts.stacks.openvino import library, runner

Value = Any
Port = Any
Ops = Any
"""The operation set: a module with one function an operation."""

_BUILT: dict[tuple[Any, ...], Callable[..., Any]] = {}


def made(build: Callable[..., Any], *values: Value, **fixed: Any) -> Any:
    """The answer of the model that `build(ops, *ports, **fixed)` describes; a tuple where it gives a list of ports."""
    types = tuple((v.element_type.to_string(), len(v.shape)) for v in values)
    key = (build.__code__, types, *sorted(fixed.items()))
    if key not in _BUILT:
        _BUILT[key] = _built(build, types, fixed)
    answers = _BUILT[key](values)
    return answers[0] if len(answers) == 1 else answers


def _built(build: Callable[..., Any], types: tuple[tuple[str, int], ...], fixed: dict[str, Any]) -> Callable[..., Any]:
    openvino = library()
    from openvino import opset15

    ports = [opset15.parameter([-1] * rank, getattr(openvino.Type, name)) for name, rank in types]
    found = build(opset15, *ports, **fixed)
    ends = [
        p if isinstance(p, openvino.Output) else p.output(0) for p in (found if isinstance(found, list) else [found])
    ]
    return runner(openvino.Model(ends, ports, "kernel"))


def whole(ops: Ops, *numbers: int) -> Port:
    """A list of integers."""
    return ops.constant(np.array(numbers, np.int64))


def one(ops: Ops, number: int) -> Port:
    """An integer."""
    return ops.constant(np.int64(number))


def wide(ops: Ops, x: Port) -> Port:
    """In fp32 at least."""
    return ops.convert(x, "f32") if x.get_element_type().to_string() in ("f16", "bf16") else x


def back(ops: Ops, y: Port, x: Port) -> Port:
    """In the format of `x` again."""
    there = x.get_element_type().to_string()
    return y if y.get_element_type().to_string() == there else ops.convert(y, there)


def number(ops: Ops, value: float, like: Port) -> Port:
    """A number in the format of a port."""
    return ops.constant(value, like.get_element_type())
