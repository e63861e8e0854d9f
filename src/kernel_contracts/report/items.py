"""Verdicts as continuous integration wants them: one item each, with the place in a file that it is about."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

FAILING = ("violates", "under-specified")
OPEN = ("inconclusive", "inapplicable")
LEVELS = {"violates": "error", "under-specified": "error", "error": "error", "inconclusive": "warning"}
"""How loud a verdict is where somebody has to look at it."""
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (section 2.2) has no way to write, lone surrogates among it, which strict readers of JSON refuse too."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, as a path from the working directory with forward slashes; absolute where it lies elsewhere."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Item:
    """One contract and choice of dtypes on one platform."""

    contract: str
    version: str
    class_id: str
    dtypes: str
    platform: str
    """Stack, platform of a run, or the two that a comparison is about."""
    target: str
    """What was measured, as it was asked for."""
    verdict: str
    reason: str
    signature: str = ""
    """Name of the defect."""
    detail: str = ""
    explanation: str = ""
    """What the signature means in general."""
    replay: str = ""
    """The command that runs the failure again."""
    seconds: float = 0.0
    place: Place | None = None
    """Of the contract."""
    kernel: Place | None = None
    """Of the kernel, where it is a file."""
    digest: str = ""
    """Of the contract's text."""

    def __post_init__(self) -> None:
        """Texts come from kernels: what no file format can hold is shown as a replacement character."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str):
                object.__setattr__(self, field.name, _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", value))

    @property
    def title(self) -> str:
        """The contract with its dtypes."""
        return f"{self.contract} {self.dtypes}".rstrip()

    @property
    def story(self) -> str:
        """What is wrong in one line: the signature, what it means, and how often."""
        name = f"{self.signature}: {self.detail}" if self.detail else self.signature
        parts = [name, self.explanation, self.reason]
        return ". ".join(p.rstrip(".") for p in parts if p) + "."

    @property
    def fingerprint(self) -> str:
        """The same for the same defect of the same kernel in later runs, whatever the seed."""
        words = (self.contract, self.class_id, self.dtypes, self.platform, self.target, self.verdict, self.signature)
        return hashlib.sha256("\0".join(words).encode()).hexdigest()


def of_result(
    record: Mapping[str, Any], platform: str, place: Place | None, explanation: str = "", replay: str = ""
) -> Item:
    """From a result as `--json` and runs keep it (`report.records`)."""
    kernel = str(record["kernel"].get("target", ""))
    return Item(
        record["contract"], record["version"], record["class"], ", ".join(record["dtypes"].values()), platform,
        kernel.removeprefix(f"{Path.cwd()}/"),
        record["verdict"], record["reason"], record["signature"] or "", record["detail"] or "", explanation, replay,
        float(record["seconds"]), place, kernel_place(kernel), record["digest"],
    )  # fmt: skip


_SETTLED = ("identical bits", "legitimate divergence")


def of_comparison(row: Mapping[str, Any]) -> Item:
    """From one row of `kc compare --json`: a contract and two platforms."""
    ruling = str(row["ruling"])
    verdict = {"under-specified": "under-specified", "not comparable": "inconclusive"}.get(ruling, "violates")
    signature, _, detail = str(row["signature_a"] or row["signature_b"] or "").partition(": ")
    return Item(
        row["contract"], row["version"], row["class"], ", ".join(row["dtypes"].values()),
        f"A = {row['a']}, B = {row['b']}", row["operation"], "conforms" if ruling in _SETTLED else verdict,
        f"{ruling}: {row['reason']}" if row["reason"] else ruling, signature, detail,
    )  # fmt: skip


def contract_place(path: str, name: str, around: Path) -> Place | None:
    """Where the contract `name` says what holds, its `post` clause; None where its file cannot be read."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    start = _first(lines, rf"\s*contract\s+{re.escape(name)}\s", 0)
    if start is None:
        return None
    end = _first(lines, r"\s*contract\s", start + 1)
    post = _first(lines[:end], r"\s*post\b", start)
    return Place(relative(Path(path), around), (start if post is None else post) + 1)


def kernel_place(target: str) -> Place | None:
    """The function of a target `file.py:function`, or the file."""
    path, _, function = target.rpartition(":")
    for text, name in ((path, function), (target, "")):
        file = Path(text)
        if text and file.is_file():
            return Place(relative(file, Path.cwd()), _function(file, name))
    return None


def _function(file: Path, name: str) -> int:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 1
    found = _first(lines, rf"\s*(async\s+)?def\s+{re.escape(name)}\b", 0) if name else None
    return 1 if found is None else found + 1


def relative(path: Path, around: Path) -> str:
    """The path from a folder, with forward slashes; absolute where it lies elsewhere."""
    full = path.resolve()
    return full.relative_to(around.resolve()).as_posix() if full.is_relative_to(around.resolve()) else full.as_posix()


def counts(items: Iterable[Item]) -> str:
    """`3 conforms, 1 violates`."""
    found = Counter(i.verdict for i in items)
    return ", ".join(f"{n} {verdict}" for verdict, n in found.most_common())


def _first(lines: list[str], pattern: str, start: int) -> int | None:
    return next((k for k in range(start, len(lines)) if re.match(pattern, lines[k])), None)
