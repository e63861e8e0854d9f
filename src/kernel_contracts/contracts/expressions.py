"""Turns expressions of the language into nodes of a program.

One `Scope` a program: it knows inputs, scalars, sizes, definitions and the names assigned so far. Definitions are
inlined where they are called, so a contract's program is flat and its meaning does not depend on a library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernel_contracts.contracts.calls import CALLS, Arguments
from kernel_contracts.contracts.values import CONSTANTS, constant, dim, format_of, problem
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FP32, Format
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.operators import operators

_BINARY = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "@": "matmul", "^": "pow",
    "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal",
    "and": "and", "or": "or",
}  # fmt: skip
_DEPTH = 32


class Scope:
    """Names in force while a program is built. `lower` gives the node of an expression."""

    def __init__(
        self,
        builder: Builder,
        dtypes: Mapping[str, str],
        dims: set[str],
        definitions: Mapping[str, syntax.Define],
        names: dict[str, int] | None = None,
        depth: int = 0,
    ) -> None:
        self.builder = builder
        self.dtypes = dtypes
        self.dims = dims
        self.definitions = definitions
        self.names = names if names is not None else {}
        self.depth = depth
        self.integers: set[str] = set()
        """Integer scalars, usable in sizes (a stride)."""
        self.ranks = ""
        """The name after `on ranks`, whose axis comes first; empty where there are none."""

    # ------------------------------------------------------------------------------------------- entry points

    def assign(self, statement: syntax.Assign, default: Format | None = None) -> int:
        """`target = value in format`. The name then stands for the node."""
        before = self.builder.format
        if statement.format is not None:
            self.builder.format = format_of(statement.format, self.dtypes)
        elif default is not None:
            self.builder.format = default
        try:
            node = self.lower(statement.value)
        finally:
            self.builder.format = before
        self.names[statement.target] = node
        self.builder.name(node, statement.target)
        return node

    def lower(self, expr: syntax.Expr) -> int:
        """The node of an expression; types are checked on the way."""
        try:
            return self._lower(expr)
        except ArithmeticScopeError as error:
            raise problem("T304", expr.span, str(error), hint=_shape_hint(str(error))) from error

    # ------------------------------------------------------------------------------------------------- cases

    def _lower(self, expr: syntax.Expr) -> int:
        if isinstance(expr, syntax.Number):
            return self.builder.constant(expr.value)
        if isinstance(expr, syntax.Name):
            return self._name(expr)
        if isinstance(expr, syntax.Unary):
            return self._unary(expr)
        if isinstance(expr, syntax.Binary):
            return self._binary(expr)
        if isinstance(expr, syntax.Call):
            return self._call(expr)
        raise problem(
            "T305",
            expr.span,
            "a reference computes with arrays and numbers; a list or set is an argument of a function",
            hint="join arrays with concat(x, y, axis = 0)",
        )

    def _name(self, expr: syntax.Name) -> int:
        if expr.id in self.names:
            return self.names[expr.id]
        if expr.id in self.dims:
            return self.builder.size(expr.id)
        if expr.id in CONSTANTS:
            value = CONSTANTS[expr.id]
            return self.builder.constant(value if isinstance(value, bool) else float(value))
        known = [*self.names, *self.dims, *CONSTANTS]
        raise problem("N201", expr.span, f"the name {expr.id} is not known here", hint=did_you_mean(expr.id, known))

    def _unary(self, expr: syntax.Unary) -> int:
        if isinstance(expr.operand, syntax.Number) and expr.op == "-":
            return self.builder.constant(-expr.operand.value)
        if isinstance(expr.operand, syntax.Name) and expr.operand.id == "inf" and expr.op == "-":
            return self.builder.constant(-math.inf)
        operand = self.lower(expr.operand)
        if expr.op == "+":
            return operand
        return self.builder.op("not" if expr.op == "not" else "neg", [operand])

    def _binary(self, expr: syntax.Binary) -> int:
        if expr.op == "^" and isinstance(expr.right, syntax.Number) and expr.right.value == 2:
            base = self.lower(expr.left)
            return self.builder.op("mul", [base, base])
        if expr.op not in _BINARY:
            raise problem("T305", expr.span, f"the operator {expr.op} has no meaning between arrays")
        return self.builder.op(_BINARY[expr.op], [self.lower(expr.left), self.lower(expr.right)])

    def _call(self, expr: syntax.Call) -> int:
        if expr.function in self.definitions:
            return self._inline(expr, self.definitions[expr.function])
        if expr.function in CALLS:
            return CALLS[expr.function](self, Arguments(expr))
        vocabulary = operators()
        if expr.function in vocabulary:
            return self._plug_in(expr)
        known = [*CALLS, *self.definitions, *vocabulary]
        raise problem(
            "N205", expr.span, f"there is no function {expr.function}",
            hint=did_you_mean(expr.function, known) or 'definitions of a library come with: use gelu from "nn"',
        )  # fmt: skip

    def _plug_in(self, expr: syntax.Call) -> int:
        """An operator without a spelling of its own: positional operands, keyword constants as attributes."""
        operands = [self.lower(a.value) for a in expr.arguments if a.keyword is None]
        attrs: dict[str, Any] = {a.keyword: constant(a.value) for a in expr.arguments if a.keyword is not None}
        return self.builder.op(expr.function, operands, attrs)

    def _inline(self, expr: syntax.Call, define: syntax.Define) -> int:
        if self.depth >= _DEPTH:
            raise problem(
                "N206", expr.span, f"the definition of {define.name} calls itself; definitions cannot recurse",
                hint="write out what it stands for, or use cumsum, sum or prod",
            )  # fmt: skip
        given: dict[str, syntax.Expr] = {}
        for position, argument in enumerate(expr.arguments):
            name = argument.keyword
            if name is None:
                if position >= len(define.parameters):
                    raise self._arity(expr, define)
                name = define.parameters[position]
            if name not in define.parameters or name in given:
                raise self._arity(expr, define)
            given[name] = argument.value
        if len(given) != len(define.parameters):
            raise self._arity(expr, define)
        inner = Scope(self.builder, self.dtypes, self.dims, self.definitions, {}, self.depth + 1)
        inner.integers, inner.ranks = self.integers, self.ranks
        inner.names = {name: self.lower(value) for name, value in given.items()}
        for statement in define.body:
            inner.assign(statement)
        return inner.lower(define.result)

    @staticmethod
    def _arity(expr: syntax.Call, define: syntax.Define) -> Exception:
        wanted = ", ".join(define.parameters)
        return problem(
            "T306", expr.span, f"{define.name}({wanted}) takes {len(define.parameters)} argument(s), each once",
            found=f"{len(expr.arguments)} argument(s)",
        )  # fmt: skip

    # ------------------------------------------------------------------------------------- argument readers

    def size(self, expr: syntax.Expr) -> Any:
        """A size: over dims and integer scalars."""
        return dim(expr, self.dims | self.integers)

    def format(self, expr: syntax.Expr) -> Format:
        return format_of(expr, self.dtypes)


def _shape_hint(message: str) -> str:
    if "contracts" in message:
        return (
            "the last size of the first operand meets the last but one of the second; transpose(x) swaps the last two"
        )
    if "do not fit" in message:
        return "sizes must be equal or 1; reductions keep a size of 1 with the flag keep"
    return ""


def default_format(formats: list[Format]) -> Format:
    """The arithmetic of a statement that names none: the widest input, at least fp32."""
    out = FP32
    for f in formats:
        if f.is_real and f.precision > out.precision:
            out = f
    return out
