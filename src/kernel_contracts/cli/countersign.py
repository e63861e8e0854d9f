"""`kc countersign`: a second assessor makes the calls of a certificate again, and signs what held."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernel_contracts.cli.level import Beside


def countersign(
    certificate: Annotated[Path, typer.Argument(help="what kc certify wrote")],
    pub: Annotated[Path, typer.Option("--pub", help="the public key of whoever signed it")],
    run: Annotated[Path, typer.Option("--run", help="the run it was made from")],
    output: Annotated[Path, typer.Option("-o", "--output", help="the certificate with the countersignature")],
    key: Annotated[Path | None, typer.Option("--key", help="your private key; default: its text in KC_KEY")] = None,
    kernel: Annotated[
        str, typer.Option("--kernel", help="FILE.py[:FUNCTION]: where the certified kernel is on this machine")
    ] = "",
    rerun: Annotated[
        int, typer.Option("--rerun", min=1, help="calls of each contract to make again; fewer than 30 lift no level")
    ] = 30,
    beside: Beside = None,
) -> None:
    """Check a certificate as its second assessor: count, grade and measure again, and sign what held.

    Exit 0 signed, 1 something is wrong with it, each reason by its name, and nothing is written; 2 usage.
    """
    from datetime import UTC, datetime

    from kernel_contracts.cli.certified import refused, show, show_keys
    from kernel_contracts.cli.files import writing
    from kernel_contracts.conformance import assessing, assessment, confirming, keys, verifying
    from kernel_contracts.conformance.certificate import sign
    from kernel_contracts.conformance.rerunning import rerun as again

    keys.require()
    first, signer = keys.public(pub), keys.signer(key)
    parts = verifying.read_parts(certificate)
    statement, reasons = verifying.opened(parts[0], first)
    if statement is not None:
        reasons += confirming.against(statement, datetime.now(UTC), target=kernel, root=run, beside=beside or ())
    if statement is not None and not reasons:
        assessing.require_other(parts, signer.public_key.keyid)
        done = again(statement, run, rerun, kernel, each=True)
        reasons += done.reasons()
    if reasons or statement is None:
        raise refused(reasons)
    now = datetime.now(UTC)
    said = assessing.assessed(parts[0], done, signed_by=first.keyid, now=now)
    both = assessing.bundle([*parts, sign(said, signer).encode()])
    with writing(output):
        output.write_text(both, encoding="utf-8")
    found = assessment.assessments(verifying.parts(both.encode()), [first, signer.public_key], now)
    show(statement, found[-1:])
    show_keys([first.keyid], {first.keyid: pub, signer.public_key.keyid: key or Path(keys.VARIABLE)}, found[-1:])


def register(app: typer.Typer) -> None:
    app.command()(countersign)
