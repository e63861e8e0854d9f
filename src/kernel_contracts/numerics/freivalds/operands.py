"""The arguments of a check, understood: shapes, formats, transposes, what is added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.formats import FORMATS, STORED, Format, find, wider
from kernel_contracts.numerics.freivalds.arrays import adapter, dtype_name, host, is_jax, is_torch, is_traced, native
from kernel_contracts.numerics.freivalds.model import Arithmetic
from kernel_contracts.numerics.freivalds.screen import Addend

SMALL = 1 << 20
"""Elements of A, B and C up to which the check computes in float64: it costs nothing there and is sharper."""


@dataclass(frozen=True, slots=True)
class Operands:
    """One product or batch, ready for the screen."""

    a: Any
    b: Any
    c: Any
    alpha: float
    addends: tuple[Addend, ...]
    arithmetic: Arithmetic
    integer: bool

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(self.c.shape[:-2])

    @property
    def dims(self) -> tuple[int, int, int]:
        return int(self.c.shape[-2]), int(self.a.shape[-1]), int(self.c.shape[-1])


def understand(
    a: Any,
    b: Any,
    c: Any,
    *,
    accumulate: str = "",
    operands: str = "",
    alpha: float = 1.0,
    beta: float = 0.0,
    addend: Any = None,
    bias: Any = None,
    transpose: str = "",
    precision: str = "auto",
    chunk: int = 0,
) -> Operands:
    """Raises UsageError or ArithmeticScopeError in one sentence."""
    a, b, c = native(*(_array(x, name) for x, name in ((a, "a"), (b, "b"), (c, "c"))), precision=precision)
    if set(transpose) - {"a", "b"}:
        raise UsageError(f"transpose={transpose!r}: name the operands that are transposed: a, b or ab")
    a, b = (_transposed(x) if name in transpose else x for x, name in ((a, "a"), (b, "b")))
    _fit(a, b, c)
    addends = [] if bias is None else [Addend(1.0, _array(bias, "bias"))]
    if (addend is None) != (beta == 0.0):
        raise UsageError("beta and addend go together: give the matrix that beta multiplies")
    if addend is not None:
        addends.append(Addend(float(beta), _array(addend, "addend")))
    if isinstance(c, np.ndarray):
        addends = [Addend(e.factor, host(e.value)) for e in addends]
    for extra in addends:
        _broadcasts(extra.value, c)
    formats = [_format(x, name) for x, name in ((a, "a"), (b, "b"), (c, "c"))]
    integer = all(f.kind == "int" for f in formats)
    if not integer and not all(f.is_real for f in formats):
        raise ArithmeticScopeError(f"a product of {', '.join(str(f) for f in formats)}: give all real or all integer")
    accumulator = _accumulator(accumulate, formats)
    coerced = _named(operands) if operands else None
    check = _check_format(precision, accumulator, sum(math.prod(x.shape) for x in (a, b, c)))
    arithmetic = Arithmetic(accumulator, formats[2], check, chunk, coerced)
    lead = tuple(int(n) for n in c.shape[:-2])
    return Operands(_batched(a, lead), _batched(b, lead), c, float(alpha), tuple(addends), arithmetic, integer)


def matrices(o: Operands, place: tuple[int, ...]) -> tuple[Any, Any, Any, list[Addend]]:
    """One product of the batch as NumPy arrays of their own formats, and what is added to it."""
    addends = []
    for extra in o.addends:
        value = host(extra.value)
        value = np.broadcast_to(value, (*o.batch, *(value.shape[-2:] if value.ndim > 1 else (1, value.shape[0]))))
        addends.append(Addend(extra.factor, value[place]))
    return host(o.a[place]), host(o.b[place]), host(o.c[place]), addends


def added_rows(addends: Sequence[Addend], n: int) -> Any:
    """The function from row numbers to the rows added (float64) and the sums of magnitudes."""

    def rows(index: Any) -> tuple[Any, Any]:
        total, size = np.zeros((len(index), n)), np.zeros((len(index), n))
        for extra in addends:
            value = extra.value if extra.value.shape[0] == 1 else extra.value[index]
            with np.errstate(invalid="ignore", over="ignore"):
                part = extra.factor * np.asarray(value, dtype=np.float64)
                total, size = total + part, size + np.abs(part)
        return total, size

    return rows


def _array(x: Any, name: str) -> Any:
    if is_torch(x):
        return x.detach()
    if is_traced(x):
        raise UsageError(f"{name} has no values yet; check a product of JAX outside of jit and grad")
    if is_jax(x):
        return x
    if hasattr(x, "__array__") or isinstance(x, list | tuple):
        return np.asarray(x)
    raise UsageError(f"{name} is a {type(x).__name__}; give an array of NumPy or JAX or a tensor of PyTorch")


def _transposed(x: Any) -> Any:
    return x.transpose(-1, -2) if is_torch(x) else x.swapaxes(-1, -2)


def _fit(a: Any, b: Any, c: Any) -> None:
    shapes = " x ".join(str(tuple(x.shape)) for x in (a, b)) + f" -> {tuple(c.shape)}"
    if min(len(x.shape) for x in (a, b, c)) < 2:
        raise UsageError(f"{shapes}: give matrices, or batches of them")
    if a.shape[-1] != b.shape[-2] or c.shape[-2:] != (a.shape[-2], b.shape[-1]):
        raise UsageError(f"{shapes}: not the shapes of a product; see transpose= for transposed operands")
    lead = np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2])) if len(a.shape) + len(b.shape) > 4 else ()
    if tuple(c.shape[:-2]) != lead:
        raise UsageError(f"{shapes}: the batches do not fit; they broadcast to {lead}")


def _broadcasts(value: Any, c: Any) -> None:
    try:
        fits = np.broadcast_shapes(tuple(value.shape), tuple(c.shape)) == tuple(c.shape)
    except ValueError:
        fits = False
    if not fits or not value.shape:
        raise UsageError(f"{tuple(value.shape)} cannot be added to a product of shape {tuple(c.shape)}")


def _batched(x: Any, lead: tuple[int, ...]) -> Any:
    if tuple(x.shape[:-2]) == lead:
        return x
    shape = (*lead, *x.shape[-2:])
    return adapter(x, "fp32").broadcast(x, shape)


def _format(x: Any, name: str) -> Format:
    found = STORED.get(dtype_name(x))
    if found is None:
        raise ArithmeticScopeError(f"{name} is of {dtype_name(x)}, which is none of {', '.join(sorted(STORED))}")
    return found


def _named(name: str) -> Format:
    found = find(name)
    if found is None or not found.is_real:
        raise UsageError(f"{name!r} is no real number format; use fp32, fp16, bf16, tf32, fp64 or accN with N bits")
    return found


def _accumulator(name: str, formats: list[Format]) -> Format:
    if name:
        return _named(name)
    if all(f.kind == "int" for f in formats):
        return formats[2]
    widest = wider(wider(formats[0], formats[1]), formats[2])
    return widest if widest.precision > 24 else FORMATS["fp32"]


def _check_format(precision: str, accumulator: Format, elements: int) -> Format:
    if precision not in ("auto", "fp32", "fp64"):
        raise UsageError(f"precision={precision!r}: the check computes in fp32 or fp64; auto chooses")
    if precision == "auto":
        precision = "fp64" if accumulator.precision > 24 or elements <= SMALL else "fp32"
    return FORMATS[precision]
