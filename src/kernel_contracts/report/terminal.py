"""What a person reads: one line a contract, then the story of each violation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kernel_contracts.contracts.evidence import Element, Finding, Observation, Outcome, Verdict
from kernel_contracts.contracts.model import Bound, Contract

STYLE = {
    Verdict.CONFORMS: "green", Verdict.VIOLATES: "bold red", Verdict.UNDER_SPECIFIED: "yellow",
    Verdict.INCONCLUSIVE: "yellow", Verdict.INAPPLICABLE: "dim", Verdict.ERROR: "bold magenta",
}  # fmt: skip
_WIDEST = max(len(v.value) for v in Verdict)


def summary_line(contract: Contract, bound: Bound, finding: Finding, seconds: float) -> Text:
    """One result on one line."""
    line = Text()
    line.append(f"{finding.verdict.value:<{_WIDEST}}", STYLE[finding.verdict])
    line.append(f"  {contract.class_id}  {contract.name:<24}")
    line.append(f" {', '.join(bound.dtypes.values()) or '-':<12}", "cyan")
    if finding.verdict is Verdict.CONFORMS:
        line.append(f" {ratio_text(finding.ratio):>7} of the bound, {finding.samples} cases, {seconds:.1f} s", "dim")
    elif finding.signature is not None:
        line.append(f" {finding.signature.name}", "bold")
    else:
        line.append(f" {finding.reason}", "dim")
    return line


def ratio_text(ratio: float) -> str:
    """A ratio for people: 0.42, 1.3e+04, more than any."""
    if math.isinf(ratio) or ratio > 1e9:
        return "> 1e9"
    return f"{ratio:.2f}" if 0.005 <= ratio < 1000 else f"{ratio:.1e}"


def story(
    contract: Contract, bound: Bound, finding: Finding, *, claim: str, doc: str, replay: str, target: str
) -> RenderableType:
    """Why a kernel violates, in words its author understands."""
    title = Text(f"{contract.name} {contract.version}", "bold")
    title.append(f"  {', '.join(f'{k} = {v}' for k, v in bound.dtypes.items())}", "cyan")
    title.append(f"  {target}", "dim")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    assert finding.signature is not None
    defect = Text(finding.signature.name, "bold red")
    defect.append(f": {finding.signature.detail}" if finding.signature.detail else "", "red")
    grid.add_row("defect", defect)
    if doc:
        grid.add_row("meaning", doc)
    grid.add_row("claim", contract.doc.strip().replace("\n", " ") or claim)
    witness = finding.witness
    if witness is not None:
        for label, value in _evidence(bound, witness):
            grid.add_row(label, Text(value))
        grid.add_row("input", _input(witness))
    grid.add_row("cases", f"{finding.failures} of {finding.samples} fail; shown is the smallest that does")
    for note in finding.notes:
        grid.add_row("note", Text(note))
    grid.add_row("contract", _place(contract.path))
    if replay:
        grid.add_row("again", Text(replay, "bold"))
    return Group(title, Padding(grid, (0, 0, 1, 2)))


def _place(path: str) -> str:
    """A file of the user's own by its path, one of the package's by its name."""
    found = Path(path)
    if found.parent.name == "library" and found.parent.parent.name == "contracts":
        return f"{found.name} of the standard library"
    return path


def _evidence(bound: Bound, o: Observation) -> Iterable[tuple[str, str]]:
    if o.outcome is not Outcome.RETURNED:
        yield "happened", f"{o.outcome.value.replace('_', ' ')}: {o.detail}"
        return
    if o.defect:
        yield "returned", o.detail
        return
    if o.mutated:
        yield "happened", f"the kernel wrote to its input {', '.join(o.mutated)}"
    reading = max(o.outputs, key=lambda r: r.ratio, default=None)
    if reading is None or reading.worst is None:
        return
    yield "measured", _element(reading.worst)
    yield (
        "extent",
        f"{reading.exceeding} of {reading.size} elements of {reading.name} outside the bound"
        + _where(reading.boundary, reading.region),
    )


def _element(e: Element) -> str:
    place = f"[{', '.join(str(i) for i in e.index)}]" if e.index else ""
    if e.tolerance == 0:
        allowed = "and nothing else is right: every step of it is exact"
    elif math.isinf(e.ratio):
        allowed = f"where a finite number within {e.tolerance:.3g} is due"
    else:
        allowed = f"within {e.tolerance:.3g}: off by {ratio_text(e.ratio)} times the bound"
    return f"{e.output}{place} = {e.got:.9g}, oracle {e.oracle:.9g}, {allowed}"


def _where(boundary: object, region: object) -> str:
    assert isinstance(boundary, dict)
    assert isinstance(region, dict)
    if boundary:
        parts = [f"along {axis} from index {first} on" for axis, first in boundary.items()]
        return f", {' and '.join(parts)}"
    return ""


def _input(o: Observation) -> str:
    sizes = ", ".join(f"{k} = {v}" for k, v in o.case.dims.items())
    scalars = "".join(f", {k} = {v}" for k, v in o.case.scalars.items())
    layout = "" if o.case.layout.value == "contiguous" else f", {o.case.layout.value}"
    return f"{o.case.family} values, {sizes or 'rank 0'}{scalars}{layout}, seed {o.case.seed}"


def totals(findings: Sequence[Finding]) -> Text:
    """The last line: how many of each verdict."""
    counts = {v: sum(f.verdict is v for f in findings) for v in Verdict}
    line = Text()
    for verdict, n in counts.items():
        if n:
            line.append("   " if line else "")
            line.append(f"{n} {verdict.value}", STYLE[verdict])
    samples = sum(f.samples for f in findings if f.verdict is Verdict.CONFORMS)
    if samples:
        line.append(f"   (0 failures in {samples} cases: below {3 / samples:.2g} at 95%)", "dim")
    return line


def console(stderr: bool = False) -> Console:
    """The console that all output goes to; a pipe or a log is not wrapped at 80 columns."""
    made = Console(stderr=stderr, highlight=False, soft_wrap=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=140)
