"""The clauses of a contract as lines: keywords in one column, a guarantee a line, long lines broken at joints."""

from __future__ import annotations

from collections.abc import Sequence

from kernel_contracts.language import syntax as s
from kernel_contracts.language.layout import WIDTH, Line
from kernel_contracts.language.write import AND, NOT, PRODUCT, RANGE, SUM, conjuncts, quote, write, write_argument
from kernel_contracts.language.write import writes as commas

_COLUMN = max(len(word) for word in ("tolerance", "reference", "violation", "calibrate")) + 1


def clauses(contract: s.Contract) -> list[Line]:
    """Every clause that the contract has."""
    at = contract.place
    out = _scope(contract.scope)
    if contract.pre is not None:
        out += _pre(contract.pre, at("pre"))
    if contract.post:
        out += _joined("post", [(guarantee(g), g.span) for g in contract.post], at("post"))
    if contract.tolerance is not None:
        out += _tolerance(contract.tolerance, at("tolerance"))
    if contract.reference is not None:
        out += _reference(contract.reference, at("reference"))
    if contract.measure:
        out += _table("measure", [(m.keyword, commas(m.items), m.span) for m in contract.measure], at("measure"))
    if contract.violation:
        out.append(_clause("violation", ", ".join(v.id for v in contract.violation), at("violation")))
    if contract.calibrate:
        out += _table("calibrate", [(c.state, kernel(c.kernel), c.span) for c in contract.calibrate], at("calibrate"))
    return out


def _clause(keyword: str, text: str, span: s.Span) -> Line:
    return Line(1, f"{keyword:<{_COLUMN}}{text}", span)


def _fits(text: str) -> bool:
    """The text fits beside a keyword."""
    return 2 + _COLUMN + len(text) <= WIDTH


def _joined(keyword: str, parts: Sequence[tuple[str, s.Span]], place: s.Span) -> list[Line]:
    """`keyword first`, then `and second` below it, and so on."""
    (text, first), *rest = parts
    start = s.Span(place.file, place.line, place.column, first.end_line, first.end_column)
    return [_clause(keyword, text, start), *(Line(1, f"and {t}", span, hanging=_COLUMN) for t, span in rest)]


def _table(keyword: str, rows: Sequence[tuple[str, str, s.Span]], place: s.Span) -> list[Line]:
    """A block with one row a line, the first words in one column."""
    width = max(len(first) for first, _, _ in rows)
    return _block(f"{keyword} {{", [Line(2, f"{first:<{width}} {text}", span) for first, text, span in rows], place)


def _block(head: str, lines: Sequence[Line], place: s.Span) -> list[Line]:
    return [Line.head(head, place, 1), *lines, Line.foot("}", place, 1)]


def stacked(statements: Sequence[s.Assign], depth: int = 1) -> list[Line]:
    """Statements, their arithmetic in one column."""
    texts = [f"{a.target} = {write(a.value, formal=True)}" for a in statements]
    width = max((len(t) for t, a in zip(texts, statements, strict=True) if a.format is not None), default=0)
    out: list[Line] = []
    for text, a in zip(texts, statements, strict=True):
        whole = f"{text:<{width}} in {write(a.format, SUM)}" if a.format is not None else text
        out.append(Line(depth, whole, a.span))
    return out


# ---------------------------------------------------------------------------------------------------------- scope


def _scope(scope: s.Scope) -> list[Line]:
    choices = ", ".join(f"{v.name} in {{{', '.join(v.choices)}}}" for v in scope.variables)
    head = f"{scope.operation} for {choices}" if choices else scope.operation
    scalars = ", ".join(_scalar(p) for p in scope.scalars)
    inputs = f"({', '.join(_tensor(t) for t in scope.inputs)}{f'; {scalars}' if scalars else ''})"
    inputs += f" on ranks {scope.ranks}" if scope.ranks else ""
    outputs = f"-> {', '.join(_tensor(t) for t in scope.outputs)}"
    for pieces in ([f"{head} {inputs} {outputs}"], [head, f"{inputs} {outputs}"], [head, inputs, outputs]):
        if all(map(_fits, pieces)):
            break
    first, *rest = pieces
    return [_clause("scope", first, scope.span), *(Line(1, t, scope.span, hanging=_COLUMN) for t in rest)]


def _tensor(tensor: s.Tensor) -> str:
    return f"{tensor.name}: {write(tensor.type.dtype)}[{commas(tensor.type.dims, SUM)}]"


def _scalar(scalar: s.Scalar) -> str:
    default = "" if scalar.default is None else f" = {write(scalar.default, SUM)}"
    return f"{scalar.name}: {scalar.type}{default}"


