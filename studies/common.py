"""What the case studies share: the check that everybody writes, our verdict, and the page made from both.

A study is a folder with `study.py`: `measure()` gives a record of plain values, `page(record)` the text of its page.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernel_contracts import check
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import KernelContractsError

ROOT = Path(__file__).parents[1]
SEED = 2026

Record = dict[str, Any]


def ordinary(kernel: Callable[..., Any], reference: Callable[..., Any], inputs: Sequence[Any], tolerance: float) -> str:
    """`passes` or `fails`: one call on one set of inputs, allclose with `tolerance` relative and absolute."""
    try:
        got = np.asarray(kernel(*(x.copy() for x in inputs)), np.float64)
    except Exception as error:
        return f"fails: {type(error).__name__}"
    want = np.asarray(reference(*inputs), np.float64)
    same = got.shape == want.shape and np.allclose(got, want, rtol=tolerance, atol=tolerance)
    return "passes" if same else "fails"


def judged(target: str, **how: Any) -> Record:
    """The worst verdict of `check`, its signature and its reason; the command that repeats it."""
    said = {"command": command(target, how)}
    try:
        results = check(target, seed=SEED, **how)
    except KernelContractsError as error:
        return {**said, "verdict": "not measured", "signature": "", "class": "", "reason": str(error), "notes": []}
    rank = [Verdict.VIOLATES, Verdict.UNDER_SPECIFIED]
    worst = min(results, key=lambda r: rank.index(r.verdict) if r.verdict in rank else len(rank))
    return {
        **said,
        "verdict": worst.verdict.value,
        "signature": str(worst.finding.signature or "") if worst.verdict is not Verdict.CONFORMS else "",
        "class": worst.contract.class_id,
        "contract": worst.contract.name,
        "reason": worst.finding.reason,
        "notes": list(worst.finding.notes),
        "cases": sum(r.finding.samples for r in results),
    }


def command(target: str, how: Mapping[str, Any]) -> str:
    """The same on the command line, typed at the root of the repository."""
    words = ["kc check", target.replace(f"{ROOT}/", "")]
    if how.get("stack", "numpy") != "numpy":
        words.append(f"--stack {how['stack']}")
    if "operation" in how:
        words.append(f"--as {how['operation']}")
    if "contract" in how:
        words.append("--contract " + how["contract"].replace(f"{ROOT}/", ""))
    words += [f"--class {c}" for c in how.get("classes") or ()]
    words += [f"--dtype {d}" for d in how.get("dtypes") or ()]
    words += [f"--samples {how['samples']}"] if how.get("samples") else []
    return " ".join([*words, f"--seed {SEED}"])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    return lines + ["| " + " | ".join(_cell(c) for c in row) + " |" for row in rows]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def said(r: Record) -> str:
    """A verdict in a cell."""
    return f"**{r['verdict']}** `{r['signature']}`" if r["signature"] else str(r["verdict"])


def shown(path: Path, language: str, only: str = "") -> list[str]:
    """A file of the study as a block, or one contract or function of it."""
    text = path.read_text("utf-8")
    if only:
        start = text.index(only)
        ends = [k for k in (text.find("\n\n\n", start), text.find("\n}\n", start)) if k > 0]
        end = min(ends, default=len(text))
        text = text[start : end + 2] if text[end : end + 3] == "\n}\n" else text[start:end]
    return [f"```{language}", text.strip("\n"), "```"]


def again(name: str, commands: Iterable[str], also: str = "") -> list[str]:
    """The last lines of a page: how to repeat it, and its single verdicts."""
    text = f"**Do it again.** `python studies/{name}/study.py` measures all of this and writes this page{also}. "
    return [*textwrap.wrap(f"{text}Single verdicts:", 116, break_on_hyphens=False), "", "```", *commands, "```"]


def main(name: str, measure: Callable[[], Record], page: Callable[[Record], str]) -> int:
    """Measure, keep the record beside the study, and write its page."""
    parser = argparse.ArgumentParser(description=f"Run the study {name!r} and write its page.")
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "docs" / "studies" / f"{name}.md")
    given = parser.parse_args()
    record = measure()
    (ROOT / "studies" / name / "record.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    given.out.write_text(page(record), "utf-8")
    sys.stdout.write(f"{given.out}\n")
    return 0
