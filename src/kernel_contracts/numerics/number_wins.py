"""Maximum and minimum that prefer a number to NaN: IEEE 754-2019 maximumNumber and minimumNumber, and their reductions.

A contract that declares `policy nan = number_wins` means its own program with these in place of the propagating ones.
NaN comes out only where nothing but NaN went in; the index of an extreme is that of a number, else 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.domains import Domain
from kernel_contracts.numerics.operators.base import Attrs, Value


def _pick(larger: bool) -> Value:
    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        return np.fmax(*args) if larger else np.fmin(*args)

    return value


def _extreme(larger: bool) -> Value:
    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        how = np.fmax if larger else np.fmin
        return np.asarray(how.reduce(np.asarray(args[0]), axis=attrs["axis"], keepdims=attrs["keep"]))

    return value


def _index(larger: bool) -> Value:
    def value(domain: Domain, attrs: Attrs, fmt: Format, args: list[Any]) -> Any:
        x: Array = np.asarray(args[0])
        axis = attrs["axis"][0]
        if x.dtype.kind == "f":
            best = (np.fmax if larger else np.fmin).reduce(x, axis=axis, keepdims=True)
            x = x == best  # nothing equals NaN, so a row of NaN alone gives the first index
            return np.asarray(np.argmax(x, axis=axis, keepdims=attrs["keep"]), dtype=np.int64)
        how = np.argmax if larger else np.argmin
        return np.asarray(how(x, axis=axis, keepdims=attrs["keep"]), dtype=np.int64)

    return value


NUMBER_WINS: dict[str, Value] = {
    "maximum": _pick(True), "minimum": _pick(False), "max": _extreme(True), "min": _extreme(False),
    "argmax": _index(True), "argmin": _index(False),
}  # fmt: skip
"""What to put in place of which operator."""
