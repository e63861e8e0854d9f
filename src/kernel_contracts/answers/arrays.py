"""Arrays as people have them (NumPy, PyTorch, JAX, nested lists) as the bits of a number format.

Requirement: no value is converted on the way in, and no framework is imported that the caller has not imported: the
module of an array's type tells whose it is, and that framework's own stack adapter reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.formats import FORMATS, Format
from kernel_contracts.measurement.exchange import format_name, kind_of
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import from_storage, to_storage
from kernel_contracts.stacks.base import stacks

_ROOTS = {"jaxlib": "jax"}
"""Packages that hold the array type of a stack with another name."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an array lives, as a stack and a device of it."""

    stack: str = "numpy"
    device: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """One array of the caller: its values, and the format they came in."""

    values: Array
    """float64, int64 or bool."""
    format: str
    """Format name; NumPy's dtype name where the language has none; empty for lists and plain numbers."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def fits(self, fmt: Format) -> bool:
        """Whether this is an array of `fmt`. An index may have any integer width; lists are what they have to be."""
        if not self.format:
            return True
        if fmt.kind == "int" and self.values.dtype.kind == "i":
            return True
        return self.format == ("fp32" if fmt.name == "tf32" else fmt.name)

    def held_in(self, fmt: Format) -> Array:
        """The values in `fmt`; only a list is rounded. Raises ArithmeticScopeError when `fmt` cannot hold them."""
        if not self.format or fmt.kind == "int":
            return np.asarray(from_storage(to_storage(self.values, fmt)))
        return self.values

    def __str__(self) -> str:
        return f"{self.format or 'a list'} of shape {list(self.shape)}"


def read_array(value: Any) -> Given:
    """Raises TypeError with the end of a sentence, `it is a ...`, when `value` is no array of numbers."""
    if isinstance(value, bool | int | float | list | tuple):
        return _from_list(value)
    array = _native(value)
    name = format_name(array.dtype)
    if name not in FORMATS and array.dtype.kind not in "iuf":
        raise TypeError(f"it has dtype {array.dtype}, which is no format of real numbers, integers or truth values")
    if array.dtype.kind == "u" and array.size and int(array.max()) > FORMATS["int64"].max_int:
        raise TypeError(f"it holds {int(array.max())}, more than an int64 can")
    return Given(np.asarray(from_storage(array)), name)


def read_outputs(actual: Any) -> tuple[Given, ...]:
    """What a kernel returned: one array, or a tuple or list of arrays. TypeError as in `read_array`."""
    several = isinstance(actual, tuple) or (
        isinstance(actual, list) and any(not isinstance(a, bool | int | float | list) for a in actual)
    )
    return tuple(read_array(a) for a in actual) if several and not _numbers(actual) else (read_array(actual),)


def origin_of(*values: Any) -> Origin:
    """The stack and device of the first array that is not NumPy's."""
    for value in values:
        for item in value if isinstance(value, tuple | list) else (value,):
            owner = _owner(item)
            if owner != "numpy" and owner in stacks():
                device = str(getattr(item, "device", ""))
                return Origin(owner, "" if device == "cpu" else device)
    return Origin()


def _numbers(actual: Sequence[Any]) -> bool:
    """A flat sequence of plain numbers is one array."""
    return bool(actual) and all(isinstance(a, bool | int | float) for a in actual)


def _from_list(value: Any) -> Given:
    try:
        array = np.asarray(value)
    except ValueError:
        raise TypeError("it is a list whose rows differ in length") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"it is a {type(value).__name__} of something other than numbers")
    return Given(np.asarray(from_storage(array)), "")


def _owner(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return "numpy"
    root = type(value).__module__.partition(".")[0]
    return _ROOTS.get(root, root)


def _native(value: Any) -> Any:
    owner = _owner(value)
    if owner in stacks():
        return stacks()[owner].from_native(value)
    kind = kind_of(value)
    if not hasattr(value, "__array__") or not hasattr(value, "dtype"):
        raise TypeError(f"it is a {kind}; give a NumPy array, a tensor or a list of numbers")
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"it is a {kind} that NumPy cannot read ({error}); copy it to the host first") from None
