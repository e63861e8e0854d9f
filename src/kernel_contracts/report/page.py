"""`report.html`: what was measured, as one page that needs nothing but itself.

Names and messages of kernels are untrusted text: the templates escape all of it, and the page's own policy forbids
scripts and every request.
"""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import UsageError
from kernel_contracts.report.maps import HeatMap, TreePlot, heat_map, tree_plot
from kernel_contracts.report.measured import NOT_JUDGED, Call, Measured
from kernel_contracts.report.plots import ErrorPlot, Histogram, error_plot, frame, histogram
from kernel_contracts.report.terminal import ratio_text
from kernel_contracts.signatures import signatures

if TYPE_CHECKING:
    from jinja2 import Environment

SIGNS = {
    Verdict.CONFORMS: "✓", Verdict.VIOLATES: "✗", Verdict.UNDER_SPECIFIED: "~", Verdict.INCONCLUSIVE: "?",
    Verdict.INAPPLICABLE: "–", Verdict.ERROR: "!", NOT_JUDGED: "·",
}  # fmt: skip
"""A verdict is told by its sign and its word, never by a colour alone."""


@dataclass(frozen=True, slots=True)
class Column:
    """A platform: what it is called, and what it is."""

    name: str
    facts: str


@dataclass(frozen=True, slots=True)
class Source:
    """What the page was made from, and as whom it introduces itself."""

    title: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One contract and choice of dtypes across the platforms."""

    anchor: str
    contract: str
    version: str
    dtypes: str
    claim: str
    cells: tuple[Measured | None, ...]
    """One for each column; None where the platform has no such cell."""
    axes: str
    """The size that errors are drawn against."""
    panels: tuple[Panel, ...]

    @property
    def broken(self) -> bool:
        return any(c is not None and fails(c) for c in self.cells)


@dataclass(frozen=True, slots=True)
class Panel:
    """One platform's evidence about one contract, drawn."""

    cell: Measured
    error: ErrorPlot | None
    spread: Histogram | None
    where: HeatMap | None
    tree: TreePlot | None


@dataclass(frozen=True, slots=True)
class Group:
    """The contracts of one class."""

    id: str
    title: str
    rows: tuple[Row, ...]
    kept: tuple[str, ...]
    """For each platform, how many of the contracts that it offers it keeps."""


def fails(m: Measured) -> bool:
    return m.verdict == Verdict.VIOLATES or (m.verdict == NOT_JUDGED and m.failures > 0)


def require() -> None:
    """Raises UsageError where the template library is not there."""
    if importlib.util.find_spec("jinja2") is None:
        raise UsageError("pages need jinja2; install kernel-contracts[report]")


