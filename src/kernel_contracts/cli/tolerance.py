"""`kc tolerance OPERATION`: the derived bound, its formula, and what a usual atol/rtol would hide or wrongly flag."""

from __future__ import annotations

from typing import Annotated

import typer


def tolerance(
    operation: Annotated[str, typer.Argument(help="operation of the standard library, or FILE[:NAME]")],
    dtype: Annotated[str, typer.Option("--dtype", help="number format of the inputs")] = "fp32",
    shape: Annotated[
        str, typer.Option("--shape", help="sizes in the order of the contract's dims: 4096x4096x4096")
    ] = "",
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
) -> None:
    """Print the tolerance that follows from the formats, and what the usual ones are worth."""
    from kernel_contracts.report.terminal import console
    from kernel_contracts.report.tolerance import render_tolerance
    from kernel_contracts.tolerances import describe_tolerance

    console().print(render_tolerance(describe_tolerance(operation, dtype, shape, seed=seed)))


def register(app: typer.Typer) -> None:
    app.command("tolerance")(tolerance)
