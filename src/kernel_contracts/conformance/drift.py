"""Two platforms held against each other: what changed, and whether it is silicon, driver or runtime.

A certificate is void for the classes that are to be measured again after such a change (`certificate.RETEST`); for the
others it goes on, and the change is named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kernel_contracts.measurement.fingerprint import digest

_KINDS = {
    "arch": "silicon",
    "cpu.model": "silicon",
    "cpu.flags": "silicon",
    "stack.device": "silicon",
    "stack.capability": "silicon",
    "os": "driver",
    "kernel": "driver",
    "stack.driver": "driver",
}
"""Everything else that is compared is the runtime: libraries, their builds and settings."""
_ASIDE = ("cpu.count", "cpu.usable", "memory_mb")
"""What a machine has more or less of, which no contract rests on."""


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, list[str]]:
    """What differs, in words, by kind."""
    old, new = dict(_flat(before)), dict(_flat(now))
    found: dict[str, list[str]] = {}
    for name in sorted(old.keys() | new.keys()):
        if name in _ASIDE or old.get(name) == new.get(name):
            continue
        words = f"{name}: {_said(old.get(name))} is now {_said(new.get(name))}"
        found.setdefault(_KINDS.get(name, "runtime"), []).append(words)
    return found


def silicon(facts: Mapping[str, Any]) -> str:
    """A digest of what a platform is made of; empty where nothing is known of it."""
    known = {k: v for k, v in _flat(facts) if _KINDS.get(k) == "silicon"}
    return digest(known) if known else ""


def _flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _said(value: Any) -> str:
    text = "nothing" if value in (None, "", []) else value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
