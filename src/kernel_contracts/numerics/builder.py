"""Builds programs node by node, inferring and checking every type on the way.

Equal nodes are shared, so `x * x` is a square with one operand and a subexpression written twice is computed
once. The elaborator of the language and the tracer of Python references both build through this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import BOOL, FORMATS, FP32, INT64, Format
from kernel_contracts.numerics.dims import Dim, Shape
from kernel_contracts.numerics.operators import operator
from kernel_contracts.numerics.program import Node, Program, Type


class Builder:
    """Collects the nodes of one program. Methods return node numbers."""

    def __init__(self, default: Format = FP32) -> None:
        self.format = default
        """The arithmetic of the statement being built (`in fp32`)."""
        self.nodes: list[Node] = []
        self.inputs: dict[str, int] = {}
        self.scalars: dict[str, int] = {}
        self._seen: dict[Any, int] = {}

    def _add(self, node: Node) -> int:
        key = (node.op, node.args, repr(sorted(node.attrs.items())), node.format.name, str(node.type))
        if key in self._seen:
            return self._seen[key]
        self.nodes.append(node)
        self._seen[key] = len(self.nodes) - 1
        return len(self.nodes) - 1

    def place(self, node: Node) -> int:
        """A node made elsewhere, such as a copied constant."""
        return self._add(node)

    def type(self, index: int) -> Type:
        return self.nodes[index].type

    def input(self, name: str, format: Format, shape: Shape) -> int:
        self.inputs[name] = self._add(Node("input", (), {"name": name}, format, Type(format, shape)))
        return self.inputs[name]

    def scalar(self, name: str, kind: str) -> int:
        """A scalar parameter: real (exact value, rounded where it is used), int or bool."""
        format = {"real": FORMATS["fp64"], "int": INT64, "bool": BOOL}[kind]
        self.scalars[name] = self._add(Node("scalar", (), {"name": name}, format, Type(format, ())))
        return self.scalars[name]

    def constant(self, value: float | int | bool) -> int:
        """A literal; a real one is held in the arithmetic of its statement."""
        if isinstance(value, bool):
            format = BOOL
        elif isinstance(value, int):
            format = INT64
        else:
            format = self.format
        return self._add(Node("constant", (), {"value": value}, format, Type(format, ())))

    def size(self, dim: Dim) -> int:
        """A size used as a number."""
        if isinstance(dim, int):
            return self.constant(dim)
        return self._add(Node("size", (), {"dim": dim}, INT64, Type(INT64, ())))

    def op(self, name: str, args: Sequence[int], attrs: Mapping[str, Any] | None = None) -> int:
        """Node `name(args)` in the current arithmetic. Raises ArithmeticScopeError where the types do not fit."""
        entry = operator(name)
        attrs = dict(attrs or {})
        types = [self.type(a) for a in args]
        if entry.arity is not None and len(args) != entry.arity:
            raise ArithmeticScopeError(f"{name} takes {entry.arity} operand(s), not {len(args)}")
        try:
            result = entry.infer(types, attrs, self.format)
        except (IndexError, TypeError) as problem:
            given = ", ".join(str(t) for t in types)
            raise ArithmeticScopeError(f"{name}({given}) does not fit: {problem}") from problem
        return self._add(Node(name, tuple(args), attrs, self.format, result))

    def name(self, index: int, label: str) -> None:
        """Remembers the source name of a node, for messages and mutants."""
        if not self.nodes[index].label:
            self.nodes[index] = replace(self.nodes[index], label=label)

    def finish(self, outputs: Mapping[str, int], dims: Sequence[str]) -> Program:
        """The program that computes `outputs`, without the nodes none of them needs (inputs always stay)."""
        needed = set(outputs.values()) | set(self.inputs.values()) | set(self.scalars.values())
        for i in range(len(self.nodes) - 1, -1, -1):
            if i in needed:
                needed.update(self.nodes[i].args)
        order = sorted(needed)
        new = {old: position for position, old in enumerate(order)}
        nodes = tuple(replace(self.nodes[i], args=tuple(new[a] for a in self.nodes[i].args)) for i in order)
        return Program(
            nodes,
            {k: new[v] for k, v in self.inputs.items()},
            {k: new[v] for k, v in self.scalars.items()},
            {k: new[v] for k, v in outputs.items()},
            tuple(dims),
        )
