"""The comparisons of a postcondition as data: what is compared with what, under which condition, how tightly.

A subject may be an output or an expression over outputs (`sum(y, axis = -1)`); the latter is computed in fp64 from
what the kernel returned, and its radius is what the outputs' radii make of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernel_contracts.contracts.expressions import Scope
from kernel_contracts.contracts.model import Claim
from kernel_contracts.contracts.values import problem
from kernel_contracts.formats import FP64, Format
from kernel_contracts.language import syntax
from kernel_contracts.language.printer import print_node
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.operators.conversion import held_already
from kernel_contracts.numerics.program import Program


def read_claims(
    node: syntax.Contract,
    scope: Scope,
    found: Mapping[str, int],
    formats: Mapping[str, Format],
    scalars: Mapping[str, str],
    dims: tuple[str, ...],
) -> tuple[Program, tuple[Claim, ...]]:
    """The program that the claims are judged with, and the claims with their nodes in it."""
    kept: dict[str, int] = {f"output {n}": i for n, i in found.items()}
    drafts: list[tuple[syntax.Within | syntax.Bitwise, str]] = []
    scope.builder.format = FP64
    for guarantee in node.post:
        if not isinstance(guarantee, syntax.Within | syntax.Bitwise):
            continue
        if isinstance(guarantee, syntax.Bitwise) and guarantee.target is None:
            continue  # equality across runs or schedules compares the kernel with itself, not with the reference
        key = f"claim {len(drafts)}"
        name = guarantee.subject.id if isinstance(guarantee.subject, syntax.Name) else ""
        kept[key] = found[name] if name in found else _over_outputs(guarantee.subject, scope, found)
        if guarantee.target is not None and not _is_reference(guarantee.target):
            kept[f"{key} target"] = scope.lower(guarantee.target)
        if guarantee.where is not None:
            kept[f"{key} where"] = scope.lower(guarantee.where)
        drafts.append((guarantee, key))
    judged = scope.builder.finish(kept, dims)
    claims = [_claim(guarantee, key, judged, scope, found, formats, scalars, dims) for guarantee, key in drafts]
    return judged, tuple(claims)


def _over_outputs(subject: syntax.Expr, scope: Scope, found: Mapping[str, int]) -> int:
    """An expression over outputs. The final rounding of each counts as an error of it, not as part of its meaning."""
    before = dict(scope.names)
    for name, index in found.items():
        node = scope.builder.nodes[index]
        if node.op == "round" and not held_already(node.attrs):
            scope.names[name] = scope.builder.op("at_least", [node.args[0]], {"format": node.attrs["format"]})
    try:
        return scope.lower(subject)
    finally:
        scope.names = before


def _is_reference(target: syntax.Expr) -> bool:
    return isinstance(target, syntax.Name) and target.id == "reference"


def _claim(
    guarantee: syntax.Within | syntax.Bitwise,
    key: str,
    judged: Program,
    scope: Scope,
    found: Mapping[str, int],
    formats: Mapping[str, Format],
    scalars: Mapping[str, str],
    dims: tuple[str, ...],
) -> Claim:
    name = guarantee.subject.id if isinstance(guarantee.subject, syntax.Name) else ""
    output = name if name in found else ""
    before, rounded = before_rounding(judged, judged.outputs[key])
    if rounded and output and judged.nodes[judged.outputs[key]].type.format.name != formats[output].name:
        before, rounded = judged.outputs[key], False  # rounded to less than the output holds: part of the meaning
    target = judged.outputs.get(f"{key} target")
    return Claim(
        print_node(guarantee.subject), output, formats[output] if output else judged.nodes[before].type.format,
        before if target is None else judged.outputs[key], rounded and target is None,
        isinstance(guarantee, syntax.Bitwise), target, judged.outputs.get(f"{key} where"),
        None if output else _from_outputs(guarantee.subject, scope, found, judged, scalars, dims),
    )  # fmt: skip


def before_rounding(program: Program, index: int) -> tuple[int, bool]:
    """Where a value ends in round(x, P), x and True; the value itself and False otherwise."""
    node = program.nodes[index]
    narrows = node.op in ("round", "cast") and node.type.kind == "real" and node.attrs["source"].kind == "real"
    if narrows and not held_already(node.attrs):
        return node.args[0], True
    return index, False


def _from_outputs(
    subject: syntax.Expr,
    scope: Scope,
    found: Mapping[str, int],
    judged: Program,
    scalars: Mapping[str, str],
    dims: tuple[str, ...],
) -> Program:
    """A program in fp64 over the kernel's outputs."""
    builder = Builder(FP64)
    inner = Scope(builder, scope.dtypes, set(dims), scope.definitions)
    for name in found:
        kind = judged.nodes[judged.outputs[f"output {name}"]].type
        inner.names[name] = builder.input(name, FP64 if kind.kind == "real" else kind.format, kind.shape)
    for name, kind_name in scalars.items():
        if kind_name in ("real", "int", "bool"):
            inner.names[name] = builder.scalar(name, kind_name)
    result = inner.lower(subject)
    if builder.type(result).kind == "bool":
        raise problem("T312", subject.span, "a guarantee compares numbers; write a condition after `where`")
    return builder.finish({"subject": result}, dims)
