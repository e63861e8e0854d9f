"""First looks whose outcome still lies on a device: kept until a step ends, then read all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernel_contracts.guarding.kit import Call, Kit


@dataclass(frozen=True, slots=True)
class Entry:
    """One call that was looked at."""

    call: Call
    kit: Kit
    flag: Any
    """Scalar on the device: suspicious."""
    seen: Any
    number: int
    seed: int
    step: int
    backward: bool
    again: Callable[[], Any]
    versions: tuple[int, ...]
    """PyTorch's counts of changes of each tensor."""

    @property
    def untouched(self) -> bool:
        """Whether the tensors still hold what the first look saw. Waits for the device.

        PyTorch's counts say most of it; what changes memory uncounted shows in the thin products.
        """
        return versions(self.call) == self.versions and self.call.unchanged(self.kit, self.seen)


class Pending:
    """Entries in the order of the calls, and the bytes that they keep alive. Its owner holds a lock."""

    def __init__(self, hold: int) -> None:
        self._hold = hold
        self._entries: list[Entry] = []
        self._storages: set[int] = set()
        self._bytes = 0

    def add(self, entry: Entry) -> bool:
        """Keep one; whether it is time to read them since they hold too much."""
        self._entries.append(entry)
        for x in entry.call.tensors:
            storage = x.untyped_storage()
            if storage.data_ptr() not in self._storages:  # kept alive, so that no other can come to lie there
                self._storages.add(storage.data_ptr())
                self._bytes += storage.nbytes()
        return self._bytes > self._hold

    def take(self) -> list[Entry]:
        """All, which are then forgotten."""
        found, self._entries = self._entries, []
        self._storages.clear()
        self._bytes = 0
        return found


def suspicious(entries: list[Entry]) -> list[Entry]:
    """Those whose flag is set: one transfer for each device."""
    import torch

    found: list[Entry] = []
    for device in dict.fromkeys(e.flag.device for e in entries):
        here = [e for e in entries if e.flag.device == device]
        flags = torch.stack([e.flag for e in here]).tolist()
        found += [e for e, flag in zip(here, flags, strict=True) if flag]
    return sorted(found, key=lambda e: e.number)


def versions(call: Call) -> tuple[int, ...]:
    """How often each tensor was changed; inference tensors do not count and cannot be changed by autograd."""
    return tuple(0 if x.is_inference() else int(x._version) for x in call.tensors)
