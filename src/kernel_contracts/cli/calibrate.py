"""`kc calibrate [FILE|--all]`: three states and the mutation score of each contract; the scorecard."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernel_contracts.heap import keep_freed_memory

if TYPE_CHECKING:
    from kernel_contracts.calibration import Calibration
    from kernel_contracts.casebook.running import Trial
    from kernel_contracts.contracts.model import Bound, Contract
    from kernel_contracts.scorecard import Record


@dataclass(frozen=True, slots=True)
class Task:
    """One contract with its dtypes, or one page of the casebook."""

    contract: Contract | None = None
    bound: Bound | None = None
    name: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What its records have in common."""
        if self.contract is None or self.bound is None:
            return "trial", self.name
        return self.contract.name, str(dict(self.bound.dtypes))


def calibrate(
    path: Annotated[Path | None, typer.Argument(help="a contract file; the standard library with --all")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="every contract of the standard library and every kernel of the casebook")
    ] = False,
    classes: Annotated[list[str] | None, typer.Option("--class", help="only these contract classes")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0)] = None,
    score: Annotated[bool, typer.Option("--score/--no-score", help="run every mutant of the class")] = True,
    jobs: Annotated[int, typer.Option("--jobs", min=1)] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="append one JSON object a contract and dtype, or kernel")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="skip what --json holds already, with its seed")] = False,
    page_file: Annotated[Path | None, typer.Option("--scorecard", help="write the scorecard as Markdown")] = None,
) -> None:
    """Show that each contract separates a good kernel, a silently bad one and a visibly failing one."""
    from kernel_contracts.errors import UsageError
    from kernel_contracts.report.terminal import console
    from kernel_contracts.scorecard import holds, page, read_records

    if resume and json_file is None:
        raise UsageError("--resume needs --json FILE: the file of the run to go on with")
    records: list[Record] = read_records(json_file) if resume and json_file and json_file.exists() else []
    if seed is None:
        seed = int(records[0]["seed"]) if records else secrets.randbits(48)
    records = [r for r in records if r["seed"] == seed]
    done = {_record_key(r) for r in records}
    tasks = [t for t in _tasks(path, everything, classes) if t.key not in done]
    out = console()
    out.print(f"{len(tasks)} contract and dtype pairs and known kernels, seed {seed}", style="dim")
    for made in _measured(tasks, seed, score, jobs, out, json_file):
        records.append(made)
    _summary(records, out)
    if page_file is not None:
        _write(page_file, page(records))
    raise typer.Exit(0 if holds(records) else 1)


def _record_key(record: Record) -> tuple[str, str]:
    return ("trial", record["name"]) if record["record"] == "trial" else (record["contract"], str(record["dtypes"]))


def _tasks(path: Path | None, everything: bool, chosen: list[str] | None) -> list[Task]:
    from kernel_contracts.casebook.running import class_of, trial_names
    from kernel_contracts.contracts.catalogue import load_file, standard_library
    from kernel_contracts.errors import UsageError
    from kernel_contracts.vocabulary import vocabulary

    if (path is None) == (not everything):
        raise UsageError("say what to calibrate: a contract file, or --all for the standard library")
    found = standard_library(vocabulary()) if path is None else load_file(path, vocabulary())
    tasks = [Task(name=n) for n in trial_names() if not chosen or class_of(n) in chosen] if everything else []
    tasks += [Task(c, b) for c in found for b in c.bound if not chosen or c.class_id in chosen]
    if not tasks:
        raise UsageError(f"there is no contract of {', '.join(chosen or [])} here; see kc list contracts")
    return tasks


