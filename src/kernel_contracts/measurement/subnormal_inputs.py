"""Inputs around the least normal number: the text of a case says which, and the data is made from it.

`subnormal x beside 2^25`: one input holds subnormal numbers, the others a power of two of random sign. `least x beside
2^-2`: one input holds numbers from the least normal one up to twice that, so that what comes out is subnormal.
`beneath x beside 2^0`: what lies beneath the least normal number of the narrower output. `2^-63 in x beside 2^0`:
normal numbers whose square is subnormal. `least in all`, `ends` and `bits` speak for themselves. Every range is that
of the format that is measured: 2^-140 is subnormal in fp32, zero in bf16 and in fp16, and normal in fp64.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.formats import Format
from kernel_contracts.measurement.inputs.base import Request, TensorSpec, whole_or_bool
from kernel_contracts.measurement.moves import words
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import from_storage, round_to, storage_dtype, to_storage

ENDS, BITS, LEAST_IN_ALL = "ends", "bits", "least in all"
_ONE = re.compile(r"(subnormal|least|beneath|2\^-?\d+ in) (\w+) beside (\S+)$")
_POWER = re.compile(r"(2)\^(-?\d+)$")


def written(small: str, name: str, beside: str) -> str:
    return f"{small} {name} beside {beside}"


def make(request: Request, family: str) -> dict[str, Array]:
    """The inputs of a case as values. Integers are drawn as everywhere."""
    found = _ONE.match(family)
    out: dict[str, Array] = {}
    for spec in request.tensors:
        if not spec.is_real:
            out[spec.name] = whole_or_bool(spec, request)
        elif family == BITS:
            out[spec.name] = from_storage(patterns(spec, request.rng))
        elif family == LEAST_IN_ALL:
            out[spec.name] = _admitted(_least(spec, request.rng), spec)
        elif family == ENDS:
            out[spec.name] = _admitted(_ends(spec, request), spec)
        elif found is not None and spec.name == found[2]:
            out[spec.name] = _admitted(_small(found[1], spec, request), spec)
        else:
            out[spec.name] = _admitted(_plain(spec, request.rng, found[3] if found else ""), spec)
    return out


def make_bits(request: Request) -> dict[str, NDArray[Any]]:
    """The same for `bits`, as they are stored: a NaN's payload is no value."""
    return {
        spec.name: patterns(spec, request.rng)
        if spec.is_real
        else to_storage(whole_or_bool(spec, request), spec.format)
        for spec in request.tensors
    }


def _signs(spec: TensorSpec, rng: np.random.Generator) -> Array:
    return np.where(rng.random(spec.shape) < 0.5, -1.0, 1.0)


def _admitted(values: Array, spec: TensorSpec) -> Array:
    """The values in the tensor's format and within its precondition; small ones stay as small as they are."""
    held = round_to(np.clip(values, -spec.top, spec.top), spec.format, overflow="saturate")
    return np.abs(held) if spec.positive else held


def _small(kind: str, spec: TensorSpec, request: Request) -> Array:
    if kind == "beneath":
        return _beneath(spec, request)
    if kind == "subnormal":
        return _subnormal(spec, request.rng)
    least = spec.format.emin if kind == "least" else int(kind[2:-3])
    return _least(spec, request.rng, least)


def _beneath(spec: TensorSpec, request: Request) -> Array:
    """Down to a quarter of the output's least number, with digits that it cannot hold: rounding is claimed too."""
    rng, fmt = request.rng, request.output
    spread = 2.0 ** -((fmt.precision + 1) * rng.random(spec.shape))
    return np.asarray(fmt.least_normal * spread * _signs(spec, rng))


def _subnormal(spec: TensorSpec, rng: np.random.Generator) -> Array:
    """Whole multiples of the least number: both ends of the subnormal range, powers of two and what lies between."""
    least, count = spec.format.least_subnormal, 2.0 ** (spec.format.precision - 1)
    digits = spec.format.precision - 1
    anywhere = np.floor(2.0 ** (digits * rng.random(spec.shape)))
    upper = np.floor(count / 2 * (1 + rng.random(spec.shape)))
    power = 2.0 ** rng.integers(0, max(digits, 1), spec.shape)
    kind = rng.integers(0, 8, spec.shape)
    whole = np.select([kind == 0, kind == 1, kind == 2, kind < 5], [1.0, count - 1, power, anywhere], upper)
    return np.asarray(np.clip(whole, 1.0, count - 1) * least * _signs(spec, rng))


