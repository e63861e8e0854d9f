"""`kc calibrate [FILE|--all]`: three states and the mutation score of each contract."""

from __future__ import annotations

import secrets
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kernel_contracts.calibration import Calibration
    from kernel_contracts.contracts.model import Bound, Contract

_Pair = tuple["Contract", "Bound"]


def calibrate(
    path: Annotated[Path | None, typer.Argument(help="a contract file; the standard library with --all")] = None,
    everything: Annotated[bool, typer.Option("--all", help="every contract of the standard library")] = False,
    classes: Annotated[list[str] | None, typer.Option("--class", help="only these contract classes")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0)] = None,
    score: Annotated[bool, typer.Option("--score/--no-score", help="run every mutant of the class")] = True,
    jobs: Annotated[int, typer.Option("--jobs", min=1)] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="append one JSON object a contract and dtype")
    ] = None,
) -> None:
    """Show that each contract separates a good kernel, a silently bad one and a visibly failing one."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from kernel_contracts.report.terminal import console

    pairs = _pairs(path, everything, classes)
    drawn = seed if seed is not None else secrets.randbits(48)
    out = console()
    out.print(f"{len(pairs)} contract and dtype pairs, seed {drawn}", style="dim")
    results: list[Calibration] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task("")

        def watch(text: str) -> None:
            progress.update(task, description=text)

        for result in _run(pairs, drawn, score, jobs, watch):
            results.append(result)
            out.print(_line(result))
            if json_file is not None:
                _append(json_file, result, drawn)
    _summary(results, out)
    raise typer.Exit(0 if all(r.separates for r in results) else 1)


def _pairs(path: Path | None, everything: bool, chosen: list[str] | None) -> list[_Pair]:
    from kernel_contracts.contracts.catalogue import load_file, standard_library
    from kernel_contracts.errors import UsageError
    from kernel_contracts.vocabulary import vocabulary

    if (path is None) == (not everything):
        raise UsageError("say what to calibrate: a contract file, or --all for the standard library")
    found = standard_library(vocabulary()) if path is None else load_file(path, vocabulary())
    pairs = [(c, b) for c in found for b in c.bound if not chosen or c.class_id in chosen]
    if not pairs:
        raise UsageError(f"there is no contract of {', '.join(chosen or [])} here; see kc list contracts")
    return pairs


def _run(pairs: list[_Pair], seed: int, score: bool, jobs: int, watch: Any) -> Any:
    from kernel_contracts.calibration import calibrate as run

    if jobs == 1:
        for contract, bound in pairs:
            yield run(contract, bound, seed=seed, score=score, watch=watch)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_job, contract, bound, seed, score) for contract, bound in pairs]
        for future in futures:
            yield future.result()


def _job(contract: Contract, bound: Bound, seed: int, score: bool) -> Calibration:
    from kernel_contracts.calibration import calibrate as run

    return run(contract, bound, seed=seed, score=score)


def _line(result: Calibration) -> Any:
    from rich.text import Text

    line = Text()
    line.append("separates   " if result.separates else "DOES NOT    ", "green" if result.separates else "bold red")
    line.append(f"{result.contract.class_id}  {result.contract.name:<24} {', '.join(result.bound.dtypes.values()):<12}")
    for state in ("good", "bad", "baseline"):
        kernels = [s for s in result.states if s.state == state]
        if not kernels:
            line.append(f"  {state} ", "dim")
            line.append("missing", "bold red")
            continue
        # the one that does not do what it must, where there is one
        shown = next((s for s in kernels if not s.ok), kernels[0])
        line.append(f"  {state} ", "dim")
        words = shown.verdict.value + (f" {shown.ratio:.2f}" if state == "good" else "")
        line.append(words + (f" x{len(kernels)}" if len(kernels) > 1 else ""), "green" if shown.ok else "bold red")
        if state == "bad" and not shown.silent:
            line.append(" (fails an ordinary test)", "red")
    if result.mutants:
        line.append(f"  mutants {result.killed}/{result.valid}", "green" if not result.survivors else "yellow")
    return line


def _summary(results: list[Calibration], out: Any) -> None:
    from kernel_contracts.calibration import totals

    survivors = [(r, m) for r in results for m in r.survivors]
    if survivors:
        out.print("\nsurvivors", style="bold")
        for r, m in survivors:
            out.print(f"  {r.contract.name} {r.bound.label}: {m.name}: {m.where}")
    if any(r.mutants for r in results):
        out.print("\nmutation score", style="bold")
        for name, (killed, valid) in totals(results).items():
            share = killed / valid if valid else 1.0
            out.print(f"  {name}  {killed}/{valid} = {share:.1%}")
    good = sum(r.separates for r in results)
    out.print(f"\n{good} of {len(results)} separate", style="bold")


def _append(path: Path, result: Calibration, seed: int) -> None:
    import json
    from dataclasses import asdict

    from kernel_contracts.report.records import number

    record = {
        "record": "calibration",
        "contract": result.contract.name,
        "version": result.contract.version,
        "class": result.contract.class_id,
        "dtypes": dict(result.bound.dtypes),
        "separates": result.separates,
        "seed": seed,
        "states": [{**asdict(s), "ratio": number(s.ratio)} for s in result.states],
        "killed": result.killed,
        "valid": result.valid,
        "survivors": [f"{m.name}: {m.where}" for m in result.survivors],
    }
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(record) + "\n")


def register(app: typer.Typer) -> None:
    app.command("calibrate")(calibrate)