def _pre(pre: s.Expr, place: s.Span) -> list[Line]:
    whole = write(pre, grouped=True)
    if _fits(whole):
        return [_clause("pre", whole, place)]
    parts = conjuncts(pre)
    texts = [write(parts[0], AND, grouped=True), *(write(part, NOT, grouped=True) for part in parts[1:])]
    return _joined("pre", [(text, part.span) for text, part in zip(texts, parts, strict=True)], place)


# ------------------------------------------------------------------------------------------------- guarantees


def guarantee(node: s.Guarantee) -> str:
    """A guarantee on one line."""
    match node:
        case s.Within():
            claim = f"{write(node.subject, SUM)} within tolerance of {write(node.target, SUM)}"
            return f"{claim}{_where(node.where)}{_across(node.across)}"
        case s.Bitwise():
            target = "" if node.target is None else f" {write(node.target, SUM)}"
            away = " away from range ends" if node.away_from_ends else ""
            claim = f"{write(node.subject, SUM)} bitwise equal{target}"
            return f"{claim}{_where(node.where)}{_across(node.across)}{away}"
        case s.Unchanged():
            return f"{', '.join(node.subjects)} unchanged"
        case s.Policy():
            choices = " or ".join(write(c, SUM) for c in node.choices)
            return f"policy {node.name} = {choices}{_across(node.across)}"
        case s.OrRaise():
            return f"{write(node.condition, NOT, grouped=True)} or raise {node.kind}"
        case s.Companion():
            return f"as {node.contract}{_across(node.across)}"


def _where(condition: s.Expr | None) -> str:
    return "" if condition is None else f" where {write(condition, grouped=True)}"


def _across(variations: Sequence[s.Expr]) -> str:
    return f" across {commas(variations, RANGE)}" if variations else ""


# -------------------------------------------------------------------------------------------------- tolerance


def tolerance(node: s.Tolerance) -> str:
    """A tolerance on one line."""
    match node:
        case s.Derived():
            options = ", ".join(write_argument(o, PRODUCT) for o in node.options)
            return f"derived with {options}" if options else "derived"
        case s.Absolute():
            return f"absolute {write(node.value, PRODUCT)}"
        case s.Relative():
            return f"relative {write(node.value, PRODUCT)} of {write(node.of, PRODUCT)}"
        case s.Ulp():
            return f"ulp {write(node.count, PRODUCT)} of {write(node.format, PRODUCT)}"
        case s.PerFormat():
            rows = ", ".join(f"{name}: {tolerance(t)}" for name, t in node.table)
            return f"per {node.variable} {{ {rows} }}"
        case s.NoTolerance():
            return "none"
        case s.Elementwise():
            return write(node.value, SUM)
        case s.Joined():
            return f" {node.op} ".join(tolerance(part) for part in node.parts)


def _tolerance(node: s.Tolerance, place: s.Span) -> list[Line]:
    whole = tolerance(node)
    if isinstance(node, s.Joined) and node.op == "and" and not _fits(whole):
        return _joined("tolerance", [(tolerance(part), part.span) for part in node.parts], place)
    if isinstance(node, s.PerFormat) and not _fits(whole):
        *most, (name, last) = node.table
        lines = [Line(2, f"{key}: {tolerance(t)},", t.span) for key, t in most]
        lines.append(Line(2, f"{name}: {tolerance(last)}", last.span))
        return _block(f"{'tolerance':<{_COLUMN}}per {node.variable} {{", lines, place)
    return [_clause("tolerance", whole, place)]


# -------------------------------------------------------------------------------------- reference and kernels


def _arithmetic(format: s.Expr | None) -> str:
    return "" if format is None else f" in {write(format, SUM)}"


def _reference(node: s.Reference, place: s.Span) -> list[Line]:
    match node:
        case s.Program(statements=(only,)):
            value = write(only.value, formal=True)
            return [Line(1, f"reference {{ {only.target} = {value}{_arithmetic(only.format)} }}", place)]
        case s.Program():
            return _block("reference {", stacked(node.statements, 2), place)
        case s.PythonReference():
            text = f"python {quote(node.path)}{_arithmetic(node.format)}"
        case s.Property():
            text = f"property {write(node.call)}"
        case s.Specification():
            text = f"specification {node.name}"
    return [_clause("reference", text, place)]


def kernel(node: s.Expr) -> str:
    """A kernel of `calibrate`: a name, a call, or `python "module:function"`."""
    match node:
        case s.Call(function="python", arguments=(s.Argument(keyword=None, value=s.Text() as path),)):
            return f"python {quote(path.value)}"
    return write(node)
