"""From the parse tree to the syntax tree. What the grammar reads flat is joined here: conditions after `where`, sums of
tolerances, chained comparisons. Mistakes that the grammar lets through (order of clauses and the like) are collected,
so that one run names them all.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from lark import Token, Tree

from kernel_contracts.errors import LanguageError
from kernel_contracts.language import syntax as s
from kernel_contracts.language.diagnostics import Diagnostic, diagnose
from kernel_contracts.language.expressions import cover
from kernel_contracts.language.guarantees import Guarantees
from kernel_contracts.language.scan import CLAUSES

ORDER = ", ".join(CLAUSES)

Clause = tuple[str, s.Span, Any]
"""Keyword, place and content."""


def clean_doc(text: str) -> str:
    """A docstring without its outer space and the indentation that its lines share."""
    return "\n".join(line.rstrip() for line in inspect.cleandoc(text).splitlines())


_DEEPEST = 200
"""Levels of the parse tree; what reads the syntax later needs a few stack frames for each."""


class Builder(Guarantees):
    """One use builds one tree. `problems` holds what was found wrong on the way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Diagnostic] = []

    def build(self, tree: Tree[Any], depth: int = 0) -> Any:
        """The syntax of a parse tree: the method of the rule's name, given its children's syntax."""
        if depth > _DEEPEST:
            hint = "name parts of the expression in statements of their own."
            raise LanguageError([diagnose("P123", self.span(tree.meta), hint=hint)])
        children = [self.build(c, depth + 1) if isinstance(c, Tree) else c for c in tree.children]
        return getattr(self, tree.data)(tree.meta, children)

    # ------------------------------------------------------------------------------------------- file structure

    def file(self, meta: Any, items: list[Any]) -> s.File:
        return s.File(self.path, tuple(items), span=self.span(meta))

    def expression(self, meta: Any, items: list[Any]) -> s.Expr:
        (value,) = items
        return value  # type: ignore[no-any-return]

    def names(self, meta: Any, items: list[Token]) -> list[Token]:
        return items

    def use(self, meta: Any, items: list[Any]) -> s.Use:
        names, source = items
        return s.Use(tuple(map(str, names)), self.unquote(source), span=self.span(meta))

    def define_short(self, meta: Any, items: list[Any]) -> s.Define:
        name, parameters, result = items
        return s.Define(str(name), tuple(map(str, parameters or ())), (), result, span=self.span(meta))

    def define(self, meta: Any, items: list[Any]) -> s.Define:
        name, parameters, *body, result = items
        return s.Define(str(name), tuple(map(str, parameters or ())), tuple(body), result, span=self.span(meta))

    def profile(self, meta: Any, items: list[Any]) -> s.Profile:
        name, version, *entries = items
        return s.Profile(str(name), str(version), tuple(entries), span=self.span(meta))

    def entry(self, meta: Any, items: list[Any]) -> s.ProfileEntry:
        contract, comparator, version, level = items
        return s.ProfileEntry(str(contract), str(comparator), str(version), str(level or ""), span=self.span(meta))

    def doc(self, meta: Any, items: list[Token]) -> tuple[str, s.Span]:
        text = items[0]
        return clean_doc(text[3:-3] if text.startswith('"""') else self.unquote(text)), self.span(meta)

    def body(self, meta: Any, items: list[Clause]) -> tuple[list[Clause], s.Span]:
        return items, self.span(meta)

    def contract(self, meta: Any, items: list[Any]) -> s.Contract:
        name, version, implements, doc, (clauses, body) = items
        place, span = self.token_span(name), self.span(meta)
        if all(keyword != "scope" for keyword, _, _ in clauses):
            hint = "begin the contract with `scope OPERATION (inputs) -> outputs`."
            self.problems.append(diagnose("P109", place, f"contract `{name}` has no scope", hint=hint))
        found = self._clauses(clauses)
        places = [("header", cover(span, self.token_span(implements))), ("body", body)]
        places += [("doc", doc[1])] if doc else []
        return s.Contract(
            name=str(name),
            version=str(version),
            implements=str(implements),
            doc=doc[0] if doc else "",
            scope=found.get("scope", s.Scope("", (), (), (), None, (), span=place)),
            pre=found.get("pre"),
            post=found.get("post", ()),
            tolerance=found.get("tolerance"),
            reference=found.get("reference"),
            measure=found.get("measure", ()),
            violation=found.get("violation", ()),
            calibrate=found.get("calibrate", ()),
            span=span,
            places=(*places, *((keyword, where) for keyword, where, _ in clauses)),
        )

    def _clauses(self, clauses: Sequence[Clause]) -> dict[str, Any]:
        """The clauses by keyword, each at most once and in the one order."""
        found: dict[str, Any] = {}
        last = ""
        for keyword, span, value in clauses:
            place = s.Span(span.file, span.line, span.column, span.line, span.column + len(keyword))
            if keyword in found:
                text = f"the clause `{keyword}` stands twice"
                self.problems.append(diagnose("P108", place, text, hint="join the two, or remove one."))
                continue
            if last and CLAUSES.index(keyword) < CLAUSES.index(last):
                text, hint = f"`{keyword}` stands after `{last}`", f"move `{keyword}` before `{last}`."
                self.problems.append(diagnose("P107", place, text, expected=f"the order {ORDER}", hint=hint))
            else:
                last = keyword
            found[keyword] = value
        return found

    # ---------------------------------------------------------------------------------------------------- scope

    def scope(self, meta: Any, items: list[Any]) -> Clause:
        name, variables, inputs, scalars, ranks, outputs = items
        inner = (tuple(variables or ()), tuple(inputs or ()), tuple(scalars or ()))
        span = self.span(meta)
        return "scope", span, s.Scope(str(name), *inner, ranks and str(ranks), tuple(outputs), span=span)

    def variables(self, meta: Any, items: list[s.DtypeVariable]) -> list[s.DtypeVariable]:
        return items

    def variable(self, meta: Any, items: list[Token]) -> s.DtypeVariable:
        name, *choices = items
        return s.DtypeVariable(str(name), tuple(map(str, choices)), span=self.span(meta))

    def tensors(self, meta: Any, items: list[s.Tensor]) -> list[s.Tensor]:
        return items

    def tensor(self, meta: Any, items: list[Any]) -> s.Tensor:
        name, kind = items
        return s.Tensor(str(name), kind, span=self.span(meta))

    def tensor_type(self, meta: Any, items: list[Any]) -> s.TensorType:
        dtype, dims = items
        return s.TensorType(dtype, tuple(dims or ()), span=self.span(meta))

    def dims(self, meta: Any, items: list[s.Expr]) -> list[s.Expr]:
        return items

    def default(self, meta: Any, items: list[s.Expr]) -> s.Expr:
        return items[0]

    arithmetic = default

    def scalars(self, meta: Any, items: list[s.Scalar]) -> list[s.Scalar]:
        return items

    def scalar(self, meta: Any, items: list[Any]) -> s.Scalar:
        name, kind, default = items
        return s.Scalar(str(name), str(kind), default, span=self.span(meta))

    def pre(self, meta: Any, items: list[s.Expr]) -> Clause:
        return "pre", self.span(meta), items[0]

    # ------------------------------------------------------------------------------------------------ reference

    def program(self, meta: Any, items: list[s.Assign]) -> Clause:
        return "reference", self.span(meta), s.Program(tuple(items), span=self.span(meta))

    def python_reference(self, meta: Any, items: list[Any]) -> Clause:
        path, arithmetic = items
        return "reference", self.span(meta), s.PythonReference(self.unquote(path), arithmetic, span=self.span(meta))

    def property(self, meta: Any, items: list[s.Expr]) -> Clause:
        return "reference", self.span(meta), s.Property(items[0], span=self.span(meta))

    def specification(self, meta: Any, items: list[Token]) -> Clause:
        return "reference", self.span(meta), s.Specification(str(items[0]), span=self.span(meta))

    def assign(self, meta: Any, items: list[Any]) -> s.Assign:
        target, value, arithmetic = items
        # The span ends with the statement: a `;` that parts it from the next one is not of it.
        span = cover(self.token_span(target), (arithmetic or value).span)
        return s.Assign(str(target), value, arithmetic, span=span)

    # ------------------------------------------------------------------------- measure, violation and calibrate

    def measure(self, meta: Any, items: list[s.MeasureItem]) -> Clause:
        return "measure", self.span(meta), tuple(items)

    def line(self, meta: Any, items: list[Any]) -> s.MeasureItem:
        keyword, *values = items
        if values[0].span.line != keyword.line:
            # The grammar would read the next line's keyword as an item of this one.
            text, hint = f"`{keyword}` has no item on its line", f"write its items after it: `{keyword} ITEM, ...`."
            self.problems.append(diagnose("P120", self.token_span(keyword), text, hint=hint))
        return s.MeasureItem(str(keyword), tuple(values), span=self.span(meta))

    def violation(self, meta: Any, items: list[list[Token]]) -> Clause:
        names = tuple(s.Name(str(t), span=self.token_span(t)) for t in items[0])
        return "violation", self.span(meta), names

    def calibrate(self, meta: Any, items: list[s.CalibrateState]) -> Clause:
        return "calibrate", self.span(meta), tuple(items)

    def state(self, meta: Any, items: list[Any]) -> s.CalibrateState:
        state, kernel = items
        return s.CalibrateState(state.value, kernel, span=self.span(meta))

    def python_kernel(self, meta: Any, items: list[Token]) -> s.Call:
        path = s.Text(self.unquote(items[0]), span=self.token_span(items[0]))
        return s.Call("python", (s.Argument(None, path, span=path.span),), span=self.span(meta))
