"""`kc fmt` and `kc lint`: contract files in canonical form and free of mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer


def fmt(
    paths: Annotated[list[Path], typer.Argument(help="contract files, or folders of them")],
    check: Annotated[bool, typer.Option("--check", help="change nothing; exit 1 when a file would change")] = False,
) -> None:
    """Write contract files in the one canonical form; comments stay."""
    from kernel_contracts.language.printer import format_source

    changed = 0
    for path in contract_files(paths):
        text = read(path)
        formatted = format_source(text, str(path))
        if formatted != text:
            changed += 1
            typer.echo(f"{'would change' if check else 'formatted'} {path}")
            if not check:
                path.write_text(formatted, encoding="utf-8")
    raise typer.Exit(1 if check and changed else 0)


def lint(paths: Annotated[list[Path], typer.Argument(help="contract files, or folders of them")]) -> None:
    """Check contract files: syntax, names, types, tolerances, then advice. Exit 2 on an error, 0 otherwise."""
    from kernel_contracts.contracts.catalogue import load_text
    from kernel_contracts.errors import LanguageError
    from kernel_contracts.language.diagnostics import attach
    from kernel_contracts.language.lint import lint as advise
    from kernel_contracts.language.parser import parse
    from kernel_contracts.vocabulary import vocabulary

    errors = contracts = 0
    for path in contract_files(paths):
        text = read(path)
        try:
            contracts += len(load_text(text, str(path), vocabulary()))
            findings = attach(advise(parse(text, str(path))), text)
        except LanguageError as error:
            findings = list(error.diagnostics)
        for finding in findings:
            errors += finding.severity == "error"
            typer.echo(f"{finding}\n")
    typer.echo(f"{contracts} contract(s) checked, {errors} error(s)")
    raise typer.Exit(2 if errors else 0)


def contract_files(paths: list[Path]) -> list[Path]:
    """The files named, and the .kc files of the folders named. Raises UsageError when there is none."""
    from kernel_contracts.errors import UsageError

    out: list[Path] = []
    for path in paths:
        found = sorted(path.rglob("*.kc")) if path.is_dir() else [path]
        if not found:
            raise UsageError(f"{path} holds no .kc file")
        out.extend(found)
    return out


def read(path: Path) -> str:
    """The text of a file. Raises UsageError in one sentence."""
    from kernel_contracts.errors import UsageError

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}; check the path") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Around whatever writes to `path`. Raises UsageError in one sentence where that cannot be done."""
    from kernel_contracts.errors import UsageError

    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another place") from error


def append(path: Path, line: str) -> None:
    """One more line in a file, or on standard output for `-`. Raises UsageError in one sentence."""
    if str(path) == "-":
        typer.echo(line)
        return
    with writing(path), path.open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


def register(app: typer.Typer) -> None:
    app.command("fmt")(fmt)
    app.command("lint")(lint)
