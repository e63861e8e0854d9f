"""A failing case that can be run again: the contract's text, the target, the very inputs, and what was seen.

A witness is one JSON file. Arrays up to a few hundred elements are written as numbers so that people can read and
diff them; the bytes are always there, so that the replay is exact.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Case, Layout
from kernel_contracts.errors import UsageError
from kernel_contracts.formats import find
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import from_storage, storage_dtype, to_storage

VERSION = 1
_READABLE = 256


@dataclass(frozen=True, slots=True)
class Witness:
    """Everything a replay needs."""

    source: str
    """Canonical text of the contract and the definitions it uses."""
    contract: str
    case: Case
    inputs: Mapping[str, Array]
    formats: Mapping[str, str]
    target: str
    stack: str
    device: str
    signature: str
    detail: str
    seen: Mapping[str, Any]
    """Worst element: output, index, got, oracle, tolerance, ratio."""
    platform: Mapping[str, Any]
    path: str = ""
    """The contract's file: a reference in Python lies beside it."""

    def text(self) -> str:
        """The file's text."""
        data = {
            "version": VERSION,
            "contract": self.contract,
            "target": self.target,
            "stack": self.stack,
            "device": self.device,
            "signature": self.signature,
            "detail": self.detail,
            "seen": dict(self.seen),
            "case": case_json(self.case),
            "inputs": {n: _packed(x, self.formats[n]) for n, x in self.inputs.items()},
            "platform": dict(self.platform),
            "path": self.path,
            "source": self.source,
        }
        return json.dumps(data, indent=1, allow_nan=True) + "\n"

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text(), encoding="utf-8")


def load(path: str | Path) -> Witness:
    """Reads a witness. Raises UsageError in one sentence when the file is not one."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise UsageError(f"{path} is a witness of version {data['version']}; this tool reads version {VERSION}")
        return Witness(
            str(data["source"]),
            str(data["contract"]),
            case_from(data["case"]),
            {n: _unpacked(p) for n, p in data["inputs"].items()},
            {n: p["format"] for n, p in data["inputs"].items()},
            str(data["target"]),
            str(data["stack"]),
            str(data["device"]),
            str(data["signature"]),
            str(data["detail"]),
            dict(data["seen"]),
            dict(data["platform"]),
            str(data.get("path", "")),
        )
    except OSError as error:
        raise UsageError(f"cannot read the witness {path}: {error.strerror}; check the path") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is not a witness file: {type(error).__name__} {error}; give one that kc check wrote"
        ) from error


def case_json(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "family": case.family,
        "dtypes": dict(case.dtypes),
        "dims": dict(case.dims),
        "scalars": dict(case.scalars),
        "layout": case.layout.value,
        "seed": case.seed,
        "shape_family": case.shape_family,
    }


def case_from(data: Mapping[str, Any]) -> Case:
    return Case(**{**data, "layout": Layout(data["layout"])})


def _packed(x: Array, fmt: str) -> dict[str, Any]:
    found = find(fmt)
    assert found is not None
    stored = np.ascontiguousarray(to_storage(x, found))
    out: dict[str, Any] = {"format": fmt, "shape": list(stored.shape)}
    if stored.size <= _READABLE:
        out["values"] = np.asarray(from_storage(stored)).tolist()
    out["bytes"] = base64.b64encode(stored.tobytes()).decode()
    return out


def _unpacked(data: Mapping[str, Any]) -> Array:
    found = find(data["format"])
    if found is None:
        raise ValueError(f"unknown format {data['format']}")
    raw = np.frombuffer(base64.b64decode(data["bytes"]), dtype=storage_dtype(found))
    return np.asarray(from_storage(raw.reshape(data["shape"])))
