"""The number systems a program can be evaluated in: float64, extended precision, and balls with a proved radius.

A domain gives arrays and the few functions that NumPy's operators do not cover. All of them hold the same program;
what differs is `u`, the roundoff of one operation, and so the oracle's own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import round_sum, round_to

Unary = Callable[[Any], Any]


def _vector(f: Callable[[float], float]) -> Unary:
    """A scalar function applied to each element of a float64 array."""

    def apply(x: Array) -> Array:
        flat = np.asarray(x, dtype=np.float64)
        return np.fromiter((f(v) for v in flat.ravel().tolist()), np.float64, flat.size).reshape(flat.shape)

    return apply


def _sigmoid(x: Any) -> Any:
    z = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + z), z / (1 + z))


class FloatDomain:
    """NumPy arithmetic in float64 or, where the platform has it, in 64-bit-mantissa extended precision."""

    def __init__(self, name: str, dtype: Any) -> None:
        self.name = name
        self.dtype = np.dtype(dtype)
        self.u = float(np.finfo(dtype).eps) / 2
        self.functions: dict[str, Unary] = {
            "exp": np.exp, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "tanh": np.tanh, "sqrt": np.sqrt,
            "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "sigmoid": _sigmoid,
            "erf": _vector(math.erf), "erfc": _vector(math.erfc),
        }  # fmt: skip
        if self.dtype != np.float64:
            self.functions["erf"] = lambda x: _through_balls("erf", x, self.dtype)
            self.functions["erfc"] = lambda x: _through_balls("erfc", x, self.dtype)

    @property
    def pairwise(self) -> bool:
        """Whether sums are added up in halves, so that their error grows with log n and not with n."""
        return bool(self.dtype != np.float64)

    def sum(self, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
        """The sum over `axes`; by halves in extended precision, where accuracy is what it is for."""
        if not self.pairwise or np.asarray(x).dtype != self.dtype or not np.size(x):
            return np.sum(x, axis=axes, keepdims=keep)
        for axis in axes:
            x = np.moveaxis(x, axis, -1)
            while x.shape[-1] > 1:
                n = x.shape[-1]
                halves = x[..., : n // 2] + x[..., n // 2 : n // 2 * 2]
                x = np.concatenate([halves, x[..., n - 1 :]], axis=-1) if n % 2 else halves
            x = np.moveaxis(x, -1, axis)
        return x if keep else np.squeeze(x, axis=axes)

    def real(self, x: Any) -> Any:
        """An array of this domain."""
        return np.asarray(x, dtype=self.dtype)

    def call(self, name: str, x: Any) -> Any:
        return self.functions[name](self.real(x))

    def power(self, x: Any, y: Any) -> Any:
        return np.power(self.real(x), self.real(y))

    def quotient(self, a: Any, b: Any) -> Any:
        """floor(a / b), without the error of a rounded quotient: 19 for 2 over the float64 nearest to 0.1."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.floor_divide(self.real(a), self.real(b))

    def remainder(self, a: Any, b: Any) -> Any:
        """a - b floor(a / b)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.mod(self.real(a), self.real(b))

    def larger(self, a: Any, b: Any) -> Any:
        return np.maximum(self.real(a), self.real(b))

    def compare(self, op: str, a: Any, b: Any) -> Any:
        return COMPARE[op](a, b)

    def floor(self, x: Any) -> Any:
        return np.floor(x)

    def round(self, x: Any, fmt: Format) -> Any:
        """Rounds once to `fmt`, whatever this domain's precision."""
        if self.dtype == np.float64:
            return round_to(x, fmt)
        with np.errstate(invalid="ignore", over="ignore"):
            high = np.asarray(x, dtype=np.float64)
            low = np.where(np.isfinite(high), np.asarray(x - high.astype(self.dtype), dtype=np.float64), 0.0)
        return round_sum(high, low, fmt).astype(self.dtype)

    def float64(self, x: Any) -> tuple[Array, Array]:
        """The value as an unevaluated sum of two float64 numbers."""
        with np.errstate(invalid="ignore", over="ignore"):
            high = np.asarray(x, dtype=np.float64)
            if self.dtype == np.float64:
                return high, np.zeros_like(high)
            low = np.asarray(x - high.astype(self.dtype), dtype=np.float64)
        return high, np.where(np.isfinite(low), low, 0.0)


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


