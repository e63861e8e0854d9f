"""`kc run`: many contracts on many platforms, into a directory that can be carried to another machine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernel_contracts.cli.exports import Annotations, Exports, JUnit, Markdown, Sarif, items_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from kernel_contracts.conformance.running import Run


def run(
    output: Annotated[Path, typer.Option("-o", "--output", help="the run's directory; an unfinished run goes on")],
    what: Annotated[
        list[str] | None,
        typer.Argument(help="operations, or contract files FILE.kc[:NAME]; none: the whole standard library"),
    ] = None,
    stacks: Annotated[str, typer.Option("--stacks", help="comma separated: numpy,torch@one-thread")] = "",
    kernels: Annotated[
        list[str] | None,
        typer.Option("--kernel", help="a kernel as a platform: NAME=TARGET or NAME=TARGET@STACK"),
    ] = None,
    classes: Annotated[list[str] | None, typer.Option("--class", help="only these contract classes")] = None,
    dtypes: Annotated[list[str] | None, typer.Option("--dtype", help="only these number formats")] = None,
    samples: Annotated[int | None, typer.Option("--samples", min=1, help="cases a contract and dtype")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="default: drawn by the system, always shown")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="device of the stacks")] = "",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="cells measured at once")] = 1,
    timeout: Annotated[float, typer.Option("--timeout", min=0.01, help="seconds a call")] = 30.0,
    memory: Annotated[int, typer.Option("--memory", min=1, help="MiB a kernel may take")] = 4096,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="also show that each contract tells good kernels from bad ones")
    ] = False,
    junit: JUnit = None,
    sarif: Sarif = None,
    markdown: Markdown = None,
    annotations: Annotations = False,
) -> None:
    """Measure many contracts on many platforms; killed at any moment, the same command goes on."""
    from kernel_contracts.conformance.platforms import platforms
    from kernel_contracts.conformance.running import Run, Wanted
    from kernel_contracts.report.terminal import console

    names = [n.strip() for text in stacks.split(",") if (n := text).strip()]
    wanted = Wanted(
        tuple(what or ()),
        platforms(names, kernels or (), device),
        tuple(classes) if classes else None,
        tuple(dtypes) if dtypes else None,
        samples,
        seed,
        timeout,
        memory,
        jobs,
    )
    one, out = Run(wanted, output), console()
    exports, seen = Exports(junit, sarif, markdown, annotations), list[dict[str, Any]]()
    try:
        counts = _measured(one, out, seen)
    finally:
        if exports.wanted and seen:  # what an interrupted run has found is reported, too
            contracts = [p.job.contract for p in one.plans]
            exports.write(items_of(((r["result"], r["platform"]) for r in seen), contracts, output))
    for record in one.calibrate() if calibrate else ():
        out.print(_separates(record))
    raise typer.Exit(_status(counts))


def _separates(record: dict[str, Any]) -> Text:
    """One calibration on one line."""
    from rich.text import Text

    line = Text()
    line.append(f"{'separates' if record['separates'] else 'does not':<15}", "green" if record["separates"] else "red")
    line.append(f" {'calibration':<16} {record['class']}  {record['contract']:<24}")
    return line.append(f" {', '.join(record['dtypes'].values()) or '-':<10}", "cyan")


def _measured(one: Run, out: Console, seen: list[dict[str, Any]]) -> Counter[str]:
    """Runs it with progress; counts the verdicts, and keeps the cells in `seen` as they come."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    counts: Counter[str] = Counter()
    before, witnesses = 0, []
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task("cells", total=None)
        for record, known in one.go():
            if not sum(counts.values()):
                progress.update(task, total=len(one.plans))
                out.print(f"{len(one.plans)} cells, seed {one.seed}, into {one.directory.root}", style="dim")
            seen.append(record)
            counts[record["result"]["verdict"]] += 1
            before += known
            if record["result"]["witness"]:
                witnesses.append(record["result"]["witness"])
            progress.advance(task)
            if not known:
                out.print(_line(record))
    if before:
        out.print(f"{before} of {len(one.plans)} cells were there already", style="dim", highlight=False)
    if witnesses:
        out.print(f"a violation runs again with kc replay {one.directory.root / witnesses[0]}", style="dim")
    out.print(_totals(counts))
    return counts


def _line(record: dict[str, Any]) -> Text:
    """One cell on one line."""
    from rich.text import Text

    from kernel_contracts.contracts.evidence import Verdict
    from kernel_contracts.report.terminal import STYLE, ratio_text

    result = record["result"]
    verdict = Verdict(result["verdict"])
    line = Text()
    line.append(f"{verdict.value:<15}", STYLE[verdict])
    line.append(f" {record['platform']:<16} {result['class']}  {result['contract']:<24}")
    line.append(f" {', '.join(result['dtypes'].values()) or '-':<10}", "cyan")
    if verdict is Verdict.CONFORMS:
        ratio = float(result["ratio"])
        line.append(f" {ratio_text(ratio)} of the bound, {result['samples']} cases, {result['seconds']:.1f} s", "dim")
    elif result["signature"]:
        line.append(f" {result['signature']}", "bold")
    else:
        line.append(f" {result['reason']}", "dim")
    return line


def _totals(counts: Counter[str]) -> Text:
    from rich.text import Text

    from kernel_contracts.contracts.evidence import Verdict
    from kernel_contracts.report.terminal import STYLE

    return Text("   ").join(Text(f"{counts[v.value]} {v.value}", STYLE[v]) for v in Verdict if counts[v.value])


def _status(counts: Counter[str]) -> int:
    """As `kc check` ends."""
    if counts["error"]:
        return 4
    if counts["violates"] or counts["under-specified"]:
        return 1
    return 0 if counts["conforms"] else 3


def register(app: typer.Typer) -> None:
    app.command("run")(run)
