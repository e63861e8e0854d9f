"""`kc` in this very process: what it prints, and how it ends."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_contracts.cli.app import main

KERNELS = Path(__file__).parents[1] / "hostile" / "kernels.py"


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON lines on standard output."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


def kc(*arguments: object) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    status: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(a) for a in arguments])
        except SystemExit as end:
            status = end.code
    assert isinstance(status, int), "kc ends by saying its status"
    return Ended(status, out.getvalue(), err.getvalue())


def check(target: object, *arguments: object, operation: str = "silu", seed: int = 3, samples: int = 4) -> Ended:
    """A short check in fp32."""
    chosen = () if "--contract" in arguments else ("--as", operation)
    return kc("check", target, *chosen, "--dtype", "fp32", "--samples", samples, "--seed", seed, *arguments)


def jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def verdicts(records: Iterable[dict[str, Any]]) -> dict[str, tuple[str, str | None]]:
    return {f"{r['contract']} {'-'.join(r['dtypes'].values())}": (r["verdict"], r["signature"]) for r in records}


def one_sentence(ended: Ended) -> str:
    """The complaint: one line on standard error, nothing else, never a traceback."""
    assert "Traceback" not in ended.out + ended.err
    assert ended.out == ""
    lines = ended.err.strip().splitlines()
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("kc: ")
    return lines[0]
