"""`kc compare RUN RUN...`: who is right where platforms differ, if anyone is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernel_contracts.cli.exports import Exports, JUnit, Markdown


def compare(
    runs: Annotated[list[Path], typer.Argument(help="directories that kc run wrote; one alone: its platforms")],
    only: Annotated[
        list[str] | None, typer.Option("--platform", help="only these platforms, as PLATFORM or RUN:PLATFORM")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="write the comparison as JSON; - for standard output")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="show settled contracts too, one by one")] = False,
    junit: JUnit = None,
    markdown: Markdown = None,
) -> None:
    """Settle every contract for each pair of platforms.

    Exit 0 where every difference is identical bits or legitimate, 1 on a violation or an under-specified difference,
    2 where readings cannot be compared.
    """
    import json

    from kernel_contracts.cli.files import writing
    from kernel_contracts.conformance.comparing import compare as settle
    from kernel_contracts.conformance.readings import read
    from kernel_contracts.report.divergence import divergence
    from kernel_contracts.report.items import of_comparison
    from kernel_contracts.report.terminal import console

    found = settle(read(runs), only or ())
    record = found.as_json()
    text = json.dumps(record, indent=1, allow_nan=False) + "\n"
    to_stdout = json_file is not None and str(json_file) == "-"
    if to_stdout:
        typer.echo(text, nl=False)
    elif json_file is not None:
        with writing(json_file):
            json_file.write_text(text, encoding="utf-8")
    console(stderr=to_stdout).print(divergence(record, every=every))
    exports = Exports(junit, None, markdown)
    if exports.wanted:
        exports.write([of_comparison(row) for row in record["rows"]])
    raise typer.Exit(found.status)


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)
