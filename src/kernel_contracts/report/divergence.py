"""What a person reads of a comparison: a matrix of the pairs, then each contract that is not settled, then the largest
divergences that are. Works from the published JSON form, so it shows nothing that a script cannot read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernel_contracts.report.terminal import ratio_text

STYLE = {
    "identical bits": "green", "legitimate divergence": "green", "A violates": "bold red", "B violates": "bold red",
    "both violate": "bold red", "under-specified": "yellow", "not comparable": "dim",
}  # fmt: skip
_SETTLED = ("identical bits", "legitimate divergence")
_LARGEST = 5
_WIDEST_MATRIX = 8


def divergence(record: Mapping[str, Any], *, every: bool = False) -> RenderableType:
    """The whole comparison. `every`: each contract of each pair, the settled ones included."""
    parts: list[RenderableType] = [_matrix(record["matrix"]), Text()]
    rows = record["rows"]
    for pair in record["matrix"]:
        mine = [r for r in rows if (r["a"], r["b"]) == (pair["a"], pair["b"])]
        parts += _pair(pair, mine, every)
    if record["alone"]:
        names = ", ".join(record["alone"])
        parts.append(Text(f"no counterpart in the other runs: {names}; kc compare of one run pairs its own", "dim"))
    parts.append(_totals(record["counts"]))
    return Group(*parts)


def _share(part: int, whole: int) -> str:
    return "-" if not whole else f"{part / whole:.0%}"


def _matrix(pairs: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Shares of cells that agree: bit for bit above the diagonal, within the contract below it."""
    names = list(dict.fromkeys(n for p in pairs for n in (p["a"], p["b"])))
    found = {(p["a"], p["b"]): p for p in pairs}
    complete = len(pairs) == len(names) * (len(names) - 1) // 2
    if not complete or len(names) > _WIDEST_MATRIX or len(names) == 2:
        return _pairs_table(pairs)
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for i, row in enumerate(names):
        cells = []
        for j, column in enumerate(names):
            pair = found.get((row, column)) or found.get((column, row))
            if pair is None:
                cells.append("")
            else:
                cells.append(_share(pair["identical"] if j > i else pair["within"], pair["cells"]))
        table.add_row(row, *cells)
    return Group(Text("cells that agree: bit for bit above, within the contract below", "dim"), table)


def _pairs_table(pairs: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("A", "B"):
        table.add_column(name)
    for name in ("cells", "same bits", "within contract", "not comparable", "only one offers"):
        table.add_column(name, justify="right")
    for p in pairs:
        shares = (_share(p["identical"], p["cells"]), _share(p["within"], p["cells"]))
        table.add_row(p["a"], p["b"], str(p["cells"]), *shares, str(p["not_comparable"]), str(p["unshared"]))
    return table


def _pair(pair: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], every: bool) -> list[RenderableType]:
    """The rows of one pair that want reading."""
    open_ = [r for r in rows if r["ruling"] not in _SETTLED]
    legitimate = [r for r in rows if r["ruling"] == "legitimate divergence"]
    legitimate.sort(key=lambda r: -float(r["ratio"]))
    shown = list(rows) if every else [*open_, *legitimate[:_LARGEST]]
    if not shown:
        return []
    title = Text.assemble(("A = ", "dim"), (pair["a"], "bold"), ("   B = ", "dim"), (pair["b"], "bold"))
    if not every and len(legitimate) > _LARGEST:
        title.append(f"   (of {len(legitimate)} legitimate divergences, the largest {_LARGEST})", "dim")
    return [title, *_lines(shown), Text()]


def _lines(rows: Iterable[Mapping[str, Any]]) -> list[Text]:
    """One line a row; rows that say the same one after another are told once."""
    out: list[Text] = []
    for r in _grouped(rows):
        line = Text()
        line.append(f"  {r['ruling']:<21}", STYLE[r["ruling"]])
        line.append(f"  {r['contract']:<30} ")
        line.append(f"{r['shown']:<10}", "cyan")
        if r["ruling"] == "legitimate divergence" and float(r["ratio"]) > 0:
            line.append(f" {ratio_text(float(r['ratio']))} of what is permitted, {r['differing']} of {r['elements']}")
            line.append(" elements")
        else:
            line.append(f" {r['reason']}")
        if r["missing_clause"]:
            line.append(f"; missing: {r['missing_clause']}", "yellow")
        out.append(line)
    return out


def _grouped(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Choices of dtypes of one contract with the same answer in one row, and contracts with the same obstacle."""
    out: list[dict[str, Any]] = []
    obstacles: dict[str, dict[str, Any]] = {}
    for r in rows:
        kinds = ",".join(r["dtypes"].values()) or "-"
        last = out[-1] if out else None
        if r["ruling"] == "not comparable":
            told = obstacles.setdefault(r["reason"], {**r, "names": [], "shown": ""})
            told["names"].append(r["contract"])
        elif last and all(last[k] == r[k] for k in ("contract", "ruling", "reason", "missing_clause")):
            last["shown"] += f" {kinds}"
        else:
            out.append({**r, "shown": kinds})
    for told in obstacles.values():
        names = list(dict.fromkeys(told["names"]))
        told["contract"] = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        told["shown"] = f"{len(told['names'])} cells" if len(told["names"]) > 1 else ",".join(told["dtypes"].values())
    return [*out, *obstacles.values()]


def _totals(counts: Mapping[str, int]) -> Text:
    line = Text()
    for ruling, n in counts.items():
        if n:
            line.append("   " if line else "")
            line.append(f"{n} {ruling}", STYLE[ruling])
    return line
