"""Every operation of the standard library as NumPy and PyTorch implement it, at default settings, several seeds.

    python benchmarks/real_kernels.py [--stacks numpy,torch] [--seeds 5] [--operations a,b] [--classes X,Y] [--jobs 2]

None of them may be accused of anything but a listed finding: exit status 1 if one is. Writes
benchmarks/results/real_kernels.json, and every check beside it as JSON lines. With --resume what an interrupted run
has measured, with the same options, is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from finding_list import KNOWN
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from kernel_contracts.api import check
from kernel_contracts.checking import contracts_for
from kernel_contracts.errors import KernelContractsError
from kernel_contracts.stacks.natives import natives

RESULTS = Path(__file__).parent / "results"
FOUND = {(k.stack, k.operation, k.class_id): k.signatures for k in KNOWN if not k.kernel} | {
    ("torch", "silu", "C-ORD-02"): ("batch_dependent",),  # as GELU: S13
}
"""What is known to break a contract, each with an exact value of its own in the list of findings."""


def one(stack: str, operation: str, seed: int, classes: list[str]) -> list[dict[str, Any]]:
    """The contracts of one operation on one stack at one seed, those of `classes` where any are named."""
    if classes and not {c.class_id for c in contracts_for(operation, None)} & set(classes):
        return []
    try:
        results = check(f"builtin:{operation}", operation, stack=stack, seed=seed, classes=classes or None)
    except KernelContractsError as error:
        return [{"stack": stack, "operation": operation, "seed": seed, "verdict": "error", "reason": str(error)}]
    return [
        {
            "stack": stack,
            "operation": operation,
            "seed": seed,
            "contract": r.contract.name,
            "class": r.contract.class_id,
            "dtypes": dict(r.bound.dtypes),
            "verdict": r.verdict.value,
            "reason": r.finding.reason,
            "signature": str(r.finding.signature or ""),
            "ratio": min(r.finding.ratio, 1e300),
            "samples": r.finding.samples,
            "seconds": round(r.seconds, 2),
        }
        for r in results
    ]


def found(record: dict[str, Any]) -> bool:
    """Whether a violation is a listed finding, under its name."""
    names = FOUND.get((record["stack"], record["operation"], record.get("class", "")), ())
    return record["verdict"] == "violates" and record["signature"].partition(":")[0] in names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", default="numpy,torch")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--operations", default="")
    parser.add_argument("--classes", default="")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "real_kernels.json")
    arguments = parser.parse_args()
    wanted = set(arguments.operations.split(",")) - {""}
    jobs = [
        (stack, operation, arguments.first + k)
        for k in range(arguments.seeds)  # whole seeds first: what is interrupted has then measured everything so far
        for stack in arguments.stacks.split(",")
        for operation in sorted(natives(stack))
        if not wanted or operation in wanted
    ]
    classes = [c for c in arguments.classes.split(",") if c]
    records: list[dict[str, Any]] = []
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    lines = arguments.out.with_suffix(".jsonl")
    if arguments.resume and lines.exists():
        records = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
        measured = {(r["stack"], r["operation"], r["seed"]) for r in records}
        jobs = [job for job in jobs if job not in measured]
    else:
        lines.unlink(missing_ok=True)
    console = Console(width=140)
    with (
        ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool,
        Progress(console=console) as progress,
    ):
        task = progress.add_task("checking", total=len(jobs))
        for future in as_completed([pool.submit(one, *job, classes) for job in jobs]):
            results = future.result()
            records += results
            progress.advance(task)
            with lines.open("a", encoding="utf-8") as stream:  # whatever ends the run, what was measured stays
                stream.writelines(json.dumps(r) + "\n" for r in results)
    records.sort(key=lambda r: (r["stack"], r["operation"], r.get("contract", ""), str(r.get("dtypes")), r["seed"]))
    report(records, console)
    rows = [json.dumps(r) for r in summary(records)]
    arguments.out.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    return 1 if any(r["verdict"] in ("violates", "error", "under-specified") and not found(r) for r in records) else 0


def summary(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a stack and operation."""
    rows = []
    for stack, operation in sorted({(r["stack"], r["operation"]) for r in records}):
        mine = [r for r in records if (r["stack"], r["operation"]) == (stack, operation)]
        conform, violate = (sum(r["verdict"] == v for r in mine) for v in ("conforms", "violates"))
        rows.append(
            {
                "stack": stack,
                "operation": operation,
                "checks": len(mine),
                "conform": conform,
                "violate": violate,
                "other": len(mine) - conform - violate,
                "cases": sum(r.get("samples", 0) for r in mine),
                "worst_ratio": round(max((r["ratio"] for r in mine if "ratio" in r), default=0.0), 3),
            }
        )
    return rows


def report(records: list[dict[str, Any]], console: Console) -> None:
    """A line an operation and stack; whatever does not conform in full."""
    table = Table("stack", "operation", "checks", "conform", "violate", "other", "cases", "worst ratio")
    for row in summary(records):
        table.add_row(*(str(value) for value in row.values()), style="red" if row["violate"] else "")
    console.print(table)
    for r in records:
        if r["verdict"] != "conforms":
            console.print(
                f"{r['verdict']}: {r['stack']} {r['operation']} {r.get('contract')} {r.get('dtypes')} "
                f"seed {r['seed']}: {r['reason']} {r.get('signature')}"
            )
    total = sum(r.get("samples", 0) for r in records)
    listed = sum(map(found, records))
    accused = sum(r["verdict"] == "violates" for r in records) - listed
    console.print(f"{len(records)} checks, {total} cases, {accused} accused, {listed} listed findings")


if __name__ == "__main__":
    sys.exit(main())
