"""The derived tolerance in words and symbols: which operation of the reference pays how much, and why.

Every term is the local one of Higham's rounding model; how far it reaches into the result is what the interpretation
over (value, radius) pairs computes for each element.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kernel_contracts.formats import Format
from kernel_contracts.numerics.bounded import BoundContext
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.dims import text as size_text
from kernel_contracts.numerics.interpret import needs_conversion
from kernel_contracts.numerics.operators import operator
from kernel_contracts.numerics.operators.contraction import parse_spec
from kernel_contracts.numerics.operators.conversion import held_already
from kernel_contracts.numerics.program import Node, Program
from kernel_contracts.report.tolerance import Term


def terms(program: Program, context: BoundContext, sizes: Mapping[str, int]) -> tuple[Term, ...]:
    """Every source of rounding in the order of the program; equal elementwise ones are told once, with their number."""
    found: list[Term] = []
    outputs = set(program.outputs.values())
    counted: dict[tuple[str, str], int] = {}
    for index, node in enumerate(program.nodes):
        for term in _of(program, context, sizes, index, node, index in outputs):
            key = (term.symbol, term.words)
            if key not in counted:
                found.append(term)
            counted[key] = counted.get(key, 0) + 1
    return tuple(_times(t, counted[t.symbol, t.words]) for t in found)


def _times(term: Term, count: int) -> Term:
    return term if count == 1 else Term(term.operation, term.symbol, f"{term.words}, {count} times", term.value)


def _of(
    program: Program, context: BoundContext, sizes: Mapping[str, int], index: int, node: Node, last: bool
) -> Iterator[Term]:
    if node.type.kind != "real" or not node.args:
        return
    name, fmt = node.label or node.op, node.format
    if any(needs_conversion(node, program, a) for a in node.args):
        yield Term(name, f"u({fmt})", f"operands converted to {fmt}: {_roundoff(fmt)}", fmt.u)
    if node.op in ("round", "cast"):
        if program.nodes[node.args[0]].type.kind == "real" and not held_already(node.attrs):
            target = node.type.format
            what = "final rounding" if last else "mandated rounding"
            yield Term(name, f"ulp({target})/2", f"{what} to {target}: half a unit in the last place", target.u)
    elif node.op == "at_least":
        target = node.attrs["format"]
        yield Term(name, f"u({target})", f"may be held in {target}: {_roundoff(target)}", target.u)
    elif operator(node.op).sums:
        yield _sum(program, context, sizes, node, name)
    elif not operator(node.op).computes:
        return
    elif node.op in context.ulps:
        ulps = context.ulps[node.op]
        budget = f"{ulps:g} ulp" + (" of 1" if node.op in context.absolute else "")
        yield Term(name, f"{2 * ulps:g} u({fmt})", f"{node.op} in {fmt}, budget {budget}", 2 * ulps * fmt.u)
    elif node.op == "prod":
        n = math.prod(size_of(program.nodes[node.args[0]].type.shape[a], sizes) for a in node.attrs["axis"])
        yield _gamma(context, name, f"product of {n} factors", n, fmt, "|result|")
    else:
        yield Term("elementwise", f"u({fmt})", f"elementwise arithmetic in {fmt}: {_roundoff(fmt)} each", fmt.u)


def _sum(program: Program, context: BoundContext, sizes: Mapping[str, int], node: Node, name: str) -> Term:
    """Sums and products of matrices, by the number of their terms."""
    shape = program.nodes[node.args[0]].type.shape
    if node.op in ("matmul", "affine"):
        summed = [shape[-1]]
    elif node.op == "einsum":
        left, right, out = parse_spec(node.attrs["spec"])
        summed = [shape[k] for k, i in enumerate(left) if i in right and i not in out]
    else:
        summed = [shape[a] for a in node.attrs.get("axis", range(len(shape)))]
    n = math.prod(size_of(d, sizes) for d in summed)
    over = " * ".join(size_text(d) for d in summed if d != 1) or "1"
    if node.op == "affine":  # the bias is one more term
        a, b, c = (_shown(program, i) for i in node.args)
        what = f"products and a bias summed over {over}{_equals(over, n)}"
        return _gamma(context, name, what, context.depth(n + 1) + 1, node.format, f"(|{a}||{b}| + |{c}|)")
    if node.op in ("matmul", "einsum"):
        a, b = (_shown(program, i) for i in node.args)
        what = f"products summed over {over}{_equals(over, n)}"
        return _gamma(context, name, what, context.depth(n) + 1, node.format, f"|{a}||{b}|")
    extra = {"mean": 1, "var": 5}.get(node.op, 0)  # the division; deviations, squares and their division
    what = {"mean": "mean", "var": "variance", "cumsum": "running total"}.get(node.op, "sum")
    what = f"{what} over {over}{_equals(over, n)}"
    return _gamma(context, name, what, context.depth(n) + extra, node.format, "sum of magnitudes")


def _shown(program: Program, index: int) -> str:
    """What an operand is called; one that was only moved about is called as what it was."""
    node = program.nodes[index]
    while not (node.label or node.op == "input") and len(node.args) == 1 and not operator(node.op).computes:
        node = program.nodes[node.args[0]]
    return str(node.attrs["name"]) if node.op == "input" else node.label or "."


def _equals(over: str, n: int) -> str:
    return "" if over == str(n) else f" = {n}"


def _gamma(context: BoundContext, name: str, what: str, k: int, fmt: Format, of: str) -> Term:
    value = context.gamma(k, fmt)
    how = f" ({context.summation} order)" if context.summation != "any" else ""
    if context.probabilistic:
        how = f" (probabilistic, lambda = {context.probabilistic:g})"
    told = f"{what} in {fmt}{how}: gamma_{k} = {value:.3g}, {_roundoff(fmt)}"
    return Term(name, f"gamma_{k}({fmt}) {of}", told, value)


def _roundoff(fmt: Format) -> str:
    return f"u = 2^-{fmt.precision}"


def symbols(found: tuple[Term, ...]) -> str:
    """All terms in one line of symbols."""
    return " + ".join(dict.fromkeys(t.symbol for t in found)) or "0 (nothing is computed: every bit is decided)"


def words(found: tuple[Term, ...]) -> str:
    """All terms in one sentence."""
    return "; ".join(t.words for t in found) or "nothing is computed, so exactly one answer is right"
