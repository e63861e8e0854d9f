"""`kc show CONTRACT|FILE[:NAME]`: a contract as canonical text, or elaborated as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kernel_contracts.contracts.model import Contract


def show(
    what: Annotated[str, typer.Argument(help="a contract or operation of the standard library, or FILE[:NAME]")],
    as_json: Annotated[
        bool, typer.Option("--json", help="one JSON object a line and contract, programs included")
    ] = False,
) -> None:
    """Print a contract in canonical form with the definitions it uses, or as JSON with every program it stands for."""
    from kernel_contracts.contracts.codec import to_json

    for position, contract in enumerate(found(what)):
        if as_json:
            typer.echo(json.dumps(to_json(contract), allow_nan=False))
        else:
            typer.echo(("\n" if position else "") + contract.source, nl=False)


def found(what: str) -> tuple[Contract, ...]:
    """The contracts that `what` names. Raises UsageError when there is none."""
    from kernel_contracts.checking import contracts_for
    from kernel_contracts.contracts.catalogue import standard_library
    from kernel_contracts.errors import UsageError
    from kernel_contracts.language.diagnostics import did_you_mean
    from kernel_contracts.vocabulary import vocabulary

    path = what.rpartition(":")[0] or what
    if what.endswith(".kc") or path.endswith(".kc") or Path(what).is_file():
        return contracts_for(None, what)
    library = standard_library(vocabulary())
    kept = tuple(c for c in library if what in (c.name, c.operation))
    if not kept:
        hint = did_you_mean(what, {n for c in library for n in (c.name, c.operation)})
        raise UsageError(f"no contract or operation is called {what}; {hint or 'see kc list contracts'}")
    return kept


def register(app: typer.Typer) -> None:
    app.command("show")(show)
