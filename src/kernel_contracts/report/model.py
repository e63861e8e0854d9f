"""What a person reads of a model on two platforms: how far its outputs agree, and which steps answer for the rest.

Works from the published JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernel_contracts.report.divergence import STYLE
from kernel_contracts.report.terminal import ratio_text


def model_report(record: Mapping[str, Any]) -> RenderableType:
    """One pair of platforms."""
    title = Text.assemble(
        (record["model"], "bold"), ("   A = ", "dim"), (record["a"], "bold"), ("   B = ", "dim"), (record["b"], "bold")
    )
    if record["failed"]:
        return Group(title, Text(f"  {record['failed']}", "bold red"))
    return Group(title, *(_output(n, g) for n, g in record["outputs"].items()), _steps(record), Text())


def _output(name: str, agreement: Mapping[str, Any]) -> Text:
    line = Text(f"  {name}: ")
    if not agreement["differing"]:
        return line.append(f"identical bits in {agreement['elements']} elements", "green")
    line.append(f"{agreement['differing']} of {agreement['elements']} elements differ, ")
    line.append(f"by {float(agreement['largest']):.2g} at most, {float(agreement['relative']):.2g} of the rms")
    if agreement["choices"] is not None:
        line.append(f"; the largest of a row is the same in {agreement['choices']:.0%}")
    return line


def _steps(record: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("  step", "operation", "contract"):
        table.add_column(name)
    table.add_column("of the permitted", justify="right")
    table.add_column("share of the end", justify="right")
    table.add_column("answer")
    for s in record["steps"]:
        identical = s["ruling"] == "identical bits"
        table.add_row(
            f"  {s['name']}",
            s["operation"],
            s["contract"],
            "" if identical else ratio_text(float(s["ratio"])),
            "" if identical else f"{s['share']:.0%}",
            Text(s["ruling"] if s["ruling"] in _QUIET else f"{s['ruling']}: {s['reason']}", STYLE[s["ruling"]]),
        )
    return table


_QUIET = ("identical bits", "legitimate divergence")
