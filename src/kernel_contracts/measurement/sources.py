"""What kernel files in other languages have in common: settings in their comments, and the sizes of a launch.

    // kc: formats = fp32, fp64
    // kc: global = M, N

Requirement: pure text and numbers; no library is imported. Every failure is a TargetError of one sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import TargetError
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.calls import Scope, Tensor
from kernel_contracts.measurement.exchange import DTYPES, poisoned, storage_name

UNTOLD = "fp32"
"""The format of a kernel that does not say which ones it takes."""

_LINE = re.compile(r"^\s*(?://|/\*)\s*kc:(.*?)(?:\*/)?\s*$", re.MULTILINE)
_PAIR = re.compile(r"(\w+)\s*=\s*(.+)")


def read(file: str) -> str:
    """The text of a kernel file."""
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(f"{Path(file).name} cannot be read: {error}") from None


def in_comments(text: str, place: str, known: tuple[str, ...]) -> dict[str, str]:
    """The settings of a source text, from its lines `// kc: name = value`."""
    return settings("; ".join(_LINE.findall(text)), place, known)


def settings(text: str, place: str, known: tuple[str, ...]) -> dict[str, str]:
    """The settings `name = value; name = value`; a name that nobody reads is refused."""
    found = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        pair = _PAIR.fullmatch(part)
        if pair is None or pair[1] not in known:
            raise TargetError(f"{place} says `kc: {part}`; write NAME = VALUE with one of {', '.join(known)}")
        found[pair[1]] = pair[2].strip()
    return found


def formats(given: Mapping[str, str], place: str) -> frozenset[str]:
    """The number formats that the kernel says it takes, fp32 where it says nothing, and integers, such as indices."""
    names = [n.strip() for n in given.get("formats", UNTOLD).split(",")]
    if wrong := [n for n in names if n not in FORMATS]:
        raise TargetError(f"{place} says it takes {', '.join(wrong)}, which is no number format; see kc list formats")
    return frozenset(names) | {f.name for f in FORMATS.values() if not f.is_real}


def entry(given: Mapping[str, str], file: str, name: str) -> str:
    """The kernel's own name. A file whose language has taken the name of its operation says `kernel = OTHER`."""
    return given.get("kernel", name) if name == Path(file).stem else name


def sizes(text: str, scope: Scope, place: str) -> tuple[int, ...]:
    """Numbers from `M, N * 2, 16`: the contract's sizes by name, and products."""
    named = dict(scope.dims)
    out = []
    for term in text.split(","):
        factors = [f.strip() for f in term.split("*")]
        if wrong := [f for f in factors if f not in named and not f.isdecimal()]:
            has = ", ".join(named) or "none"
            raise TargetError(f"{place} names the size {wrong[0]!r}; the sizes of the contract here: {has}")
        out.append(math.prod(named[f] if f in named else int(f) for f in factors))
    return tuple(out)


def work(given: Mapping[str, str], scope: Scope, place: str) -> tuple[int, ...]:
    """How many work items are launched: what the kernel's file says, else one for each element of the first output."""
    if "global" in given:
        return sizes(given["global"], scope, place)
    return (math.prod(scope.outputs[0].shape),)


def width(name: str) -> int:
    """Bytes of an element of a format."""
    return DTYPES[storage_name(name)].itemsize


def blank(tensor: Tensor) -> NDArray[np.generic]:
    """An output before the kernel writes it: full of poison, so that what is never written shows."""
    array: NDArray[np.generic] = poisoned(math.prod(tensor.shape), DTYPES[storage_name(tensor.format)])
    return array.reshape(tensor.shape)


def whole(scope: Scope, place: str) -> None:
    """Refuses a call whose sizes have no names: a kernel that is handed sizes as numbers cannot be told any."""
    if not scope.dims and any(t.shape for t in scope.inputs):
        raise TargetError(f"{place} is handed sizes as numbers, and the arrays of this call do not fit the contract's")
