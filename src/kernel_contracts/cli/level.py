"""`kc level RUN`: how far the evidence of a run reaches, contract by contract, and what the next level would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from kernel_contracts.conformance.profiles import Profile, Standing


Beside = Annotated[
    list[Path] | None,
    typer.Option("--beside", help="another run: of the same kernel on another machine, or of another version"),
]


def level(
    run: Annotated[Path, typer.Argument(help="a directory that kc run wrote")],
    profile: Annotated[
        str | None, typer.Option("--profile", help="FILE[:NAME]: only its contracts, against the levels it asks for")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--platform", help="only these platforms")] = None,
    beside: Beside = None,
) -> None:
    """Grade the evidence of a run, with what runs beside it add, L0 to L4.

    Exit 0, or with a profile 0 where every platform shown holds it and 1 where one does not.
    """
    from kernel_contracts.conformance.beside import opened, supported
    from kernel_contracts.conformance.profiles import load_profile, standings
    from kernel_contracts.conformance.readings import read
    from kernel_contracts.errors import UsageError
    from kernel_contracts.report.terminal import console

    wanted = load_profile(profile) if profile else None
    (reading,) = read([run])
    strangers = [p for p in only or () if p not in reading.platforms]
    if strangers:
        raise UsageError(f"{run} has no platform {strangers[0]}; it has {', '.join(reading.platforms)}")
    cells = supported(reading, opened(beside or ())).values()
    out = console()
    holds = True
    for platform in only or reading.platforms:
        found = standings([h for h in cells if h.cell.platform == platform], wanted)
        out.print(_table(platform, found))
        holds = holds and not any(s.refusal for s in found if wanted)
        if wanted:
            out.print(_verdict(platform, wanted, found), highlight=False)
    raise typer.Exit(0 if holds else 1)


def _table(platform: str, found: Sequence[Standing]) -> RenderableType:
    """One line a contract and choice of dtypes, with what is missing for the next level."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title=platform, title_justify="left", title_style="bold")
    for name in ("contract", "dtypes", "level", "by bound", "exact", "missing for the next"):
        table.add_column(name, overflow="fold")
    for standing in found:
        for cell, grade in standing.cells:
            kinds = [f"L{n}" if n is not None else "-" for n in (grade.by_bound, grade.by_exact)]
            style = "green" if grade.level > 1 else "yellow" if grade.level else "red"
            table.add_row(
                standing.contract, cell.cell.dtypes, f"[{style}]L{grade.level}[/]", *kinds,
                _plain("; ".join(grade.missing) or "nothing"),
            )  # fmt: skip
        if not standing.cells:
            table.add_row(standing.contract, "-", "-", "-", "-", _plain(standing.refusal or "not measured"))
    return table


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _verdict(platform: str, profile: Profile, found: Sequence[Standing]) -> str:
    refused = [s for s in found if s.refusal]
    head = f"{platform} {'does not hold' if refused else 'holds'} profile {profile.name} {profile.version}"
    return "\n".join([head, *(f"  {s.contract}: {_plain(s.refusal)}" for s in refused)])


def register(app: typer.Typer) -> None:
    app.command("level")(level)
