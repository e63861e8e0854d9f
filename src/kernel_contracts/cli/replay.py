"""`kc replay WITNESS`: the same kernel, the same inputs, the same failure again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    witness: Annotated[Path, typer.Argument(help="a witness that kc check wrote")],
    target: Annotated[str | None, typer.Option("--target", help="another kernel than the recorded one")] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.01)] = 30.0,
    memory: Annotated[int, typer.Option("--memory", min=1)] = 4096,
) -> None:
    """Run a recorded failure again. Exit 1 when it fails again, 0 when it no longer does."""
    from kernel_contracts.replaying import replay as run
    from kernel_contracts.report.terminal import console, story

    outcome = run(witness, target=target, timeout=timeout, memory_mb=memory)
    out = console()
    if not outcome.fails:
        out.print(
            f"does not fail any more: {outcome.target} keeps {outcome.contract.name} on this input", style="green"
        )
        raise typer.Exit(0)
    out.print(
        story(
            outcome.contract,
            outcome.bound,
            outcome.finding,
            claim="",
            doc="",
            replay=f"kc replay {witness}",
            target=outcome.target,
        )
    )
    same = "the same failure again" if outcome.same else "fails again, with other numbers than recorded"
    out.print(same, style="bold")
    raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("replay")(replay)
