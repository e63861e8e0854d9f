"""What `kc check` of the machine's own matmul costs, split by what the time goes to, and how fast `kc --help` starts.

    python benchmarks/check_cost.py [--out FILE]

Shares of one run, so that the speed of the machine cancels out. Writes benchmarks/results/check_cost.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernel_contracts.api import check

RESULTS = Path(__file__).parent / "results"
PARTS = ("inputs", "candidate", "overhead", "oracle", "compare")


def measure(target: str, operation: str) -> dict[str, object]:
    """Seconds by part, summed over all cases of all contracts at default samples."""
    began = time.perf_counter()
    results = check(target, operation, seed=1)
    total = time.perf_counter() - began
    parts = dict.fromkeys(PARTS, 0.0)
    cases = 0
    for result in results:
        for seen in result.observations:
            cases += 1
            for part in PARTS:
                parts[part] += seen.timing.get(part, 0.0)
    verdicts = sorted({r.verdict.value for r in results})
    return {
        "target": target,
        "contracts": len(results),
        "cases": cases,
        "total": total,
        "parts": parts,
        "verdicts": verdicts,
    }


def startup(command: list[str], repeats: int = 7) -> float:
    """Median seconds of a command."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "check_cost.json")
    arguments = parser.parse_args()
    found = measure("numpy:matmul", "matmul")
    bare = startup([sys.executable, "-c", "pass"])
    help_time = startup([sys.executable, "-m", "kernel_contracts", "--help"])
    total = float(str(found["total"]))
    parts = found["parts"]
    assert isinstance(parts, dict)
    table = Table(
        "part",
        "seconds",
        "share",
        title=f"kc check numpy:matmul: {found['contracts']} contracts, {found['cases']} cases",
    )
    for part, seconds in parts.items():
        table.add_row(part, f"{seconds:.2f}", f"{seconds / total:.0%}")
    rest = total - sum(parts.values())
    table.add_row("rest (worker start, parsing, judging)", f"{rest:.2f}", f"{rest / total:.0%}")
    table.add_row("total", f"{total:.2f}", "100%")
    console = Console()
    console.print(table)
    console.print(f"kc --help: {help_time:.3f} s, {help_time / bare:.1f} times an empty Python process ({bare:.3f} s)")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(
        json.dumps({**found, "help": help_time, "python": bare}, indent=2) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
