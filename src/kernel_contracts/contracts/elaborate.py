"""From syntax to meaning: names resolved, defaults explicit, programs built and typed for every choice of dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kernel_contracts.contracts import codes as _codes  # noqa: F401 - registers the codes raised here
from kernel_contracts.contracts.binding import bind
from kernel_contracts.contracts.determinism import axes_of
from kernel_contracts.contracts.measure import read_measure
from kernel_contracts.contracts.model import Contract, ScalarDecl, TensorDecl
from kernel_contracts.contracts.precondition import read_precondition
from kernel_contracts.contracts.ranks import restricted, spread_of, stacked
from kernel_contracts.contracts.rehearsal import rehearse
from kernel_contracts.contracts.scaling import read_scalings
from kernel_contracts.contracts.schedules import check_schedules
from kernel_contracts.contracts.soundness import ToleranceCheck, check_lengths, check_names, check_violations
from kernel_contracts.contracts.values import Problem, constant, dim, problem
from kernel_contracts.contracts.vocabulary import Vocabulary
from kernel_contracts.errors import LanguageError
from kernel_contracts.formats import FORMATS, find
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import Diagnostic, attach, did_you_mean
from kernel_contracts.language.printer import print_file, print_node
from kernel_contracts.numerics import dims as sizes

Loader = Callable[[str, str], syntax.File]
"""Given the source named in `use ... from` and the path of the file that says so, the parsed library file."""

POLICIES: Mapping[str, tuple[str, ...]] = {
    "nan": ("propagate", "mask", "raise", "number_wins"),
    "inf": ("propagate", "mask", "raise", "saturate"),
    "signed_zero": ("preserve", "either"),
    "subnormal_input": ("preserve", "flush"),
    "subnormal_result": ("preserve", "flush"),
    "subnormal_intermediate": ("preserve", "flush"),
    "overflow": ("inf", "saturate", "nan", "raise"),
    "out_of_bounds": ("raise", "clamp", "zero", "wrap", "drop", "undefined"),
    "out_of_bounds_read": ("raise", "clamp", "zero", "wrap", "drop", "undefined"),
    "out_of_bounds_write": ("raise", "clamp", "zero", "wrap", "drop", "undefined"),
    "negative_index": ("raise", "clamp", "zero", "wrap", "drop", "undefined"),
    "determinism": ("bitwise", "run_to_run", "bounded", "none"),
    "ties": ("first", "last", "any"),
}


def elaborate(
    file: syntax.File, load: Loader, vocabulary: Vocabulary | None = None, text: str = ""
) -> tuple[Contract, ...]:
    """Every contract of a file, fully typed. Raises LanguageError with all findings."""
    vocabulary = vocabulary or Vocabulary()
    findings: list[Diagnostic] = []
    definitions: dict[str, syntax.Define] = {}
    contracts: list[Contract] = []
    for item in file.items:
        try:
            if isinstance(item, syntax.Use):
                definitions.update(_imported(item, file.path, load))
            elif isinstance(item, syntax.Define):
                definitions[item.name] = item
            elif isinstance(item, syntax.Contract):
                merged = with_companion(item, file, load)
                contracts.append(elaborate_contract(merged, definitions, vocabulary, file.path))
        except Problem as found:
            findings.append(found.diagnostic)
    names: dict[str, syntax.Contract] = {}
    for item in file.items:
        if isinstance(item, syntax.Contract):
            if item.name in names:
                span = item.span
                findings.append(
                    problem(
                        "N214",
                        span,
                        f"the contract {item.name} is defined twice in this file",
                        hint="rename one of the two",
                    ).diagnostic
                )
            names[item.name] = item
    if findings:
        raise LanguageError(attach(findings, text))
    return tuple(contracts)


def _imported(use: syntax.Use, path: str, load: Loader) -> dict[str, syntax.Define]:
    try:
        library = load(use.source, path)
    except FileNotFoundError as missing:
        raise problem(
            "N213", use.span, f'"{use.source}" is not a file beside this one nor a library', hint=str(missing)
        ) from missing
    found: dict[str, syntax.Define] = {}
    for item in library.items:
        if isinstance(item, syntax.Use):
            found.update(_imported(item, library.path, load))
        elif isinstance(item, syntax.Define):
            found[item.name] = item
    for name in use.names:
        if name not in found:
            raise problem("N213", use.span, f'"{use.source}" defines no {name}', hint=did_you_mean(name, found))
    # definitions call each other, so all of the file comes along; only the named ones are visible to a reader
    return found


def with_companion(node: syntax.Contract, file: syntax.File, load: Loader) -> syntax.Contract:
    """`post as OTHER` takes over the guarantees of another contract, and its clauses where this one has none."""
    for guarantee in node.post:
        if not isinstance(guarantee, syntax.Companion):
            continue
        other = _companion(guarantee, file, load)
        kept = tuple(g for g in node.post if g is not guarantee)
        return replace(
            node, post=(*other.post, *kept), pre=node.pre or other.pre, tolerance=node.tolerance or other.tolerance,
            reference=node.reference or other.reference, violation=node.violation or other.violation,
        )  # fmt: skip
    return node


def _companion(guarantee: syntax.Companion, file: syntax.File, load: Loader) -> syntax.Contract:
    found = {i.name: i for i in file.items if isinstance(i, syntax.Contract)}
    if guarantee.contract in found:
        return found[guarantee.contract]
    raise problem(
        "N217", guarantee.span, f"there is no contract {guarantee.contract} in this file",
        hint=did_you_mean(guarantee.contract, found) or "write the companion contract in the same file",
    )  # fmt: skip


def elaborate_contract(
    node: syntax.Contract, definitions: Mapping[str, syntax.Define], vocabulary: Vocabulary, path: str
) -> Contract:
    """One contract. Raises Problem at the first thing that makes no sense."""
    if vocabulary.classes and node.implements not in vocabulary.classes:
        raise problem(
            "N209",
            node.span,
            f"there is no contract class {node.implements}",
            hint=did_you_mean(node.implements, vocabulary.classes),
        )
    variables = _variables(node.scope)
    inputs = tuple(_tensor(t) for t in node.scope.inputs)
    outputs = tuple(_tensor(t) for t in node.scope.outputs)
    ranks = node.scope.ranks
    if ranks:
        inputs, outputs = stacked(inputs, ranks), stacked(outputs, ranks)
    scalars = tuple(_scalar(s) for s in node.scope.scalars)
    _distinct(node, inputs, outputs, scalars)
    dims = _dim_names(inputs, outputs, {s.name for s in scalars if s.type == "int"})
    pre = read_precondition(node.pre, dims, inputs, scalars)
    if ranks:
        pre = restricted(pre, ranks, spread_of(node.post), node.scope.span)
    policies, refusals = _policies(node)
    check_schedules(node)
    read_scalings(node.post, inputs, scalars, outputs)
    tolerance = node.tolerance or syntax.Derived((), span=node.span)
    check_names(tolerance, {o.name for o in outputs}, {i.name for i in inputs})
    measure = read_measure(node, set(dims), vocabulary)
    check_violations(node.violation, measure, node.implements, vocabulary, node.span)
    choices = _choices(variables)
    bounds = tuple(
        bind(node, dtypes, inputs, outputs, scalars, dims, definitions, tolerance, policies) for dtypes in choices
    )
    for bound in bounds:
        span = tolerance.span if node.tolerance else node.span
        check_lengths(bound, pre, span)
        known = {s.name: float(s.default) for s in scalars if s.default is not None}
        for output in bound.outputs.values():
            if output.is_real:
                ToleranceCheck(bound, output, pre, known).run(tolerance)
        rehearse(tolerance, bound, inputs, scalars)
    used = _used(node, definitions)
    source = print_file(syntax.File(path, (*used, node), span=node.span))
    return Contract(
        node.name, node.version, node.implements, node.doc, node.scope.operation, path, variables, inputs, scalars,
        outputs, node.scope.ranks, dims, pre, node.post, tolerance, policies, refusals, measure,
        tuple(n.id for n in node.violation), node.calibrate, source, bounds,
    )  # fmt: skip


def _variables(scope: syntax.Scope) -> dict[str, tuple[str, ...]]:
    out: dict[str, tuple[str, ...]] = {}
    for v in scope.variables:
        for choice in v.choices:
            if find(choice) is None:
                raise problem("N203", v.span, f"there is no number format {choice}", hint=did_you_mean(choice, FORMATS))
        out[v.name] = v.choices
    return out


def _choices(variables: Mapping[str, tuple[str, ...]]) -> list[dict[str, str]]:
    out: list[dict[str, str]] = [{}]
    for name, values in variables.items():
        out = [{**c, name: v} for c in out for v in values]
    return out


def _tensor(node: syntax.Tensor) -> TensorDecl:
    return TensorDecl(node.name, node.type.dtype, tuple(dim(d) for d in node.type.dims))


def _scalar(node: syntax.Scalar) -> ScalarDecl:
    if node.type not in ("real", "int", "bool", "schedules"):
        raise problem(
            "T302", node.span, f"a parameter is real, int, bool or schedules, not {node.type}",
            hint=did_you_mean(node.type, ("real", "int", "bool", "schedules")),
        )  # fmt: skip
    default: Any = None if node.default is None else constant(node.default)
    if node.type == "real" and default is not None:
        default = float(default)
    return ScalarDecl(node.name, node.type, default)


def _distinct(node: syntax.Contract, *groups: tuple[Any, ...]) -> None:
    seen: set[str] = set()
    for group in groups:
        for entry in group:
            if entry.name in seen:
                raise problem(
                    "N214", node.scope.span, f"the name {entry.name} stands twice in the scope",
                    hint="rename one of the two",
                )  # fmt: skip
            seen.add(entry.name)


def _dim_names(inputs: tuple[TensorDecl, ...], outputs: tuple[TensorDecl, ...], integers: set[str]) -> tuple[str, ...]:
    ordered: dict[str, None] = {}
    for t in (*inputs, *outputs):
        for d in t.shape:
            for name in sorted(sizes.names(d)):
                if name not in integers:
                    ordered[name] = None
    return tuple(ordered)


def _policies(node: syntax.Contract) -> tuple[dict[str, tuple[str, ...]], tuple[syntax.OrRaise, ...]]:
    policies: dict[str, tuple[str, ...]] = {}
    refusals: list[syntax.OrRaise] = []
    for guarantee in node.post:
        if isinstance(guarantee, syntax.OrRaise):
            refusals.append(guarantee)
        if not isinstance(guarantee, syntax.Policy):
            continue
        if guarantee.name not in POLICIES:
            raise problem(
                "N215",
                guarantee.span,
                f"there is no policy {guarantee.name}",
                hint=did_you_mean(guarantee.name, POLICIES),
            )
        chosen = tuple(c.id if isinstance(c, syntax.Name) else print_node(c) for c in guarantee.choices)
        for choice in chosen:
            if choice not in POLICIES[guarantee.name]:
                raise problem(
                    "N215", guarantee.span, f"policy {guarantee.name} has no choice {choice}",
                    hint=f"choose {', '.join(POLICIES[guarantee.name])}",
                )  # fmt: skip
        policies[guarantee.name] = chosen
        if guarantee.name == "determinism":
            axes_of(guarantee.across)
    return policies, tuple(refusals)


def _used(node: syntax.Contract, definitions: Mapping[str, syntax.Define]) -> tuple[syntax.Define, ...]:
    """The definitions that the contract's text depends on, so that its digest covers them."""
    wanted: dict[str, None] = {}

    def visit(value: Any) -> None:
        if isinstance(value, syntax.Call) and value.function in definitions and value.function not in wanted:
            wanted[value.function] = None
            visit(definitions[value.function])
        if isinstance(value, syntax.Node):
            for name in type(value).__dataclass_fields__:
                visit(getattr(value, name))
        elif isinstance(value, tuple):
            for entry in value:
                visit(entry)

    visit(node)
    return tuple(definitions[n] for n in sorted(wanted))