def _least(spec: TensorSpec, rng: np.random.Generator, exponent: int | None = None) -> Array:
    """From the least normal number, or another power, to twice it, with even last digits: half of it is exact."""
    steps = 2.0 ** (spec.format.precision - 2)
    whole = np.floor(steps * (1 + rng.random(spec.shape))) / steps
    whole = np.where(rng.integers(0, 8, spec.shape) == 0, 1.0, whole)
    power = spec.format.emin if exponent is None else exponent
    return np.asarray(np.ldexp(whole, power) * _signs(spec, rng))


def _plain(spec: TensorSpec, rng: np.random.Generator, beside: str) -> Array:
    """A power of two of random sign; a zero of random sign; ordinary numbers where nothing is said."""
    if beside == "subnormal":
        return _subnormal(spec, rng)
    if beside == "least":
        return _least(spec, rng)
    if beside == "0":
        return 0.0 * _signs(spec, rng)
    power = _POWER.match(beside)
    if power is not None:
        return math.ldexp(1.0, int(power[2])) * _signs(spec, rng)
    return np.asarray((1 + rng.integers(0, 7, spec.shape) / 8) * 2.0 ** rng.integers(-1, 2, spec.shape)) * _signs(
        spec, rng
    )


def _ends(spec: TensorSpec, request: Request) -> Array:
    """Arguments of exponentials: 0 first in each row, the others down to the logarithm of the least output."""
    fmt, rng = request.output, request.rng
    shallow, deep = -math.log(fmt.least_normal), -math.log(fmt.least_subnormal)
    values = -np.where(
        rng.random(spec.shape) < 0.75,
        shallow + (deep + 1 - shallow) * rng.random(spec.shape),
        shallow * rng.random(spec.shape),
    )
    values[..., :1] = 0.0
    return np.asarray(values)


def patterns(spec: TensorSpec, rng: np.random.Generator) -> NDArray[Any]:
    """Bits of every kind in random order: subnormals, both zeros, infinities, quiet and signalling NaN."""
    fmt, dtype = spec.format, storage_dtype(spec.format)
    plain = to_storage(np.asarray(_plain(spec, rng, "")), fmt)
    small = to_storage(_subnormal(spec, rng), fmt)
    zero = to_storage(0.0 * _signs(spec, rng), fmt)
    kind = rng.integers(0, 8, spec.shape)
    bits = np.select(
        [kind < 3, kind == 3, kind == 4], [words(small), words(zero), _specials(spec, rng)], words(plain)
    ).astype(words(plain).dtype)
    if bits.size > 2:  # whatever the draw, the three kinds that a converter changes are there
        flat = bits.reshape(-1)
        for place, source in enumerate((words(small), words(to_storage(np.full(spec.shape, -0.0), fmt)))):
            flat[place * (flat.size - 1) // 2] = source.reshape(-1)[0]
    return np.asarray(bits).view(dtype).reshape(spec.shape)


def _specials(spec: TensorSpec, rng: np.random.Generator) -> NDArray[Any]:
    """NaN with random payloads where the format has payloads, and infinities where it has them."""
    fmt, dtype = spec.format, storage_dtype(spec.format)
    word = np.dtype(f"u{dtype.itemsize}")
    sign = rng.integers(0, 2, spec.shape, dtype=np.int64).astype(np.uint64) << np.uint64(8 * dtype.itemsize - 1)
    if fmt.overflow != "inf":  # no infinities, and one NaN of either sign, or one at all
        nan = words(to_storage(np.full(spec.shape, np.nan), fmt)).reshape(spec.shape)
        return nan if fmt.name.endswith("fnuz") else np.asarray(nan | sign.astype(word))
    fraction = fmt.precision - 1
    infinity = int(words(to_storage(np.asarray(np.inf), fmt)).reshape(-1)[0])
    payload = rng.integers(1, 1 << min(fraction, 62), spec.shape, dtype=np.int64)
    value = np.where(rng.integers(0, 4, spec.shape) == 0, 0, payload).astype(np.uint64) | np.uint64(infinity) | sign
    return np.asarray(value.astype(word))


def levels(fmt: Format) -> Mapping[str, str]:
    """What stands beside small numbers: each level brings another step of a computation to the edge of the range."""
    up = min(fmt.precision + 1, math.frexp(fmt.max_finite)[1] - 2)
    return {"zero": "0", "one": "2^0", "less": "2^-2", "more": f"2^{up}", "least": "least", "subnormal": "subnormal"}
