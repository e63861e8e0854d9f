"""`kc report` and `kc page`: what was measured, and what is certified, as pages to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    places: Annotated[
        list[Path],
        typer.Argument(help="directories of kc run, folders of kc check --keep, files of results and traces"),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="the page")],
) -> None:
    """Write one HTML page, to be opened from disk: matrix, stories, comparison, and the evidence drawn."""
    from kernel_contracts.cli.files import writing
    from kernel_contracts.conformance.gathering import gather
    from kernel_contracts.report.page import report_page, require

    require()
    found = gather(places)
    text = report_page(found.source, found.columns, found.measured, found.comparison)
    with writing(output):
        output.write_text(text, encoding="utf-8")
    cells = len(found.measured)
    typer.echo(f"{output}: {cells} cells, {len(text.encode()) / 1e6:.1f} MB; open it in any browser")


def page(
    certificate: Annotated[Path, typer.Argument(help="what kc certify wrote")],
    output: Annotated[Path, typer.Option("-o", "--output", help="the page")],
) -> None:
    """Write a certificate as one sheet to read and print. It shows what the file says; kc verify says if it holds."""
    from kernel_contracts.cli.files import writing
    from kernel_contracts.conformance.showing import countersigned, statement_of
    from kernel_contracts.report.sheet import certificate_page

    text = certificate_page(*statement_of(certificate), certificate.name, countersigned(certificate))
    with writing(output):
        output.write_text(text, encoding="utf-8")
    typer.echo(f"{output}: one sheet; kc verify says whether the certificate holds")


def register(app: typer.Typer) -> None:
    app.command("report")(report)
    app.command("page")(page)
