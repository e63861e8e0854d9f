"""Tables of docs/howto/freivalds.md from the results of freivalds.py: python benchmarks/freivalds_tables.py [FILE]"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "freivalds.json"


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" if row else "|" + "---|" * len(names) for row in (names, (), *rows))


def cost(rows: Sequence[Mapping[str, Any]]) -> str:
    """Medians, as shares."""
    names = ("threads", "format", "n", "check / product", "published / product", "check / read once",
             "check / published")  # fmt: skip
    return table(names, [_cost(r, {k: v["median"] for k, v in r.items() if isinstance(v, dict)}) for r in rows])


def _cost(row: Mapping[str, Any], seconds: Mapping[str, float]) -> list[str]:
    check, theirs = seconds["check"], seconds.get("published")
    shares = f"{check / seconds['product']:.2%}", f"{theirs / seconds['product']:.2%}" if theirs else ""
    over = f"{check / seconds['read once']:.2f}", f"{check / theirs:.2f}" if theirs else ""
    return [str(row["threads"]), row["dtype"], str(row["n"]), *shares, *over]


def floors(rows: Sequence[Mapping[str, Any]]) -> str:
    """As the check comes, without those in fp64."""
    names = ("format", "m x K x n", "floor", "floor / rms", "published floor", "ratio")
    shown = []
    for r in rows:
        if "precision" in r["dtype"]:
            continue
        theirs = r.get("published")
        beside = (f"{theirs:.2g}", f"{theirs / r['absolute']:.0f}") if theirs else ("", "")
        shown.append(
            [r["dtype"], " x ".join(map(str, r["shape"])), f"{r['absolute']:.2g}", f"{r['floor']:.2g}", *beside]
        )
    return table(names, shown)


def tables(found: Mapping[str, Any]) -> tuple[str, ...]:
    """All of them, in the order of the page."""
    return cost(found["cost"]), floors(found["floors"])


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    print("\n\n".join(tables(json.loads(file.read_text("utf-8")))))
