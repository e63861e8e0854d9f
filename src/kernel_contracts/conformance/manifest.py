"""What a run is about, written before its first measurement: another run of it must be about the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.fingerprint import digest, platform_fingerprint
from kernel_contracts.version import VERSION

SCHEMA = 1


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One thing to measure: a platform, a contract, a choice of dtypes."""

    platform: str
    contract: str
    dtypes: str

    @property
    def path(self) -> str:
        return f"{self.platform}/{self.contract}/{self.dtypes}"

    def __str__(self) -> str:
        return self.path


def label(bound: Bound) -> str:
    """A choice of dtypes as the name of a file."""
    return "-".join(bound.dtypes.values()) or "any"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The frame of a run."""

    seed: int
    samples: int | None
    timeout: float
    memory: int
    platforms: tuple[Mapping[str, str], ...]
    contracts: tuple[Mapping[str, str], ...]
    """Name, version, class, operation and digest of each; its text stands in `contracts/`."""
    cells: tuple[Cell, ...]
    machine: Mapping[str, Any]
    tool: str = VERSION

    def as_json(self) -> dict[str, Any]:
        return {
            "record": "run",
            "schema": SCHEMA,
            "tool": self.tool,
            "seed": self.seed,
            "samples": self.samples,
            "timeout": self.timeout,
            "memory_mb": self.memory,
            "machine": dict(self.machine),
            "platforms": [dict(p) for p in self.platforms],
            "contracts": [dict(c) for c in self.contracts],
            "cells": [c.path for c in self.cells],
        }


def manifest_from(text: str, place: str) -> Manifest:
    """Raises UsageError where the text is no manifest that this tool can read."""
    try:
        data = json.loads(text)
        if data["record"] != "run" or data["schema"] != SCHEMA:
            raise UsageError(f"{place} is of another kind or version; this tool reads runs of version {SCHEMA}")
        return Manifest(
            int(data["seed"]),
            None if data["samples"] is None else int(data["samples"]),
            float(data["timeout"]),
            int(data["memory_mb"]),
            tuple({str(k): str(v) for k, v in p.items()} for p in data["platforms"]),
            tuple({str(k): str(v) for k, v in c.items()} for c in data["contracts"]),
            tuple(Cell(*_three(path)) for path in data["cells"]),
            dict(data["machine"]),
            str(data["tool"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{place} is not the manifest of a run: {type(error).__name__} {error}") from error


def _three(path: str) -> tuple[str, str, str]:
    platform, contract, dtypes = path.split("/")
    return platform, contract, dtypes


def machine() -> dict[str, Any]:
    """This machine as it bears on results, with its digest."""
    found = platform_fingerprint()
    return {"digest": digest(found), **found}


def entry(contract: Contract) -> dict[str, str]:
    """What a manifest says of a contract."""
    return {
        "name": contract.name,
        "version": contract.version,
        "class": contract.class_id,
        "operation": contract.operation,
        "digest": contract.digest,
        "file": f"contracts/{contract.name}.kc",
    }


_SAID = {
    "tool": "the tool's version",
    "seed": "the seed",
    "samples": "the number of samples",
    "timeout": "the time limit",
    "memory": "the memory limit",
}


def difference(before: Manifest, now: Manifest) -> str:
    """What is not the same, in words; empty where a run can go on."""
    for field, words in _SAID.items():
        old, new = getattr(before, field), getattr(now, field)
        if old != new:
            return f"{words} was {_shown(old)} and is now {_shown(new)}"
    names = _names("name", before.platforms, now.platforms)
    if names:
        return f"the platforms were {names[0]} and are now {names[1]}"
    for old, new in zip(before.platforms, now.platforms, strict=True):
        if {k: v for k, v in old.items() if k != "missing"} != {k: v for k, v in new.items() if k != "missing"}:
            changed = "its kernel's file was changed" if old["sha256"] != new["sha256"] else "it was something else"
            return f"of platform {old['name']} {changed}"
    names = _names("name", before.contracts, now.contracts)
    if names:
        return f"the contracts were {names[0]} and are now {names[1]}"
    for old, new in zip(before.contracts, now.contracts, strict=True):
        if old != new:
            return f"contract {old['name']} {old['version']} reads differently now"
    return _other_machine(before, now)


def _other_machine(before: Manifest, now: Manifest) -> str:
    if before.machine.get("digest") == now.machine.get("digest"):
        return ""
    keys = {*before.machine, *now.machine} - {"digest"}
    changed = sorted(k for k in keys if before.machine.get(k) != now.machine.get(k))
    return f"the machine is another one (its {', '.join(changed) or 'fingerprint'} changed)"


def _shown(value: Any) -> str:
    return "left open" if value is None else str(value)


def _names(key: str, old: Sequence[Mapping[str, str]], new: Sequence[Mapping[str, str]]) -> tuple[str, str] | None:
    a, b = [x[key] for x in old], [x[key] for x in new]
    return None if a == b else (_listed(a), _listed(b))


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown) if len(shown) <= 6 else f"{', '.join(shown[:5])} and {len(shown) - 5} more"
