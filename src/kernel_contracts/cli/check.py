"""`kc check TARGET`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernel_contracts.cli.exports import Annotations, Exports, JUnit, Markdown, Sarif, items_of

if TYPE_CHECKING:
    from kernel_contracts.checking import Result


def check(
    target: Annotated[
        str,
        typer.Argument(
            help="path/to/file.py:function, package.module:function, builtin:OPERATION or a kernel file of the stack; "
            "left out: builtin:OPERATION of --as",
            show_default=False,
        ),
    ] = "",
    operation: Annotated[str | None, typer.Option("--as", help="operation of the standard library")] = None,
    contract: Annotated[str | None, typer.Option("--contract", help="contract file, FILE or FILE:NAME")] = None,
    classes: Annotated[list[str] | None, typer.Option("--class", help="only these contract classes")] = None,
    dtypes: Annotated[list[str] | None, typer.Option("--dtype", help="only these number formats")] = None,
    samples: Annotated[int | None, typer.Option("--samples", min=1, help="cases a contract and dtype")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="default: drawn by the system, always shown")
    ] = None,
    stack: Annotated[str, typer.Option("--stack", help="STACK or STACK@VARIANT the kernel is for")] = "numpy",
    device: Annotated[str, typer.Option("--device", help="device of that stack")] = "",
    params: Annotated[list[str] | None, typer.Option("--param", help="fix a parameter: eps=1e-6")] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.01, help="seconds a call")] = 30.0,
    memory: Annotated[int, typer.Option("--memory", min=1, help="MiB the kernel may take")] = 4096,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="append one JSON object a result; - for standard output")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="contracts measured at once")] = 1,
    forbid: Annotated[
        list[str] | None, typer.Option("--forbid", help="a function that the kernel may not call: torch.matmul")
    ] = None,
    keep: Annotated[Path | None, typer.Option("--keep", help="folder for traces, results and witnesses")] = None,
    junit: JUnit = None,
    sarif: Sarif = None,
    markdown: Markdown = None,
    annotations: Annotations = False,
) -> None:
    """Measure a kernel against its contracts and say which it keeps, which it breaks, and why."""
    from kernel_contracts.checking import Options
    from kernel_contracts.cli.running import Run
    from kernel_contracts.errors import UsageError

    options = Options(
        tuple(classes) if classes else None, tuple(dtypes) if dtypes else None, samples, seed, parameters(params or []),
        forbid=tuple(forbid or ()),
    )  # fmt: skip
    exports = Exports(junit, sarif, markdown, annotations)
    if annotations and str(json_file) == "-":
        raise UsageError("--annotations and --json - both write to standard output; give --json a file")
    run = Run(target, operation, contract, options, stack, device, timeout, memory, json_file, jobs, keep)
    try:
        results = run.execute()
    finally:
        if exports.wanted and run.records:  # what an interrupted check has found is reported, too
            exports.write(items_of(((r, stack) for r in run.records), [r.contract for r in run.results]))
    raise typer.Exit(status(results))


def parameters(texts: list[str]) -> dict[str, Any]:
    """`eps=1e-6` and `causal=true` as values. Raises UsageError on anything else."""
    from kernel_contracts.errors import UsageError

    out: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--param {text} is not of the form name=value, for example eps=1e-6")
        if value in ("true", "false"):
            out[name] = value == "true"
            continue
        try:
            out[name] = int(value)
        except ValueError:
            try:
                out[name] = float(value)
            except ValueError as error:
                raise UsageError(f"--param {text}: {value!r} is no number, true or false") from error
    return out


def status(results: list[Result]) -> int:
    """The exit status that scripts depend on."""
    verdicts = {r.verdict.value for r in results}
    if "error" in verdicts:
        return 4
    if verdicts & {"violates", "under-specified"}:
        return 1
    return 0 if "conforms" in verdicts else 3


def register(app: typer.Typer) -> None:
    app.command("check")(check)
