"""Round float64 arrays to any real format, and carry values in and out of a format's storage type.

Requirement: every result is the correctly rounded one (to nearest, ties to even), subnormals and the top of the
range included, and no value is rounded twice on the way. A cast through an intermediate type does not give that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import Format
from kernel_contracts.numerics.nearest import nearest, to_odd

Array = NDArray[np.float64]
OverflowMode = Literal["format", "saturate", "inf"]

#: NumPy's own conversion to fp16 is the faster one for fewer elements than this.
_FEW = 4096
_FIELD = 52
_EXPONENT = np.int64(0x7FF << _FIELD)


def round_to(x: Any, fmt: Format, *, overflow: OverflowMode = "format", flush: bool = False) -> Array:
    """The nearest values of `fmt`, ties to even, held in float64.

    Past the range, `overflow` decides: what the format states, the largest finite number, or an infinity even where
    the format has none. Saturation takes infinities too, as the saturating conversions of hardware do. `flush`
    turns results that are subnormal in `fmt` into a zero of their sign; the test is made after rounding.
    """
    x = np.asarray(x, dtype=np.float64)
    _need_real(fmt)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if fmt.name == "fp64":
            out = x.copy()
            past = _past(out, fmt)
        elif fmt.name == "fp32" or (fmt.name == "fp16" and x.size < _FEW):
            out = x.astype(fmt.storage).astype(np.float64)
            past = _past(out, fmt)
        else:
            out, past = nearest(x, fmt)
        if past:
            _overflow(out, fmt, fmt.overflow if overflow == "format" else overflow)
        if flush:
            out = np.where(np.abs(out) < fmt.least_normal, np.copysign(0.0, out), out)
    if fmt.storage.endswith("fnuz"):
        out = out + 0.0  # these formats have no negative zero
    return np.asarray(out, dtype=np.float64)


def rounder(fmt: Format) -> Callable[[Array], Array]:
    """`round_to` for those who call it at every step of a loop.

    Requirement: float64 arrays, and `np.errstate` with overflow and invalid ignored.
    """
    if fmt.name in ("fp16", "fp32", "fp64") or fmt.storage.endswith("fnuz"):
        return lambda x: round_to(x, fmt)

    def step(x: Array) -> Array:
        out, past = nearest(x, fmt)
        if past:
            _overflow(out, fmt, fmt.overflow)
        return out

    return step


def round_sum(high: Any, low: Any, fmt: Format, *, overflow: OverflowMode = "format", flush: bool = False) -> Array:
    """The exact sum `high + low` rounded once to `fmt`, where `high` is that sum rounded to float64.

    First to odd: where `low` is not zero and `high` ends in a zero bit, the other neighbour of the sum is taken. What
    is then rounded to a format at least two bits shorter has been rounded once (Boldo and Melquiond, "Emulation of
    FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers, 2008).
    """
    high, low = np.asarray(high, dtype=np.float64), np.asarray(low, dtype=np.float64)
    _need_real(fmt)
    if fmt.precision <= _FIELD - 1:
        high = to_odd(high, low)
    elif fmt.name != "fp64":  # too long for that: where `high` is a tie, `low` decides
        tie = np.abs(high - round_to(high, fmt, overflow="inf")) * 2 == ulp_of(high, fmt)
        high = np.where(tie & (low != 0), np.nextafter(high, np.copysign(np.inf, low)), high)
    elif high.shape != low.shape:
        high = np.broadcast_arrays(high, low)[0]
    return round_to(high, fmt, overflow=overflow, flush=flush)


def ulp_of(x: Any, fmt: Format) -> Array:
    """The spacing of `fmt` at |x|: that of the subnormals near zero, that of the top binade past the range."""
    x = np.asarray(x, dtype=np.float64)
    _need_real(fmt)
    binade = (x.view(np.int64) & _EXPONENT).view(np.float64)  # 2^floor(log2 |x|), zero below the normal numbers
    top = 2.0 ** (math.frexp(fmt.max_finite)[1] - fmt.precision)
    out = np.clip(binade * fmt.eps, fmt.least_subnormal, top)
    return np.where(np.isnan(x), np.nan, out)


def storage_dtype(fmt: Format) -> np.dtype[Any]:
    """The NumPy dtype that holds `fmt`: its own where one exists, else the next wider float."""
    dtype: np.dtype[Any] = np.dtype(_storage(fmt))
    return dtype


def to_storage(x: Any, fmt: Format) -> NDArray[Any]:
    """Values as an array of the storage dtype, rounded to the format on the way."""
    x = np.asarray(x)
    if fmt.is_real:
        # float64 to a narrow type may pass through float32; after rounding that step is exact.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(round_to(x, fmt).astype(storage_dtype(fmt)))
    if x.dtype.kind == "f" and not (np.isfinite(x) & (x == np.trunc(x))).all():
        raise ArithmeticScopeError(f"{fmt.name}: a value is not a whole number; round it before storing it")
    if fmt.kind == "int" and x.size and (int(x.min()) < fmt.min_int or int(x.max()) > fmt.max_int):
        raise ArithmeticScopeError(
            f"{fmt.name}: values from {int(x.min())} to {int(x.max())} do not fit {fmt.min_int}..{fmt.max_int}"
        )
    return np.asarray(x.astype(storage_dtype(fmt)))


def from_storage(a: Any) -> NDArray[Any]:
    """Stored values back: reals as float64, integers as int64, bool as bool. Exact for every format."""
    stored: NDArray[Any] = np.asarray(a)
    if stored.dtype == np.bool_:
        return stored.copy()
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return stored.astype(np.int64 if stored.dtype.kind in "iu" else np.float64)


def _storage(fmt: Format) -> Any:
    if hasattr(np, fmt.storage) or fmt.storage == "bool":
        return fmt.storage
    import ml_dtypes

    return getattr(ml_dtypes, fmt.storage)


def _need_real(fmt: Format) -> None:
    if not fmt.is_real:
        raise ArithmeticScopeError(f"{fmt.name} is not a real format: there is no rounding to it; use fp32 or the like")


def _past(x: Array, fmt: Format) -> bool:
    """Whether anything is past the largest finite number; NaN counts."""
    if not x.size:
        return False
    return not (x.max() <= fmt.max_finite and x.min() >= -fmt.max_finite)


def _overflow(out: Array, fmt: Format, rule: str) -> None:
    """Apply the overflow rule in place."""
    top = fmt.max_finite
    if rule == "saturate":
        np.clip(out, -top, top, out=out)
        return
    past = np.abs(out) > top
    out[past] = np.nan if rule == "nan" else np.copysign(np.inf, out[past])
