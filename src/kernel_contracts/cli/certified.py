"""What a certificate says, and who stands for it, as lines to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from kernel_contracts.conformance.assessment import Assessment
    from kernel_contracts.conformance.verifying import Reason


def refused(reasons: Sequence[Reason]) -> typer.Exit:
    """Every reason on a line of its own; what to end the command with."""
    for reason in reasons:
        typer.echo(f"invalid  {reason}")
    return typer.Exit(1)


def show(statement: Mapping[str, Any], found: Sequence[Assessment] = ()) -> None:
    """What is certified at which level, with the countersignatures that count, and what is not."""
    from kernel_contracts.conformance.assessment import holds, regraded

    said = statement["predicate"]
    profile, platform = said["profile"], said["platform"]
    whole = "holds" if holds(found, said) else "does not hold all of"
    typer.echo(f"{platform['name']} {whole} profile {profile['name']} {profile['version']}")
    for c in said["contracts"]:
        grade = regraded(found, c)
        kinds = [
            f"{words} L{level}"
            for level, words in ((grade.by_bound, "by bound"), (grade.by_exact, "exact"))
            if level is not None
        ]
        if grade.level > c["level"]:
            kinds.append(f"L{c['level']} without a second assessor")
        word = "certified" if grade.level >= c["demanded"] else "awaits   "
        typer.echo(f"{word}  L{grade.level}  {c['name']} {c['version']}  {c['dtypes']}  ({', '.join(kinds)})")
        if grade.level < c["demanded"]:
            typer.echo(f"           L{c['demanded']} asks for a second assessor (kc countersign)")
    for r in said["refused"]:
        typer.echo(f"refused    {r['contract']}: {r['why']}")
    valid = said["validity"]
    typer.echo(
        f"from {valid['issued']} to {valid['expires']}; for {', '.join(valid['for_classes'])} "
        f"void when {' or '.join(valid['void_when_changed'])} changes"
    )


def show_keys(keyids: Sequence[str], names: Mapping[str, Path], found: Sequence[Assessment]) -> None:
    """Who signed, by the files of their keys, and what each assessor did; what does not count, with the reason."""
    from kernel_contracts.conformance.levels import FEWEST

    for keyid in keyids:
        if keyid in names:
            typer.echo(f"signed with {names[keyid].name}")
    for a in found:
        if a.reasons:
            typer.echo(f"not counted  {a.reasons[0]}")
            continue
        machine = f" on {a.machine}" if a.machine else ""
        typer.echo(f"countersigned with {names[a.keyid].name} on {a.when}: {a.made} calls made again{machine}")
        for (name, dtypes), records in a.records.items():
            if len(records) < FEWEST:
                typer.echo(f"  {name} {dtypes}: {len(records)} of them, and an assessor counts from {FEWEST} on")
