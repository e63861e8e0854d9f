"""`kc list`, `kc explain`, `kc schema`: what there is and what it means."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kernel_contracts.contracts.model import Contract

Rows = list[tuple[str, str]]


def _operations() -> Rows:
    by: dict[str, set[str]] = {}
    for c in _library():
        by.setdefault(c.operation, set()).add(c.class_id)
    return [(name, ", ".join(sorted(ids))) for name, ids in sorted(by.items())]


def _library() -> tuple[Contract, ...]:
    from kernel_contracts.contracts.catalogue import standard_library
    from kernel_contracts.vocabulary import vocabulary

    return standard_library(vocabulary())


def _contracts() -> Rows:
    return [(f"{c.name} {c.version}", f"{c.class_id}  {c.operation}  {' '.join(c.doc.split())}") for c in _library()]


def _classes() -> Rows:
    from kernel_contracts.classes import classes

    return [(c.id, f"{c.title}. {c.claim}") for c in classes().values()]


def _inputs() -> Rows:
    from kernel_contracts.measurement.inputs.base import families

    return [(f.name, ("probe. " if f.probe else "") + f.doc) for f in families().values()]


def _shapes() -> Rows:
    from kernel_contracts.measurement.shapes import shape_families

    return [(f.name, f.doc) for f in shape_families().values()]


def _signatures() -> Rows:
    from kernel_contracts.signatures import signatures

    return sorted((r.name, r.doc) for r in signatures().values())


def _stacks() -> Rows:
    from kernel_contracts.stacks.base import VARIANT, stacks

    out: Rows = []
    for s in stacks().values():
        if not s.available():
            out.append((s.name, f"not installed: {s.install_hint()}"))
            continue
        try:
            devices = f"devices {', '.join(s.devices())}" if s.devices() else f"no device here ({s.install_hint()})"
            facts = f"{s.version()}, {devices}, dtypes {', '.join(sorted(s.native_dtypes))}"
        except Exception as error:  # installed, but its driver or its build does not fit this machine
            facts = f"installed, but it does not start here: {type(error).__name__}: {error}"
        out.append((s.name, facts))
        if s.files:
            out.append(("", f"runs {', '.join(s.files.values())}"))
        for variant, settings in s.variants.items():
            out.append((f"{s.name}{VARIANT}{variant}", " ".join(f"{k}={v}" for k, v in settings.items())))
    return out


def _formats() -> Rows:
    from kernel_contracts.formats import FORMATS

    return [
        (
            f.name,
            f"p = {f.precision}, u = {f.u:.3g}, {f.least_subnormal:.3g}..{f.max_finite:.6g}"
            if f.is_real
            else f"{f.min_int}..{f.max_int}",
        )
        for f in FORMATS.values()
    ]


def _mutants() -> Rows:
    from kernel_contracts.numerics.mutants import mutants

    return [(m.name, m.doc) for m in mutants().values()]


def _faults() -> Rows:
    from kernel_contracts.measurement.faults import faults

    return [(f.name, f.doc) for f in faults().values()]


LISTS: dict[str, Callable[[], Rows]] = {
    "operations": _operations,
    "contracts": _contracts,
    "classes": _classes,
    "inputs": _inputs,
    "shapes": _shapes,
    "signatures": _signatures,
    "stacks": _stacks,
    "formats": _formats,
    "mutants": _mutants,
    "faults": _faults,
}


def list_(what: Annotated[str, typer.Argument(help=f"one of: {', '.join(LISTS)}")] = "operations") -> None:
    """List operations, contracts, classes, inputs, shapes, signatures, stacks, formats, mutants or faults."""
    from kernel_contracts.errors import UsageError
    from kernel_contracts.language.diagnostics import did_you_mean

    if what not in LISTS:
        raise UsageError(f"kc list {what}: there is no such list; {did_you_mean(what, LISTS)}")
    _table(LISTS[what]())


def _table(rows: Rows) -> None:
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        typer.echo(f"{name:<{width}}  {text}")


def explain(
    what: Annotated[str, typer.Argument(help="a code, a class, a contract, an operation, a signature")],
) -> None:
    """Explain a code (S402), a class (C-PRC-01), a contract, an operation or a signature."""
    from kernel_contracts.errors import UsageError
    from kernel_contracts.explaining import explain as find

    text = find(what)
    if text is None:
        raise UsageError(
            f"nothing is called {what}; see kc list classes, contracts or signatures, "
            "or the codes in docs/reference/errors.md"
        )
    typer.echo(text)


def schema(
    what: Annotated[
        str, typer.Argument(help="records (results and traces), runs (cells and comparisons) or contracts")
    ] = "records",
) -> None:
    """Print the JSON Schema of result and trace lines, of runs, or of contracts as `kc show --json` prints them."""
    from kernel_contracts.contracts import codec
    from kernel_contracts.errors import UsageError
    from kernel_contracts.report import records

    if what not in ("records", "runs", "contracts"):
        raise UsageError(f"kc schema {what}: there is no such schema; write records, runs or contracts")
    typer.echo(json.dumps(codec.schema() if what == "contracts" else records.schema(what), indent=2))


def register(app: typer.Typer) -> None:
    app.command("list")(list_)
    app.command("explain")(explain)
    app.command("schema")(schema)
