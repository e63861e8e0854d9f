"""`kc keygen`, `kc certify` and `kc verify`: a signed statement of what a run shows, and whether to believe one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernel_contracts.cli.level import Beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernel_contracts.conformance.verifying import Reason


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

    Exit 0 where the whole profile is certified, 1 where a part was refused, 2 where there is nothing to certify.
    """
    from datetime import UTC, datetime

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
    _show(found.statement)
    raise typer.Exit(1 if found.refused else 0)


def verify(
    certificate: Annotated[Path, typer.Argument(help="what kc certify wrote")],
    pub: Annotated[Path, typer.Option("--pub", help="the public key of whom you trust to sign")],
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
    """Say whether a certificate is to be believed. Exit 0 valid, 1 not, each reason by its name, 2 usage."""
    from datetime import UTC, datetime

    from kernel_contracts.conformance import confirming, keys, verifying
    from kernel_contracts.errors import UsageError

    keys.require()
    if rerun and run is None:
        raise UsageError("--rerun takes its calls from a run; name it with --run")
    try:
        data = certificate.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {certificate}: {error.strerror}; check the path") from error
    statement, reasons = verifying.opened(data, keys.public(pub))
    if statement is not None:
        reasons += verifying.alone(statement, datetime.now(UTC))
        if kernel:
            reasons += confirming.kernel(statement, kernel)
        if run is not None:
            reasons += [*confirming.evidence(statement, run), *confirming.run(statement, run, beside or ())]
        if here:
            reasons += _here(statement, kernel)
        if rerun and run is not None and not reasons:
            reasons += _again(statement, run, rerun, kernel)
    _conclude(statement, reasons)


def _here(statement: Mapping[str, Any], kernel: str) -> list[Reason]:
    """This machine as a kernel of that stack finds it; a change that does not void the certificate is only named."""
    from kernel_contracts.api import real_target
    from kernel_contracts.conformance.confirming import here
    from kernel_contracts.conformance.drift import changed
    from kernel_contracts.measurement.process import Kernel

    platform = statement["predicate"]["platform"]
    with Kernel(kernel or real_target("builtin:add", platform["stack"]), stack=platform["stack"]) as loaded:
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
        typer.echo(f"{len(chosen.calls)} of the certified calls made again, none fails")
    return reasons


def _conclude(statement: Mapping[str, Any] | None, reasons: list[Reason]) -> None:
    for reason in reasons:
        typer.echo(f"invalid  {reason}")
    if reasons or statement is None:
        raise typer.Exit(1)
    _show(statement)
    typer.echo("valid")


def _show(statement: Mapping[str, Any]) -> None:
    """What is certified, and what is not."""
    said = statement["predicate"]
    profile, platform = said["profile"], said["platform"]
    whole = "holds" if profile["held"] else "does not hold all of"
    typer.echo(f"{platform['name']} {whole} profile {profile['name']} {profile['version']}")
    for c in said["contracts"]:
        kinds = [
            f"{words} L{c[k]}" for k, words in (("by_bound", "by bound"), ("by_exact", "exact")) if c[k] is not None
        ]
        typer.echo(f"certified  L{c['level']}  {c['name']} {c['version']}  {c['dtypes']}  ({', '.join(kinds)})")
    for r in said["refused"]:
        typer.echo(f"refused    {r['contract']}: {r['why']}")
    valid = said["validity"]
    typer.echo(
        f"from {valid['issued']} to {valid['expires']}; for {', '.join(valid['for_classes'])} "
        f"void when {' or '.join(valid['void_when_changed'])} changes"
    )


def register(app: typer.Typer) -> None:
    for command in (keygen, certify, verify):
        app.command()(command)
