"""`kc verify`: whether to believe a certificate, and whose word it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernel_contracts.cli.level import Beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernel_contracts.conformance.assessment import Assessment
    from kernel_contracts.conformance.verifying import Reason


def verify(
    certificate: Annotated[Path, typer.Argument(help="what kc certify wrote")],
    pub: Annotated[
        list[Path], typer.Option("--pub", help="the public key of whom you trust to sign, or to countersign (several)")
    ],
    run: Annotated[
        Path | None, typer.Option("--run", help="the run it was made from: count and grade it again")
    ] = None,
    kernel: Annotated[
        str, typer.Option("--kernel", help="FILE.py[:FUNCTION]: whether this is the certified kernel")
    ] = "",
    rerun: Annotated[
        int, typer.Option("--rerun", min=0, help="make so many of the certified calls again here (needs --run)")
    ] = 0,
    beside: Beside = None,
    here: Annotated[
        bool, typer.Option("--here", help="whether it holds on this machine, with what is installed here")
    ] = False,
) -> None:
    """Say whether a certificate is to be believed. Exit 0 valid, 1 not, each reason by its name, 2 usage.

    Every key given has to stand for something: the certificate, or a countersignature of it that counts.
    """
    from datetime import UTC, datetime

    from kernel_contracts.cli.certified import refused, show, show_keys
    from kernel_contracts.conformance import assessment, confirming, keys, verifying
    from kernel_contracts.errors import UsageError

    keys.require()
    if rerun and run is None:
        raise UsageError("--rerun takes its calls from a run; name it with --run")
    now, parts = datetime.now(UTC), verifying.read_parts(certificate)
    given = {key.keyid: (key, place) for place in pub for key in (keys.public(place),)}
    trusted = [key for key, _ in given.values()]
    statement, reasons = verifying.opened(parts[0], *trusted)
    found: list[Assessment] = []
    signed: list[str] = []
    if statement is not None:
        signed = list(verifying.enveloped(parts[0])[0].signatures)
        reasons += confirming.against(statement, now, target=kernel, root=run, beside=beside or ())
        if here:
            reasons += _here(statement, kernel)
        if rerun and run is not None and not reasons:
            reasons += _again(statement, run, rerun, kernel)
        if not reasons:
            found = assessment.assessments(parts, trusted, now)
            if run is not None and found:
                found = _recorded(found, statement, run)
            reasons += assessment.unheard(found, signed, list(given))
    if reasons or statement is None:
        raise refused(reasons)
    show(statement, found)
    show_keys(signed, {k: place for k, (_, place) in given.items()}, found)
    typer.echo("valid")


def _recorded(found: list[Assessment], statement: Mapping[str, Any], run: Path) -> list[Assessment]:
    from kernel_contracts.conformance.assessment import recorded
    from kernel_contracts.conformance.rerunning import possible

    return recorded(found, possible(statement, run))


def _here(statement: Mapping[str, Any], kernel: str) -> list[Reason]:
    """This machine as a kernel of that stack finds it; a change that does not void the certificate is only named."""
    from kernel_contracts.api import real_target
    from kernel_contracts.conformance.confirming import here
    from kernel_contracts.conformance.drift import changed
    from kernel_contracts.measurement.process import Kernel

    platform = statement["predicate"]["platform"]
    named = bool(kernel) and not kernel.endswith(".py")  # a file alone says which code, and names nothing to load
    with Kernel(kernel if named else real_target("builtin:add", platform["stack"]), stack=platform["stack"]) as loaded:
        facts = loaded.load().fingerprint
    reasons = list(here(statement, facts))
    if not reasons:
        for kind, words in changed(platform["facts"], facts).items():
            typer.echo(f"{kind} changed: {'; '.join(words)}")
    return reasons


def _again(statement: Mapping[str, Any], run: Path, count: int, kernel: str) -> list[Reason]:
    """Only once everything else holds: what is not to be believed need not be measured."""
    from kernel_contracts.conformance.rerunning import rerun

    chosen = rerun(statement, run, count, kernel)
    reasons = list(chosen.reasons())
    if not reasons:
        typer.echo(f"{len(chosen.held)} of the certified calls made again, none fails")
    return reasons


def register(app: typer.Typer) -> None:
    app.command()(verify)