def _measured(
    tasks: Sequence[Task], seed: int, score: bool, jobs: int, out: Any, json_file: Path | None
) -> Iterator[Record]:
    """Records as they come, printed and kept: what was finished stays when the run is stopped."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        bar = progress.add_task("", total=len(tasks))
        for results in _run(tasks, seed, score, jobs, lambda text: progress.update(bar, description=text)):
            for result in results:
                line, record = _shown(result, seed)
                out.print(line, soft_wrap=True)
                if json_file is not None:
                    _append(json_file, record)
                yield record
            progress.advance(bar)


def _run(
    tasks: Sequence[Task], seed: int, score: bool, jobs: int, watch: Any
) -> Iterator[Sequence[Calibration | Trial]]:
    if jobs == 1:
        for task in tasks:
            yield _job(task, seed, score, watch)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=keep_freed_memory) as pool:
        futures = [pool.submit(_job, task, seed, score) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _job(task: Task, seed: int, score: bool, watch: Any = None) -> Sequence[Calibration | Trial]:
    from kernel_contracts.calibration import calibrate as run
    from kernel_contracts.casebook.running import trial

    if task.contract is None or task.bound is None:
        if watch is not None:
            watch(task.name)
        return trial(task.name, seed)
    return [run(task.contract, task.bound, seed=seed, score=score, watch=watch)]


def _shown(result: Calibration | Trial, seed: int) -> tuple[Any, Record]:
    from kernel_contracts.calibration import Calibration
    from kernel_contracts.scorecard import calibration_record, trial_record

    if isinstance(result, Calibration):
        return _line(result), calibration_record(result, seed)
    return _trial_line(result), trial_record(result, seed)


def _line(result: Calibration) -> Any:
    from rich.text import Text

    line = Text()
    line.append("separates   " if result.separates else "DOES NOT    ", "green" if result.separates else "bold red")
    line.append(f"{result.contract.class_id}  {result.contract.name:<24} {', '.join(result.bound.dtypes.values()):<12}")
    for state in ("good", "exact", "bad", "baseline"):
        kernels = [s for s in result.states if s.state == state]
        if not kernels and state == "exact":
            continue
        line.append(f"  {state} ", "dim")
        if not kernels:
            line.append("missing", "bold red")
            continue
        # the one that does not do what it must, where there is one
        shown = next((s for s in kernels if not s.ok), kernels[0])
        words = shown.verdict.value + (f" {shown.ratio:.2f}" if state in ("good", "exact") else "")
        line.append(words + (f" x{len(kernels)}" if len(kernels) > 1 else ""), "green" if shown.ok else "bold red")
        if state == "bad" and not shown.silent:
            line.append(" (fails an ordinary test)", "red")
    if result.mutants:
        line.append(f"  mutants {result.killed}/{result.valid}", "green" if not result.survivors else "yellow")
    return line


def _trial_line(result: Trial) -> Any:
    from rich.text import Text

    fault = "accused     " if result.conforms else "MISSED      "
    line = Text("as known    " if result.ok else fault, "green" if result.ok else "bold red")
    line.append(f"{result.class_id}  {result.name:<36} {result.dtypes:<12}  {result.verdict.value} {result.signature}")
    return line


def _summary(records: Sequence[Record], out: Any) -> None:
    from rich.table import Table

    from kernel_contracts.scorecard import CLASS_HEAD, class_cells, rows, survivors

    pairs = [r for r in records if r["record"] == "calibration"]
    lives = [(r, text, why) for r in pairs for text, why in survivors(r)]
    if lives:
        out.print("\nmutants that nothing kills", style="bold")
        for r, text, why in lives:
            out.print(f"  {r['contract']} {', '.join(r['dtypes'].values())}: {text}", highlight=False)
            out.print(f"    {why or 'not explained'}", style="dim" if why else "yellow", highlight=False)
    if any(r["valid"] for r in pairs):
        out.print("\nmutation score", style="bold")
        for row in rows(pairs):
            out.print(f"  {row.class_id}  {row.killed}/{row.valid} = {row.score:.1%}")
    if len(records) > len(pairs):
        table = Table(title="scorecard", title_justify="left", title_style="bold", box=None)
        for head in CLASS_HEAD:
            table.add_column(head)
        for row in rows(records):
            table.add_row(*class_cells(row))
        out.print()
        out.print(table)
    good = sum(bool(r["separates"]) for r in pairs)
    out.print(f"\n{good} of {len(pairs)} separate", style="bold")


def _append(path: Path, record: Record) -> None:
    import json

    _write(path, json.dumps(record) + "\n", "a")


def _write(path: Path, text: str, mode: str = "w") -> None:
    from kernel_contracts.cli.files import writing

    with writing(path), path.open(mode, encoding="utf-8") as stream:
        stream.write(text)


def register(app: typer.Typer) -> None:
    app.command("calibrate")(calibrate)
