"""`kc keygen` and `kc certify`: a signed statement of what a run shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernel_contracts.cli.level import Beside


def keygen(
    output: Annotated[Path, typer.Option("-o", "--output", help="the private key's file; KEY.pub goes beside it")],
) -> None:
    """Make a key to sign certificates with (Ed25519)."""
    from kernel_contracts.conformance import keys

    keys.require()
    beside = keys.make(output)
    typer.echo(f"private key {output}, for nobody else to read; public key {beside}, for everybody")


def certify(
    run: Annotated[Path, typer.Argument(help="a directory that kc run wrote")],
    profile: Annotated[str, typer.Option("--profile", help="FILE[:NAME]: what to certify, and at which levels")],
    output: Annotated[Path, typer.Option("-o", "--output", help="the certificate")],
    key: Annotated[Path | None, typer.Option("--key", help="private key; default: its text in KC_KEY")] = None,
    platform: Annotated[str, typer.Option("--platform", help="which platform of the run, where it has several")] = "",
    days: Annotated[int, typer.Option("--days", min=1, max=36500, help="how long it is valid")] = 365,
    scorecard: Annotated[Path | None, typer.Option("--scorecard", help="a scorecard whose digest goes in")] = None,
    beside: Beside = None,
) -> None:
    """Certify what a run shows of a profile. A contract that is not at its level is refused, and the reason goes in.

    Exit 0 where the whole profile is certified, 1 where a part was refused or awaits a second assessor
    (kc countersign), 2 where there is nothing to certify.
    """
    from datetime import UTC, datetime

    from kernel_contracts.cli.certified import show
    from kernel_contracts.cli.files import writing
    from kernel_contracts.conformance import keys
    from kernel_contracts.conformance.beside import opened
    from kernel_contracts.conformance.certificate import certify as made
    from kernel_contracts.conformance.certificate import sign
    from kernel_contracts.conformance.profiles import load_profile
    from kernel_contracts.conformance.readings import read
    from kernel_contracts.errors import UsageError

    keys.require()
    signer = keys.signer(key)
    (reading,) = read([run])
    names = reading.platforms
    if not platform and len(names) > 1:
        raise UsageError(f"{run} has {len(names)} platforms ({', '.join(names)}); choose one with --platform")
    if platform and platform not in names:
        raise UsageError(f"{run} has no platform {platform}; it has {', '.join(names)}")
    wanted = load_profile(profile)
    now = datetime.now(UTC)
    found = made(
        reading, platform or names[0], wanted, days=days, scorecard=scorecard, now=now, beside=opened(beside or ())
    )
    text = sign(found.statement, signer)
    with writing(output):
        output.write_text(text, encoding="utf-8")
    show(found.statement)
    raise typer.Exit(0 if found.whole else 1)


def register(app: typer.Typer) -> None:
    for command in (keygen, certify):
        app.command()(command)
