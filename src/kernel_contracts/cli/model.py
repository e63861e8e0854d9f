"""`kc model MODEL.json|MODEL.onnx`: a model on several platforms, and the steps that make the difference at its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernel_contracts.conformance.model_file import Model
    from kernel_contracts.conformance.platforms import Platform


def model(
    path: Annotated[Path, typer.Argument(help="MODEL.onnx, or a model as data: MODEL.json, its arrays in MODEL.npz")],
    inputs: Annotated[
        Path | None, typer.Option("--inputs", help="inputs of an .onnx file by name: a .npz file")
    ] = None,
    stacks: Annotated[str, typer.Option("--stacks", help="comma separated: numpy,torch@one-thread")] = "",
    kernels: Annotated[
        list[str] | None, typer.Option("--kernel", help="kernels of your own as a platform: NAME=FILE.py[@STACK]")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="device of the stacks")] = "",
    timeout: Annotated[float, typer.Option("--timeout", min=0.01, help="seconds a call")] = 30.0,
    memory: Annotated[int, typer.Option("--memory", min=1, help="MiB a kernel may take")] = 4096,
    out_file: Annotated[
        Path | None, typer.Option("--out", "-o", help="write the model as data: FILE.json and FILE.npz")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="append one JSON object a pair; - for standard output")
    ] = None,
) -> None:
    """Run a model on each pair of platforms and attribute the divergence to its steps and their contracts.

    An .onnx file becomes operations of the standard library first; with -o and no platform nothing is run.

    Exit 0 where every step is settled, 1 where one violates its contract or is under-specified, 2 where a platform
    cannot run the model.
    """
    from kernel_contracts.conformance.model_file import save
    from kernel_contracts.conformance.platforms import platforms
    from kernel_contracts.errors import UsageError

    found = _read(path, inputs)
    if out_file is not None:
        _check_name(out_file)
        save(found, out_file)
        if not stacks and not kernels:
            typer.echo(f"{out_file}: {len(found.steps)} steps, {len(found.arrays)} arrays")
            raise typer.Exit(0)
    chosen = platforms([n.strip() for n in stacks.split(",") if n.strip()], kernels or (), device)
    missing = next((p.missing for p in chosen if p.missing), "")
    if missing:
        raise UsageError(missing)
    if len(chosen) < 2:
        raise UsageError("one platform has nothing to differ from; name two or more with --stacks and --kernel")
    raise typer.Exit(_run(found, chosen, timeout, memory, json_file))


def _run(
    found: Model, chosen: Sequence[Platform], timeout: float, memory: int, json_file: Path | None
) -> int:  # fmt: skip
    """Every pair of platforms, reported; the exit status."""
    import contextlib
    import itertools
    import json

    from kernel_contracts.cli.files import append
    from kernel_contracts.conformance.attribution import attribute
    from kernel_contracts.conformance.model_playing import Player
    from kernel_contracts.report.model import model_report
    from kernel_contracts.report.terminal import console

    out = console(stderr=str(json_file) == "-")
    status = 0
    with contextlib.ExitStack() as open_:
        players = [open_.enter_context(Player(p, timeout, memory)) for p in chosen]
        for a, b in itertools.combinations(players, 2):
            finding = attribute(found, a, b)
            record = finding.as_json()
            out.print(model_report(record))
            if json_file is not None:
                append(json_file, json.dumps(record, allow_nan=False))
            unsettled = any(not s.judgement.settled for s in finding.steps)
            status = max(status, 2 if finding.failed else 1 if unsettled else 0)
    return status


def _read(path: Path, inputs: Path | None) -> Model:
    """A model of either kind. Raises UsageError in one sentence."""
    from kernel_contracts.conformance.model_file import load, read_arrays
    from kernel_contracts.conformance.onnx_import.importing import import_onnx
    from kernel_contracts.errors import UsageError

    if path.suffix == ".onnx":
        return import_onnx(path, read_arrays(inputs) if inputs is not None else {})
    if inputs is not None:
        raise UsageError(f"{path} has its inputs in {path.stem}.npz; --inputs is for an .onnx file")
    return load(path)


def _check_name(path: Path) -> None:
    from kernel_contracts.errors import UsageError

    if path.suffix != ".json" or not path.parent.is_dir():
        raise UsageError(f"--out {path} cannot be written: name a .json file in a folder that is there")


def register(app: typer.Typer) -> None:
    app.command("model")(model)
