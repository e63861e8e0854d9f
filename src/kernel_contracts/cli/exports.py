"""The files for continuous integration that `kc check`, `kc run` and `kc compare` write beside what they print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kernel_contracts.contracts.model import Contract
    from kernel_contracts.report.items import Item

JUnit = Annotated[Path | None, typer.Option("--junit", help="write JUnit XML")]
Sarif = Annotated[Path | None, typer.Option("--sarif", help="write SARIF 2.1.0, which code hosts show beside lines")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="write a summary in Markdown")]
Annotations = Annotated[bool, typer.Option("--annotations", help="print workflow commands, as GitHub's runners read")]


@dataclass(frozen=True, slots=True)
class Exports:
    """What was asked for."""

    junit: Path | None = None
    sarif: Path | None = None
    markdown: Path | None = None
    annotations: bool = False

    @property
    def wanted(self) -> bool:
        return bool(self.junit or self.sarif or self.markdown or self.annotations)

    def write(self, items: Sequence[Item]) -> None:
        """Every file that can be written. Raises UsageError in one sentence for the first that cannot."""
        from kernel_contracts.cli.files import writing
        from kernel_contracts.errors import UsageError
        from kernel_contracts.report.junit import junit
        from kernel_contracts.report.markdown import markdown
        from kernel_contracts.report.sarif import sarif
        from kernel_contracts.report.workflow import commands

        makers: Sequence[tuple[Path | None, Callable[[Sequence[Item]], str]]] = (
            (self.junit, junit), (self.sarif, sarif), (self.markdown, markdown),
        )  # fmt: skip
        failed: list[UsageError] = []
        for path, make in makers:
            if path is None:
                continue
            try:
                with writing(path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(make(items), encoding="utf-8")
            except UsageError as error:
                failed.append(error)
        if self.annotations:
            for line in commands(items):
                typer.echo(line)
        if failed:
            raise failed[0]


def items_of(
    records: Iterable[tuple[Mapping[str, Any], str]], contracts: Iterable[Contract], witnesses: Path | None = None
) -> list[Item]:
    """Items from results, each with its platform; witnesses lie below a folder where they are not named in full."""
    from kernel_contracts.report.items import contract_place, of_result
    from kernel_contracts.signatures import signatures

    here = Path.cwd()
    places = {c.name: contract_place(c.path, c.name, here) for c in contracts}
    out = []
    for record, platform in records:
        rule = signatures().get(record["signature"] or "")
        witness = record["witness"]
        where = (witnesses / witness if witnesses else Path(witness)) if witness else None
        replay = f"kc replay {where}" if where else ""
        out.append(of_result(record, platform, places.get(record["contract"]), rule.doc if rule else "", replay))
    return out