def environment() -> Environment:
    """The templates, with escaping on."""
    require()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("kernel_contracts.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters["ratio"] = ratio_text
    made.filters["sign"] = lambda verdict: SIGNS.get(verdict, "·")
    made.tests["failing"] = fails
    return made


def report_page(
    source: Source, columns: Sequence[Column], measured: Sequence[Measured], comparison: Mapping[str, Any] | None = None
) -> str:
    """The page's text. `comparison`: the JSON form of `kc compare`, where there are platforms to compare."""
    groups = _groups([c.name for c in columns], measured)
    broken = [(row, cell) for g in groups for row in g.rows for cell in row.cells if cell is not None and fails(cell)]
    counts = Counter(m.verdict for m in measured)
    text: str = environment().get_template("report.html").render(
        source=source, columns=columns, groups=groups,
        headline=headline(columns, measured),
        stories=[_story(row, cell) for row, cell in broken if cell.verdict == Verdict.VIOLATES],
        counts=[(v, counts[v]) for v in (*map(str, Verdict), NOT_JUDGED) if counts[v]],
        matrix=None if comparison is None else divergence(comparison),
        bare=any(m.calls and not any(c.residual is not None for c in m.calls) for m in measured),
    )  # fmt: skip
    return text


def headline(columns: Sequence[Column], measured: Sequence[Measured]) -> str:
    """The page in one sentence."""
    judged = [m for m in measured if m.verdict != NOT_JUDGED]
    if not judged:
        failing = sum(m.failures for m in measured)
        return f"{failing} of {sum(m.samples for m in measured)} calls lie outside the bound."
    bad: dict[str, int] = {}
    for m in judged:
        bad[m.column] = bad.get(m.column, 0) + (m.verdict == Verdict.VIOLATES)
    offered = Counter(m.column for m in judged if m.verdict != Verdict.INAPPLICABLE)
    parts = [f"{name} breaks {n} of {offered[name]} contracts" for name, n in bad.items() if n]
    if not parts:
        kept = sum(m.verdict == Verdict.CONFORMS for m in judged)
        asked = sum(offered.values())
        if len(columns) > 1:
            several = f"{len(columns)} platforms"
            whole = f"{several} keep every contract that they offer."
            return whole if kept == asked else f"{several} keep their contracts in {kept} of {asked} cells."
        who = columns[0].name
        return f"{who} keeps all {kept} contracts." if kept == asked else f"{who}: {kept} of {asked} contracts kept."
    rest = [c.name for c in columns if not bad.get(c.name)]
    shown = parts[:3] + ([f"{len(parts) - 3} more platforms break some"] if len(parts) > 3 else [])
    tail = f"; {_listed(rest)} break{'s' if len(rest) == 1 else ''} none" if rest else ""
    return f"{', '.join(shown)}{tail}."


def _listed(names: Sequence[str]) -> str:
    if len(names) > 3:
        return f"the other {len(names)}"
    return " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {names[2]}"


def _groups(names: Sequence[str], measured: Sequence[Measured]) -> list[Group]:
    known = classes()
    found: dict[str, dict[tuple[str, ...], dict[str, Measured]]] = {}
    for m in measured:
        found.setdefault(m.class_id, {}).setdefault(m.key, {})[m.column] = m
    ordered = sorted(found, key=lambda c: (list(known).index(c) if c in known else len(known), c))
    groups, number = [], 0
    for class_id in ordered:
        rows = []
        for cells in found[class_id].values():
            number += 1
            rows.append(_row(f"c{number}", [cells.get(name) for name in names]))
        kept = tuple(_kept([r.cells[k] for r in rows]) for k in range(len(names)))
        title = known[class_id].title if class_id in known else ""
        groups.append(Group(class_id, title, tuple(rows), kept))
    return groups


def _kept(cells: Sequence[Measured | None]) -> str:
    asked = [c for c in cells if c is not None and c.verdict not in (Verdict.INAPPLICABLE, NOT_JUDGED)]
    return f"{sum(c.verdict == Verdict.CONFORMS for c in asked)} of {len(asked)}" if asked else ""


def _row(anchor: str, cells: Sequence[Measured | None]) -> Row:
    there = [c for c in cells if c is not None]
    first = there[0]
    known = classes()
    claim = next((c.claim for c in there if c.claim), "")
    if not claim and first.class_id in known:
        claim = known[first.class_id].claim
    axes = frame([call for c in there for call in c.calls], next((c.size for c in there if c.size), ""))
    panels = tuple(
        Panel(c, error_plot(c.calls, axes) if axes else None, histogram(c.calls), heat_map(c.calls), tree_plot(c.calls))
        for c in there
    )
    return Row(
        anchor, first.contract, first.version, first.dtypes, claim, tuple(cells), axes.dim if axes else "", panels
    )


def _story(row: Row, m: Measured) -> dict[str, Any]:
    """Why a platform violates, line by line."""
    rule = signatures().get(m.signature)
    lines = [("meaning", rule.doc if rule else ""), ("claim", row.claim), ("happened", m.reason)]
    if m.worst:
        lines.append(("measured", _element(m.worst)))
    smallest = m.shown or min((c for c in m.calls if c.fails), key=_size, default=None)
    if smallest is not None:
        lines.append(("input", smallest.inputs))
    lines += [("note", n) for n in m.notes]
    return {"row": row, "cell": m, "lines": [(k, v) for k, v in lines if v]}


def _size(c: Call) -> int:
    return math.prod(max(n, 1) for n in c.dims.values())


def _element(worst: Mapping[str, Any]) -> str:
    """The worst element beside what was due. The record is a stranger's: what is missing is left out."""
    try:
        got, due, allowed = (float(worst[k]) for k in ("got", "oracle", "tolerance"))
        index = ", ".join(str(int(i)) for i in worst["index"])
        ratio = float(worst["ratio"])
    except (KeyError, TypeError, ValueError):
        return ""
    if allowed == 0:
        said = "and nothing else is right: every step of it is exact"
    elif math.isinf(ratio):
        said = f"where a finite number within {allowed:.3g} is due"
    else:
        said = f"within {allowed:.3g}: off by {ratio_text(ratio)} times the bound"
    return f"{worst.get('output', '')}{f'[{index}]' if index else ''} = {got:.9g}, oracle {due:.9g}, {said}"


_QUIET = ("identical bits", "legitimate divergence", "not comparable")
"""Counted, and not told one by one."""


def divergence(record: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison as a square, or as a list of pairs where not all pairs were compared, and what is not settled."""
    pairs = record["matrix"]
    names = list(dict.fromkeys(n for p in pairs for n in (p["a"], p["b"])))
    found = {(p["a"], p["b"]): p for p in pairs}
    square = len(names) > 2 and len(pairs) == len(names) * (len(names) - 1) // 2
    table = []
    for i, a in enumerate(names):
        line: list[tuple[str, float, bool] | None] = []
        for j, b in enumerate(names):
            pair = found.get((a, b)) or found.get((b, a))
            line.append(None if pair is None else _share(pair, "identical" if j > i else "within"))
        table.append((a, line))
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for r in record["rows"]:
        if r["ruling"] not in _QUIET:
            key = (r["a"], r["b"], r["contract"], r["ruling"], r["reason"])
            rows.setdefault(key, {**r, "kinds": []})["kinds"].append(", ".join(r["dtypes"].values()))
    return {
        "names": names, "square": square, "table": table, "open": list(rows.values()),
        "pairs": [(p, _share(p, "identical"), _share(p, "within")) for p in pairs],
        "counts": [(k, n) for k, n in record["counts"].items() if n],
    }  # fmt: skip


def _share(pair: Mapping[str, Any], what: str) -> tuple[str, float, bool]:
    """A share in words, as a number, and whether it is one of what the contract admits and below all."""
    if not pair["cells"]:
        return "–", 0.0, False
    share = pair[what] / pair["cells"]
    return f"{share:.0%}", share, what == "within" and share < 1
