"""Builds a contract's program for one choice of dtypes, and reads off what measurement must know about it."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_contracts.contracts.claims import read_claims
from kernel_contracts.contracts.expressions import Scope, default_format
from kernel_contracts.contracts.model import Bound, ScalarDecl, TensorDecl
from kernel_contracts.contracts.ranks import on_every_rank
from kernel_contracts.contracts.tolerance import context_of
from kernel_contracts.contracts.tracing import trace
from kernel_contracts.contracts.values import format_of, problem
from kernel_contracts.formats import FP32, FP64, Format
from kernel_contracts.language import syntax
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.dims import equal, shape_text
from kernel_contracts.numerics.operators import adds_up
from kernel_contracts.numerics.program import Program


def bind(
    node: syntax.Contract,
    dtypes: Mapping[str, str],
    inputs: tuple[TensorDecl, ...],
    outputs: tuple[TensorDecl, ...],
    scalars: tuple[ScalarDecl, ...],
    dims: tuple[str, ...],
    definitions: Mapping[str, syntax.Define],
    tolerance: syntax.Tolerance,
    policies: Mapping[str, tuple[str, ...]],
) -> Bound:
    """The program of `node` with concrete formats. Raises Problem where names, types or shapes do not fit."""
    formats = {t.name: format_of(t.dtype, dtypes) for t in inputs}
    out_formats = {t.name: format_of(t.dtype, dtypes) for t in outputs}
    default = default_format(list(formats.values()))
    builder = Builder(default)
    scope = Scope(builder, dtypes, set(dims), definitions)
    scope.integers = {s.name for s in scalars if s.type == "int"}
    scope.ranks = node.scope.ranks or ""
    for t in inputs:
        scope.names[t.name] = builder.input(t.name, formats[t.name], t.shape)
    for s in scalars:
        if s.type in ("real", "int", "bool"):
            scope.names[s.name] = builder.scalar(s.name, s.type)
    found = _reference(node, scope, inputs, outputs, default)
    if scope.ranks:
        found |= {t.name: on_every_rank(builder, found[t.name], t.shape) for t in outputs if t.name in found}
    for t in outputs:
        _check_output(node, builder, t, found, out_formats[t.name])
    program = builder.finish(dict(found), dims)
    scope.names.update(found)
    judged, claims = read_claims(node, scope, found, out_formats, {s.name: s.type for s in scalars}, dims)
    flush = any("flush" in policies.get(p, ()) for p in ("subnormal_result", "subnormal_input"))
    return Bound(
        dict(dtypes),
        program,
        judged,
        claims,
        formats,
        out_formats,
        context_of(tolerance, flush, policies.get("overflow") == ("inf",)),
        _accumulator(program),
        _contracted(program),
        any(n.op in ("matmul", "einsum", "affine") for n in program.nodes),
    )


def _reference(
    node: syntax.Contract,
    scope: Scope,
    inputs: tuple[TensorDecl, ...],
    outputs: tuple[TensorDecl, ...],
    default: Format,
) -> dict[str, int]:
    reference = node.reference
    if isinstance(reference, syntax.Program):
        for statement in reference.statements:
            scope.assign(statement)
        return {t.name: scope.names[t.name] for t in outputs if t.name in scope.names}
    if isinstance(reference, syntax.PythonReference):
        if reference.format is not None:
            scope.builder.format = format_of(reference.format, scope.dtypes)
        results = trace(reference, scope, [t.name for t in inputs], len(outputs))
        return {t.name: r for t, r in zip(outputs, results, strict=True)}
    raise problem(
        "T315",
        node.span,
        f"{node.name} has no reference program, so nothing says what the right answer is",
        hint="add reference { y = ... in fp32 }",
    )


def _check_output(
    node: syntax.Contract, builder: Builder, declared: TensorDecl, found: dict[str, int], format: Format
) -> None:
    place = node.reference.span if node.reference is not None else node.span
    if declared.name not in found:
        raise problem(
            "T315", place, f"the reference never assigns the output {declared.name}", hint=f"add {declared.name} = ..."
        )
    have = builder.type(found[declared.name])
    if len(have.shape) != len(declared.shape) or not all(
        equal(a, b) for a, b in zip(have.shape, declared.shape, strict=True)
    ):
        raise problem(
            "T314",
            place,
            f"the reference gives {declared.name} the shape {shape_text(have.shape)}",
            expected=shape_text(declared.shape),
            found=shape_text(have.shape),
        )
    if have.kind != format.kind:
        raise problem(
            "T314",
            place,
            f"the reference gives {declared.name} as {have.format}, the scope says {format}",
            hint=f"write cast(..., {format})",
        )
    if format.is_real and have.format.precision > format.precision:
        raise problem(
            "T314",
            place,
            f"{declared.name} is {format} in the scope and {have.format} in the reference: say where it is rounded",
            hint=f"write {declared.name} = round(..., {format})",
        )


def _accumulator(program: Program) -> Format:
    """The narrowest arithmetic that some sum is declared in; without sums the narrowest any operation is done in."""
    adding = [n.format for n in program.nodes if adds_up(n.op) and n.type.kind == "real"]
    if not adding:
        adding = [n.format for n in program.nodes if n.args and n.type.kind == "real"]
    out = FP64 if adding else FP32
    for f in adding:
        out = f if f.precision < out.precision else out
    return out


def _contracted(program: Program) -> dict[str, tuple[int, ...]]:
    """For each input, the axes whose size some sum runs over (an output may keep that size, as in softmax)."""
    summed: set[str] = set()
    for node in program.nodes:
        if not adds_up(node.op):
            continue
        first = program.nodes[node.args[0]].type.shape
        if node.op in ("matmul", "affine"):
            summed.add(str(first[-1]))
        elif node.op == "einsum":
            left, _, out = node.attrs["spec"].replace(" ", "").replace("->", ",").split(",")
            summed.update(str(d) for i, d in zip(left, first, strict=True) if i not in out)
        else:
            summed.update(str(first[a]) for a in node.attrs["axis"])
    return {
        name: tuple(i for i, d in enumerate(program.nodes[index].type.shape) if str(d) in summed)
        for name, index in program.inputs.items()
    }
