"""Runs a check with progress, writes results as they come, and tells the story at the end."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TextIO

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from kernel_contracts.api import complete, offered, real_target
from kernel_contracts.checking import Options, Result, check_contract, check_pairs, contracts_for, measured, witness_of
from kernel_contracts.classes import classes
from kernel_contracts.cli.files import writing
from kernel_contracts.contracts.evidence import Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.heap import keep_freed_memory
from kernel_contracts.measurement.calls import LoadReport
from kernel_contracts.measurement.fingerprint import digest
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.ranked import Ranks, opened
from kernel_contracts.report.records import kernel_record, line, result_record, trace_record
from kernel_contracts.report.terminal import console, story, summary_line, totals
from kernel_contracts.signatures import signatures
from kernel_contracts.stacks.base import find

DEFAULT_KEEP = Path(".kc")


@dataclass
class Run:
    """One `kc check`."""

    target: str
    operation: str | None
    contract: str | None
    options: Options
    stack: str
    device: str
    timeout: float
    memory: int
    json_file: Path | None
    jobs: int
    keep: Path | None
    results: list[Result] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    def execute(self) -> list[Result]:
        """Measures everything; each result is printed and written before the next one starts."""
        self.target, self.operation = complete(self.target, self.operation, self.contract)
        chosen = contracts_for(self.operation, self.contract, self.options.classes)
        adapter = find(self.stack)
        real = real_target(self.target, self.stack)
        seed = self.options.seed if self.options.seed is not None else secrets.randbits(48)
        options = replace(self.options, seed=seed)
        measured(chosen, adapter.native_dtypes, options, f"stack {self.stack}")
        self._check_parameters(chosen)
        out = console(stderr=self._json_to_stdout)
        with opened(
            chosen, real, stack=self.stack, device=self.device, timeout=self.timeout, memory_mb=self.memory,
            forbid=options.forbid,
        ) as kernel:  # fmt: skip
            report = kernel.load()
            pairs = measured(chosen, offered(adapter.native_dtypes, report), options, self.target)
            out.print(
                f"{self.target}  on {self.stack} {report.stack_version} ({report.device}), seed {seed}", style="dim"
            )
            with self._writers() as (result_lines, traces):
                for result in self._measure(pairs, kernel, report, options, real, out, traces):
                    self._take(result, report, out, result_lines)
        self._stories(out)
        out.print(totals([r.finding for r in self.results]))
        return self.results

    @property
    def _json_to_stdout(self) -> bool:
        return self.json_file is not None and str(self.json_file) == "-"

    def _check_parameters(self, chosen: tuple[Contract, ...]) -> None:
        known = {s.name for c in chosen for s in c.scalars}
        for name in self.options.params:
            if name not in known:
                raise UsageError(f"--param {name}: these contracts have {', '.join(sorted(known)) or 'no parameters'}")

    @contextmanager
    def _writers(self) -> Iterator[tuple[TextIO | None, TextIO | None]]:
        """The files that lines go to, opened for appending, flushed a line."""
        opened: list[TextIO] = []
        try:
            result_lines: TextIO | None = None
            if self._json_to_stdout:
                result_lines = sys.stdout
            elif self.json_file is not None:
                result_lines = _open(self.json_file, opened)
            elif self.keep is not None:
                result_lines = _open(self.keep / "results.jsonl", opened)
            traces = _open(self.keep / "traces.jsonl", opened) if self.keep is not None else None
            yield result_lines, traces
        finally:
            for stream in opened:
                stream.close()

    def _measure(
        self,
        pairs: list[tuple[Contract, Bound]],
        kernel: Kernel | Ranks,
        report: LoadReport,
        options: Options,
        real: str,
        out: Any,
        traces: TextIO | None,
    ) -> Iterator[Result]:
        platform = digest(report.fingerprint)
        if self.jobs > 1:
            yield from self._parallel(pairs, options, real, report, traces)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
            task = progress.add_task("", total=1)

            def watch(contract: Contract, bound: Bound, done: int, total: int, seen: Observation) -> None:
                progress.update(task, description=f"{contract.name} {bound.label}", completed=done, total=total)
                if traces is not None:
                    _write(traces, line(trace_record(contract, bound, seen, kernel=report.sha256, platform=platform)))

            assert options.seed is not None
            yield from check_pairs(pairs, kernel, options, seed=options.seed, watch=watch, report=report)

    def _parallel(
        self,
        pairs: list[tuple[Contract, Bound]],
        options: Options,
        real: str,
        report: LoadReport,
        traces: TextIO | None,
    ) -> Iterator[Result]:
        limits = (self.stack, self.device, self.timeout, self.memory)
        platform = digest(report.fingerprint)
        with ProcessPoolExecutor(self.jobs, mp_context=get_context("spawn"), initializer=keep_freed_memory) as pool:
            futures = [pool.submit(_one, real, limits, contract, bound, options) for contract, bound in pairs]
            try:
                for future in as_completed(futures):
                    result = replace(future.result(), kernel=report)
                    if traces is not None:
                        for seen in result.observations:
                            record = trace_record(
                                result.contract, result.bound, seen, kernel=report.sha256, platform=platform
                            )
                            _write(traces, line(record))
                    yield result
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _take(self, result: Result, report: LoadReport, out: Any, result_lines: TextIO | None) -> None:
        self.results.append(result)
        out.print(summary_line(result.contract, result.bound, result.finding, result.seconds))
        if result.verdict is Verdict.CONFORMS:  # another verdict tells its story, notes included, at the end
            for note in result.finding.notes:
                out.print(f"  {note}", style="dim", highlight=False, markup=False)
        witness = self._save_witness(result, report)
        record = result_record(
            result.contract,
            result.bound,
            result.finding,
            seed=result.seed,
            seconds=result.seconds,
            kernel=kernel_record(self.target, report),
            platform=digest(report.fingerprint),
            witness=str(witness) if witness else "",
        )
        self.records.append(record)
        if result_lines is not None:
            _write(result_lines, line(record))

    def _witness_path(self, result: Result) -> Path:
        kinds = "-".join(result.bound.dtypes.values()) or "any"
        return (self.keep or DEFAULT_KEEP) / "witness" / f"{result.contract.name}-{kinds}-{result.seed}.json"

    def _save_witness(self, result: Result, report: LoadReport) -> Path | None:
        witness = witness_of(result, report, target=self.target, stack=self.stack, device=self.device)
        if witness is None:
            return None
        path = self._witness_path(result)
        try:
            witness.save(path)
        except OSError as error:
            console(stderr=True).print(f"kc: the witness could not be written to {path}: {error.strerror}")
            return None
        return path

    def _stories(self, out: Any) -> None:
        broken = [r for r in self.results if r.verdict is Verdict.VIOLATES]
        if broken:
            out.print()
        for result in broken:
            name = result.finding.signature.name if result.finding.signature else ""
            rule = signatures().get(name)
            out.print(
                story(
                    result.contract,
                    result.bound,
                    result.finding,
                    claim=classes()[result.contract.class_id].claim,
                    doc=rule.doc if rule else "",
                    replay=f"kc replay {self._witness_path(result)}",
                    target=self.target,
                )
            )


def _one(
    target: str, limits: tuple[str, str, float, int], contract: Contract, bound: Bound, options: Options
) -> Result:
    """One contract in a process of its own, for --jobs."""
    stack, device, timeout, memory = limits
    assert options.seed is not None
    with opened(
        [contract], target, stack=stack, device=device, timeout=timeout, memory_mb=memory, forbid=options.forbid
    ) as kernel:
        return check_contract(contract, bound, kernel, options, seed=options.seed)


def _open(path: Path, opened: list[TextIO]) -> TextIO:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a", encoding="utf-8")
    opened.append(stream)
    return stream


def _write(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()
