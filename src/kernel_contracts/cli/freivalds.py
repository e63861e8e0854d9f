"""`kc freivalds A.npy B.npy C.npy` checks a saved product; `kc inject` plants a fault in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from kernel_contracts.cli.files import append, writing

_Dtype = Annotated[str, typer.Option("--dtype", help="number format of files that hold raw 1- or 2-byte items: bf16")]


def freivalds(
    a: Annotated[Path, typer.Argument(help="left operand, .npy")],
    b: Annotated[Path, typer.Argument(help="right operand, .npy")],
    c: Annotated[Path, typer.Argument(help="their product, .npy")],
    accumulate: Annotated[str, typer.Option("--accumulate", help="format of the sums: fp32, fp16, acc14")] = "",
    operands: Annotated[str, typer.Option("--operands", help="format that operands may be cut to: tf32")] = "",
    vectors: Annotated[int, typer.Option("--vectors", min=1, help="secret vectors")] = 1,
    block: Annotated[int, typer.Option("--block", min=0, help="columns a vector sees; 0 for all")] = 0,
    chunk: Annotated[int, typer.Option("--chunk", min=0, help="most terms summed in one go; 0 for any order")] = 0,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="default: drawn by the system, shown")] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="factor of the product")] = 1.0,
    beta: Annotated[float, typer.Option("--beta", help="factor of --addend")] = 0.0,
    addend: Annotated[Path | None, typer.Option("--addend", help="matrix that beta multiplies, .npy")] = None,
    bias: Annotated[Path | None, typer.Option("--bias", help="row added to the product, .npy")] = None,
    transpose: Annotated[str, typer.Option("--transpose", help="operands stored transposed: a, b or ab")] = "",
    false_alarm: Annotated[float, typer.Option("--false-alarm", help="probability of a false alarm")] = 1e-9,
    rigorous: Annotated[bool, typer.Option("--rigorous", help="accuse beyond the worst case only")] = False,
    precision: Annotated[str, typer.Option("--precision", help="arithmetic of the check: fp32, fp64 or auto")] = "auto",
    dtype: _Dtype = "",
    repaired: Annotated[Path | None, typer.Option("--repair", help="write the product with wrong rows redone")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="append one JSON object; - for output")] = None,
) -> None:
    """Verify that C = A B for saved arrays, at the cost of reading them. Exit 1 when it is wrong."""
    from kernel_contracts.numerics.freivalds.product import check_product
    from kernel_contracts.numerics.freivalds.repair import repair

    arrays = [load(path, dtype) for path in (a, b, c)]
    how: dict[str, Any] = {
        "accumulate": accumulate, "operands": operands, "vectors": vectors, "block": block, "chunk": chunk,
        "seed": seed, "alpha": alpha, "beta": beta, "addend": load(addend, dtype) if addend else None,
        "bias": load(bias, dtype) if bias else None, "transpose": transpose, "false_alarm": false_alarm,
        "rigorous": rigorous, "precision": precision,
    }  # fmt: skip
    found = check_product(*arrays, **how)
    rows: tuple[tuple[int, ...], ...] = ()
    if repaired is not None and not found.ok:
        if transpose or addend or bias or alpha != 1.0:
            raise _usage("--repair redoes a plain product A B: leave out transposes and sums")
        done = repair(*arrays, **how)
        rows = done.rows
        save(repaired, done.value)
    if json_file is None or str(json_file) != "-":
        _show(found, rows, repaired)
    if json_file is not None:
        record = {"record": "product", **found.as_json(), "repaired": [list(r) for r in rows]}
        append(json_file, json.dumps(record, allow_nan=False))
    raise typer.Exit(0 if found.ok else 1)


def inject(
    fault: Annotated[str, typer.Argument(help="bit_flip, slice_dropped, row_stale ...; --list shows all")] = "",
    c: Annotated[Path | None, typer.Argument(help="a right product, .npy")] = None,
    out: Annotated[Path | None, typer.Argument(help="where the wrong one goes, .npy")] = None,
    a: Annotated[Path | None, typer.Option("--a", help="left operand, for faults of the sum")] = None,
    b: Annotated[Path | None, typer.Option("--b", help="right operand, for faults of the sum")] = None,
    number: Annotated[int | None, typer.Option("--number", help="the bit, the length or the bits kept")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    dtype: _Dtype = "",
    listing: Annotated[bool, typer.Option("--list", help="show the faults there are")] = False,
) -> None:
    """Plant a fault in a saved product, to see whether a check finds it."""
    from kernel_contracts.numerics.injection import FAULTS, NEEDS_OPERANDS
    from kernel_contracts.numerics.injection import inject as plant

    if listing:
        for name in FAULTS:
            typer.echo(f"{name}{'  (needs --a and --b)' if name in NEEDS_OPERANDS else ''}")
        return
    if not fault or c is None or out is None:
        raise _usage("give a fault, a product and a file for the result, or --list")
    left, right = (load(path, dtype) if path else None for path in (a, b))
    done = plant(fault, load(c, dtype), a=left, b=right, number=number, seed=seed)
    save(out, done.value)
    typer.echo(f"{done.fault}: {done.detail}; {done.changed} elements differ")


def load(path: Path, dtype: str = "") -> Any:
    """A saved array. Files of formats that NumPy lacks hold raw items; `dtype` says what they are."""
    import numpy as np

    from kernel_contracts.formats import find
    from kernel_contracts.numerics.rounding import storage_dtype

    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "it is no array file"
        raise _usage(f"cannot read {path}: {reason}; save it with numpy.save") from error
    if not isinstance(array, np.ndarray):
        raise _usage(f"{path} holds several arrays; save one with numpy.save")
    if array.dtype.kind != "V":
        return array
    fmt = find(dtype) if dtype else None
    if fmt is None or storage_dtype(fmt).itemsize != array.dtype.itemsize:
        raise _usage(f"{path} holds raw items of {array.dtype.itemsize} bytes; say what they are: --dtype bf16")
    return array.view(storage_dtype(fmt))


def save(path: Path, array: Any) -> None:
    """Write an array. Raises UsageError in one sentence."""
    import numpy as np

    with writing(path), path.open("wb") as file:
        np.save(file, array)


def _show(found: Any, rows: tuple[tuple[int, ...], ...], repaired: Path | None) -> None:
    from rich.text import Text

    from kernel_contracts.report.terminal import console

    screen = console()
    m, k, n = found.dims
    kind = ", ".join(f"{k} {v}" for k, v in found.formats.items())
    word, style = ("conforms", "bold green") if found.ok else ("violates", "bold red")
    screen.print(Text.assemble((word, style), f"  {m}x{k}x{n} product, {kind}"))
    for line in found.summary():
        screen.print(Text(f"  {line}"))
    if found.precision == "integers":
        screen.print(f"  exact; a wrong row is missed with probability {found.missed:.2g} at most")
    else:
        screen.print(
            f"  residual   {found.z:.3g} standard deviations, {found.threshold:.3g} allowed; rows that stand out are "
            f"examined, from {found.limit:.3g} on"
        )
        screen.print(
            f"  floor      an error of {found.floor_absolute:.3g} in one element is found 99 times in 100; "
            f"that is {found.floor:.2g} of the output's rms"
        )
        if found.quantum is not None:
            worth = "" if found.quantum.valid else "; not valid here, since roundings are shared"
            screen.print(
                f"  spacing    mean square residual {found.quantum.mean_square:.3g} in units of the output's spacing, "
                f"{found.quantum.limit:.3g} allowed{worth}"
            )
    if found.unexamined:
        screen.print(f"  {found.unexamined} suspicious rows or overflowed elements were not verified")
    screen.print(f"  vectors    {found.vectors}, seed {found.seed}, false alarms below {found.false_alarm:.1g}")
    if rows and repaired is not None:
        screen.print(f"  repaired   {len(rows)} rows, written to {repaired}")


def _usage(text: str) -> Exception:
    from kernel_contracts.errors import UsageError

    return UsageError(text)


def register(app: typer.Typer) -> None:
    app.command("freivalds")(freivalds)
    app.command("inject")(inject)
