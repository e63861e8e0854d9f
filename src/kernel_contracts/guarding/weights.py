"""What a pass over each unchanged weight gave, for as long as it does not change."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

USES = 16
"""Products for which one secret serves before the weight is looked at with a new one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a pass over B gave."""

    secret: Any
    """The secret vector r."""
    image: Any
    """B r."""
    square: Any
    """Mean of the squared norms of B's rows."""
    mean: Any
    """Sum of the squared means of B's columns; None where it was not taken."""


class Weights:
    """Kept passes by weight. Thread-safe.

    Weights are parameters that the guard holds, so that the address of one cannot come to mean another. A change that
    PyTorch does not count shows as a suspicion, and is then looked at anew.
    """

    def __init__(self, parameters: Sequence[Any], uses: int = USES) -> None:
        self._by_address = {p.untyped_storage().data_ptr(): p for p in parameters if p.numel() and not p.is_meta}
        self._kept: dict[tuple[Any, ...], tuple[int, int, Kept]] = {}
        self._uses = uses
        self._lock = threading.Lock()
        self.reused = 0
        """Passes over a weight that were saved."""

    def find(self, b: Any) -> tuple[tuple[Any, ...] | None, Kept | None]:
        """The key of a weight, None for anything else, and what is kept under it."""
        if not self._by_address:
            return None, None
        parameter = self._by_address.get(b.untyped_storage().data_ptr())
        if parameter is None:
            return None, None
        key = (b.data_ptr(), b.shape, b.stride(), b.dtype)
        with self._lock:
            found = self._kept.get(key)
            if found is None or found[0] != parameter._version or found[1] >= self._uses:
                return key, None
            self._kept[key] = (found[0], found[1] + 1, found[2])
            self.reused += 1
        return key, found[2]

    def keep(self, key: tuple[Any, ...], b: Any, kept: Kept) -> None:
        parameter = self._by_address[b.untyped_storage().data_ptr()]
        with self._lock:
            self._kept[key] = (parameter._version, 1, kept)