class BallDomain:
    """Arrays of real balls (python-flint's arb): every result carries a proved radius, at any precision."""

    def __init__(self, bits: int = 160) -> None:
        import flint

        self.name = f"ball({bits})"
        self.bits = bits
        self.u = 0.0
        self._flint = flint
        self._arb = flint.arb
        arb = flint.arb
        table: dict[str, Callable[[Any], Any]] = {
            "exp": lambda x: x.exp(), "log": lambda x: x.log() if x > 0 else (arb("-inf") if x == 0 else arb("nan")),
            "log1p": lambda x: x.log1p(), "expm1": lambda x: x.expm1(), "tanh": lambda x: x.tanh(),
            "sqrt": lambda x: x.sqrt(), "rsqrt": lambda x: x.rsqrt(), "sin": lambda x: x.sin(),
            "cos": lambda x: x.cos(), "erf": lambda x: x.erf(), "erfc": lambda x: x.erfc(),
            "sigmoid": lambda x: 1 / (1 + (-x).exp()),
        }  # fmt: skip
        self.functions = {name: _object(f) for name, f in table.items()}

    def __enter__(self) -> BallDomain:
        self._before = self._flint.ctx.prec
        self._flint.ctx.prec = self.bits
        return self

    def __exit__(self, *_: object) -> None:
        self._flint.ctx.prec = self._before

    def real(self, x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype == object:
            # NumPy fills with plain numbers: an empty sum, a padding
            return x if all(type(p) is self._arb for p in x.flat) else _object(self._arb)(x)
        if x.dtype.kind in "iub":
            return _object(lambda n: self._arb(int(n)))(x)
        return _object(lambda n: self._arb(float(n)))(x)

    def sum(self, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
        """The sum over `axes`, its radius included."""
        return np.sum(x, axis=axes, keepdims=keep)

    def call(self, name: str, x: Any) -> Any:
        return self.functions[name](self.real(x))

    def power(self, x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.frompyfunc(lambda a, b: a**b, 2, 1)(self.real(x), self.real(y))

    def quotient(self, a: Any, b: Any) -> Any:
        return self.floor(self.real(a) / self.real(b))

    def remainder(self, a: Any, b: Any) -> Any:
        return self.real(a) - self.quotient(a, b) * self.real(b)

    def larger(self, a: Any, b: Any) -> Any:
        return np.frompyfunc(lambda p, q: p if self._mid(p) >= self._mid(q) else q, 2, 1)(self.real(a), self.real(b))

    def compare(self, op: str, a: Any, b: Any) -> Any:
        if np.asarray(a).dtype != object and np.asarray(b).dtype != object:
            return COMPARE[op](a, b)
        difference = _object(self._mid)(self.real(a) - self.real(b))
        return COMPARE[op](np.asarray(difference, dtype=np.float64), 0.0)

    def floor(self, x: Any) -> Any:
        return _object(lambda p: p.mid().floor())(self.real(x))

    def round(self, x: Any, fmt: Format) -> Any:
        high, low = self.float64(x)
        return self.real(round_sum(high, low, fmt))

    @staticmethod
    def _mid(ball: Any) -> float:
        return float(ball.mid())

    def float64(self, x: Any) -> tuple[Array, Array]:
        balls = self.real(x)
        high = np.asarray(_object(self._mid)(balls), dtype=np.float64)
        with np.errstate(invalid="ignore"):
            rest = _object(self._mid)(balls - self.real(np.where(np.isfinite(high), high, 0.0)))
        low = np.asarray(rest, dtype=np.float64)
        return high, np.where(np.isfinite(high) & np.isfinite(low), low, 0.0)

    def radius(self, x: Any) -> Array:
        """The proved error of each element."""
        return np.asarray(_object(lambda p: float(p.rad()))(self.real(x)), dtype=np.float64)


def _object(f: Callable[[Any], Any]) -> Unary:
    apply = np.frompyfunc(f, 1, 1)

    def over(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(apply(x), dtype=object)

    return over


def _through_balls(name: str, x: Any, dtype: np.dtype[Any]) -> Any:
    """A function NumPy lacks in extended precision, taken from balls of 96 bits."""
    with BallDomain(96) as balls, np.errstate(invalid="ignore", over="ignore"):
        high = np.asarray(x, dtype=np.float64)
        low = np.where(np.isfinite(high), np.asarray(x - high.astype(dtype), dtype=np.float64), 0.0)
        first, second = balls.float64(balls.call(name, balls.real(high) + balls.real(low)))
        return first.astype(dtype) + second.astype(dtype)


FLOAT64 = FloatDomain("fp64", np.float64)


def extended() -> FloatDomain | None:
    """Extended precision, or None where `long double` is no wider than float64."""
    if np.finfo(np.longdouble).nmant < 63:
        return None
    return FloatDomain("extended", np.longdouble)


Domain = FloatDomain | BallDomain
