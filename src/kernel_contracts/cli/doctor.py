"""`kc doctor`: whether each array library that is installed can be trusted to move data, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Annotated, Any

import typer


def doctor(
    chosen: Annotated[
        list[str] | None, typer.Option("--stack", help="STACK or STACK@VARIANT; default: all that are installed")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="device of that stack")] = "",
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="seconds a stack")] = 120.0,
) -> None:
    """Check that every stack keeps the promises that measurements rest on. Exit 1 when one does not."""
    from kernel_contracts.errors import UsageError
    from kernel_contracts.stacks.base import find, stacks

    names = chosen or [s.name for s in stacks().values() if s.available()]
    broken = 0
    for name in names:
        try:
            found = _examined(name, find(name).environment, device, timeout)
        except UsageError as error:
            if chosen:
                raise
            typer.echo(f"{name}: {error}")  # installed, but there is nothing here that it could drive
            continue
        wrong = [f"{p['text']}: {p['broken']}" for p in found if p["broken"]]
        broken += bool(wrong)
        typer.echo(f"{name}: {'sound' if not wrong else 'unsound'}, {len(found) - len(wrong)} of {len(found)} promises")
        for line in wrong:
            typer.echo(f"  {line}")
    raise typer.Exit(1 if broken else 0)


def _examined(name: str, environment: Any, device: str, timeout: float) -> list[dict[str, str]]:
    """The promises of one stack, looked at in a process of its own."""
    from kernel_contracts.errors import UsageError

    command = [sys.executable, "-m", "kernel_contracts.stacks.conformance", name, device]
    try:
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=timeout, check=False
        )
        answer = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return [{"text": "it answers in time", "broken": f"no answer within {timeout:g} s"}]
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return [{"text": "it starts and stays alive", "broken": last}]
    if isinstance(answer, str):
        raise UsageError(answer)
    found: list[dict[str, str]] = answer
    return found


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)
