"""What `kc tolerance` shows: the derived bound in words and numbers, beside what the usual tolerances would do.

The records are plain data; whoever measures fills them in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kernel_contracts.report.records import number


@dataclass(frozen=True, slots=True)
class Term:
    """One source of rounding of the reference."""

    operation: str
    """Its name in the reference where it has one, else the operator."""
    symbol: str
    """For example `gamma_512(fp32) |A||B|`."""
    words: str
    value: float
    """Relative to what the symbol multiplies."""


@dataclass(frozen=True, slots=True)
class UsualReading:
    """What a hand-written tolerance does on one output."""

    name: str
    rtol: float
    atol: float
    hides_typical: float
    """Median over elements: the error that passes, as a multiple of the derived tolerance."""
    hides_most: float
    """The same for the worst element."""
    flags: float
    """Share of elements of conforming executions that it calls wrong."""
    zeros: float
    """Share of elements for which it lets 0 pass."""


@dataclass(frozen=True, slots=True)
class OutputTolerance:
    """The derived absolute tolerance of one output over its elements."""

    name: str
    format: str
    elements: int
    smallest: float
    typical: float
    """Median."""
    largest: float
    rms: float
    """Root mean square of the output itself."""
    to_magnitude: float | None
    """Typical tolerance over the sum of magnitudes |A||B|; None where the reference is no plain sum of products."""
    honest: float
    """Largest error of the conforming executions tried, as a share of the tolerance."""
    free: float
    """Share of elements for which every answer is admitted."""
    exact: float
    """Share of elements with exactly one right answer."""
    usual: tuple[UsualReading, ...]

    @property
    def to_rms(self) -> float:
        return self.typical / self.rms if self.rms else math.inf


@dataclass(frozen=True, slots=True)
class ToleranceRecord:
    """The tolerance of one contract at one choice of dtypes and sizes, for standard normal inputs."""

    contract: str
    version: str
    class_id: str
    operation: str
    dtypes: Mapping[str, str]
    dims: Mapping[str, int]
    sampled: Mapping[str, int]
    """Sizes that were evaluated: sizes that no sum runs over are cut, which changes no element's tolerance."""
    executions: int
    """Conforming executions that were emulated."""
    emulated: Mapping[str, int]
    """Their sizes."""
    symbols: str
    terms: tuple[Term, ...]
    outputs: tuple[OutputTolerance, ...]
    seed: int

    def as_json(self) -> dict[str, Any]:
        """Strict JSON data; special numbers are strings."""
        found: dict[str, Any] = _plain(asdict(self))
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return number(value) if isinstance(value, float) else value


def render_tolerance(record: ToleranceRecord) -> RenderableType:
    """A page for a terminal."""
    title = Text(f"{record.operation}", "bold")
    title.append(f"  {', '.join(f'{k} = {v}' for k, v in record.dtypes.items())}", "cyan")
    title.append(f"  {_sizes(record.dims)}")
    title.append(f"  after {record.contract} {record.version} ({record.class_id})", "dim")
    parts: list[RenderableType] = [title, Text()]
    parts.append(Text("where the tolerance comes from", "bold"))
    parts.append(Padding(_terms(record), (0, 0, 1, 2)))
    for output in record.outputs:
        at = _sizes(record.sampled)
        parts.append(Text(f"{output.name} for N(0, 1) inputs, {output.elements} elements at {at}", "bold"))
        parts.append(Padding(_numbers(record, output), (0, 0, 1, 2)))
        parts.append(Text("what a tolerance written by hand would do, in units of the derived one", "bold"))
        parts.append(Padding(_usual(output), (0, 0, 1, 2)))
    return Group(*parts)


def _terms(record: ToleranceRecord) -> Table:
    grid = Table.grid(padding=(0, 2))
    for _ in range(3):
        grid.add_column(overflow="fold")
    for term in record.terms:
        grid.add_row(Text(term.operation, "dim"), Text(term.symbol, "cyan"), term.words)
    if not record.terms:
        grid.add_row("nothing is computed, so exactly one answer is right")
    return grid


def _numbers(record: ToleranceRecord, o: OutputTolerance) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("tolerance", f"{o.typical:.3g} typical, {o.smallest:.3g} to {o.largest:.3g}")
    grid.add_row("output", f"{o.rms:.3g} root mean square: the typical tolerance is {o.to_rms:.2g} of it")
    if o.to_magnitude is not None:
        grid.add_row("magnitudes", f"the typical tolerance is {o.to_magnitude:.2g} of the sum of magnitudes")
    runs = f"{record.executions} conforming executions at {_sizes(record.emulated)}"
    grid.add_row("honest", f"{runs}: off by {o.honest:.2g} of the tolerance at most")
    if o.exact:
        grid.add_row("exact", f"{o.exact:.0%} of the elements have exactly one right answer")
    if o.free:
        grid.add_row("open", f"{o.free:.0%} of the elements admit every answer")
    return grid


def _usual(o: OutputTolerance) -> Table:
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="dim")
    for name in ("tolerance", "hides an error of", "at most", "calls honest wrong", "takes zeros for right"):
        table.add_column(name)
    for u in o.usual:
        table.add_row(u.name, _times(u.hides_typical), _times(u.hides_most), f"{u.flags:.2%}", f"{u.zeros:.1%}")
    return table


def _times(x: float) -> str:
    if math.isinf(x):
        return "any size"
    return f"{x:.3g} x" if x < 1e6 else f"{x:.1e} x"


def _sizes(dims: Mapping[str, int]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in dims.items()) or "rank 0"
