"""A run on disk: files that appear whole or not at all, and a ledger of their digests.

    manifest.json              what the run is about
    contracts/NAME.kc          the contracts' text
    fingerprints/DIGEST.json   the platforms it ran on
    cells/PLATFORM/CONTRACT/DTYPES.json   one result a file, with the answers to the fixed set
    traces/...jsonl            one line a call
    digests.jsonl              one line a file: its path and SHA-256, in the order of time

A file counts once the ledger names it with the digest that it has. So a run that was killed at any moment goes on with
what is complete, and a file that was changed afterwards shows.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernel_contracts.conformance.manifest import Cell, Manifest, manifest_from
from kernel_contracts.errors import UsageError

LEDGER, MANIFEST, LOCK = "digests.jsonl", "manifest.json", ".lock"


class RunDirectory:
    """Reads and writes one run directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.digests: dict[str, str] = {}

    # -------------------------------------------------------------------------------------------------- writing

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process writes to a run. The system lets go of the lock when that process ends, however it ends."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            stream = (self.root / LOCK).open("w")
        except OSError as error:
            raise UsageError(f"cannot write to {self.root}: {error.strerror}; choose another folder with -o") from error
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError(
                    f"another kc run is writing to {self.root}; wait for it, or use another folder"
                ) from error
            yield

    def busy(self) -> bool:
        """Whether a run is writing here at this moment."""
        try:
            with (self.root / LOCK).open() as stream:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:  # carried here without it
            return False
        except OSError:
            return True
        return False

    def begin(self, manifest: Manifest, contracts: Mapping[str, str]) -> None:
        """Writes the frame of a new run. The manifest comes last: without it there is no run."""
        strangers = [p.name for p in self.root.iterdir() if p.name not in (LOCK, LEDGER, "contracts")]
        if strangers:
            raise UsageError(f"{self.root} is no run and not empty: it holds {strangers[0]}; choose another folder")
        (self.root / LEDGER).unlink(missing_ok=True)
        self.digests.clear()
        for left in (self.root / "contracts").glob("*"):  # of a run that was ended before it had a manifest
            left.unlink()
        self.put({f"contracts/{name}.kc": text for name, text in contracts.items()})
        self.put({MANIFEST: json.dumps(manifest.as_json(), indent=1) + "\n"})

    def put(self, files: Mapping[str, str]) -> None:
        """Writes files whole, then enters all of them into the ledger in one step."""
        lines = []
        for path, text in files.items():
            data = text.encode()
            self._whole(self.root / path, data)
            self.digests[path] = hashlib.sha256(data).hexdigest()
            lines.append(json.dumps({"path": path, "sha256": self.digests[path]}))
        with (self.root / LEDGER).open("ab") as stream:
            stream.write(("\n".join(lines) + "\n").encode())
            stream.flush()
            os.fsync(stream.fileno())

    @staticmethod
    def _whole(place: Path, data: bytes) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_name(f".{place.name}.part")
        with beside.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(place)

    # -------------------------------------------------------------------------------------------------- reading

    def read_ledger(self) -> None:
        """Digests by path, the last entry of each; a line that was cut off by a kill is taken away."""
        place = self.root / LEDGER
        try:
            data = place.read_bytes()
        except OSError as error:
            raise UsageError(f"{self.root} is no run directory: {LEDGER} cannot be read ({error.strerror})") from error
        whole = data[: data.rfind(b"\n") + 1]
        try:
            entries = [json.loads(line) for line in whole.splitlines()]
            self.digests = {str(e["path"]): str(e["sha256"]) for e in entries}
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{place} is damaged: {type(error).__name__} {error}") from error

    def mend_ledger(self) -> None:
        """Cuts a half-written last line off, so that the next one starts on a line of its own."""
        place = self.root / LEDGER
        data = place.read_bytes()
        kept = data.rfind(b"\n") + 1
        if kept != len(data):
            with place.open("r+b") as stream:
                stream.truncate(kept)

    def text(self, path: str) -> str:
        """A file's text. UsageError where it is not in the ledger, is gone, or is not what was written."""
        if path not in self.digests:
            raise UsageError(f"{self.root / path} is not in the run's {LEDGER}; it was put there afterwards")
        try:
            data = (self.root / path).read_bytes()
        except OSError as error:
            raise UsageError(f"{self.root / path} cannot be read: {error.strerror}; the run is not complete") from error
        if hashlib.sha256(data).hexdigest() != self.digests[path]:
            raise UsageError(f"{self.root / path} was changed after the run: its digest is not that of {LEDGER}")
        return data.decode()

    def holds(self, path: str) -> bool:
        """Whether a file is complete."""
        with contextlib.suppress(UsageError):
            self.text(path)
            return True
        return False

    def manifest(self) -> Manifest | None:
        """The frame of the run; None where there is none yet."""
        if not (self.root / MANIFEST).is_file():
            return None
        return manifest_from(self.text(MANIFEST), str(self.root / MANIFEST))

    def cell(self, cell: Cell) -> dict[str, Any] | None:
        """The record of a cell; None where it is not finished."""
        path = cell_path(cell)
        if path not in self.digests:
            return None
        found: dict[str, Any] = json.loads(self.text(path))
        return found

    def verify(self) -> None:
        """Every file of the ledger is what was written, and there is no file beside them."""
        for path in self.digests:
            self.text(path)
        for place in self.root.rglob("*"):
            name = place.relative_to(self.root).as_posix()
            if (
                place.is_file()
                and name not in self.digests
                and name not in (LEDGER, LOCK)
                and not name.endswith(".part")
            ):
                raise UsageError(f"{place} is not in the run's {LEDGER}; it was put there afterwards")


def cell_path(cell: Cell) -> str:
    return f"cells/{cell.path}.json"


def trace_path(cell: Cell) -> str:
    return f"traces/{cell.path}.jsonl"
