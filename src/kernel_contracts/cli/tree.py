"""`kc tree TARGET --as sum --n 16,40,128`: the order in which a kernel adds, read off its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kernel_contracts.formats import Format
    from kernel_contracts.measurement.sums import Revealed


def tree(
    target: Annotated[str, typer.Argument(help="path/to/file.py:function, package.module:function or builtin:sum")],
    operation: Annotated[str, typer.Option("--as", help="sum or matmul")] = "sum",
    lengths: Annotated[str, typer.Option("--n", help="numbers of terms, with commas")] = "16,40,128",
    dtype: Annotated[str, typer.Option("--dtype", help="format of the terms")] = "fp32",
    rows: Annotated[int, typer.Option("--rows", min=1, help="rows (and columns of a product) computed at once")] = 1,
    stack: Annotated[str, typer.Option("--stack")] = "numpy",
    device: Annotated[str, typer.Option("--device")] = "",
    timeout: Annotated[float, typer.Option("--timeout", help="seconds a call")] = 30.0,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
) -> None:
    """Reveal the tree of additions behind a sum or a product, and confirm it bit for bit on random numbers."""
    from kernel_contracts.api import real_target
    from kernel_contracts.measurement.process import Kernel
    from kernel_contracts.measurement.sums import reveal_order
    from kernel_contracts.measurement.tree import NoTreeError

    fmt = _format(dtype)
    real = real_target(target, stack)
    failed = False
    with Kernel(real, stack=stack, device=device, timeout=timeout) as kernel:
        report = kernel.load()
        typer.echo(f"{target}  on {stack} {report.stack_version} ({report.device})")
        for n in _lengths(lengths):
            try:
                found = reveal_order(kernel, operation, n, fmt, rows=rows, seed=seed)
            except NoTreeError as why:
                failed = True
                typer.echo(f"n = {n}: no order of additions fits. {why}")
                continue
            failed = failed or not found.confirmed
            for line in lines_of(n, found):
                typer.echo(line)
    raise typer.Exit(1 if failed else 0)


def lines_of(n: int, found: Revealed) -> list[str]:
    """One order as text: its name or its parts, its depth, and whether random data confirm it."""
    from kernel_contracts.measurement.orders import draw, name_of

    name = name_of(found.tree)
    fused = f", up to {found.tree.fused} numbers at once" if found.tree.fused > 2 else ""
    sure = (
        f"confirmed in {found.accumulator} bit for bit on {found.trials} random inputs"
        if found.confirmed
        else f"not confirmed: in {found.accumulator} only {found.agreed} of {found.trials} random inputs give the "
        "same bits, so not every addition is rounded alike"
    )
    out = [f"n = {n}: {name or 'an order without a name'}, depth {found.tree.depth}{fused}; {sure}"]
    return out if name else out + [f"  {line}" for line in draw(found.tree)]


def _lengths(text: str) -> list[int]:
    from kernel_contracts.errors import UsageError

    parts = [p.strip() for p in text.split(",")]
    if not all(p.isascii() and p.isdigit() and 1 <= int(p) <= 4096 for p in parts):
        raise UsageError(f"--n {text}: give numbers of terms from 1 to 4096 with commas, for example 16,40,128")
    return [int(p) for p in parts]


def _format(name: str) -> Format:
    from kernel_contracts.errors import UsageError
    from kernel_contracts.formats import FORMATS
    from kernel_contracts.language.diagnostics import did_you_mean

    found = FORMATS.get(name)
    if found is None or not found.is_real:
        raise UsageError(f"--dtype {name}: there is no such format of real numbers; {did_you_mean(name, FORMATS)}")
    return found


def register(app: typer.Typer) -> None:
    app.command("tree")(tree)
