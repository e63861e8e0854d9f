"""Symbolic sizes: small integer expressions over dim names, comparable without a solver.

A size is an int, a name, or a tuple (operator, left, right). Two sizes count as equal when they agree on many
random bindings: a wrong "equal" would need an integer expression of a few operators to vanish on all of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from kernel_contracts.errors import ArithmeticScopeError

Dim = int | str | tuple[str, Any, Any]
Shape = tuple[Dim, ...]

_TRIALS = 24

UP = "^^"
"""`a ^^ b`: the least power of two from a on, at least b. Only mutants use it; no contract can write it."""


def make(op: str, left: Dim, right: Dim) -> Dim:
    """The expression `left op right`, folded where both sides are numbers and where a neutral element stands."""
    if isinstance(left, int) and isinstance(right, int):
        return _apply(op, left, right)
    if op in "+-" and right == 0:
        return left
    if op == "+" and left == 0:
        return right
    if op in ("*", "//") and right == 1:
        return left
    if op == "*" and left == 1:
        return right
    return (op, left, right)


def _apply(op: str, a: int, b: int) -> int:
    if op == "+":
        return a + b
    if op == "-":
        return a - b
    if op == "*":
        return a * b
    if op in ("//", "%") and b == 0:
        raise ArithmeticScopeError(f"the size {a} {op} {b} divides by zero")
    if op == "//":
        return a // b
    if op == "%":
        return a % b
    if op == "^":
        return int(a**b)
    if op == UP:
        return max(b, 1 << max(a - 1, 0).bit_length())
    raise ArithmeticScopeError(f"sizes know + - * // % ^, not {op!r}")


def evaluate(dim: Dim, binding: Mapping[str, int]) -> int:
    """The number that `dim` stands for. Raises ArithmeticScopeError when a name is unbound."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, str):
        if dim not in binding:
            raise ArithmeticScopeError(f"the size {dim} has no value here")
        return int(binding[dim])
    op, left, right = dim
    return _apply(op, evaluate(left, binding), evaluate(right, binding))


def names(dim: Dim) -> set[str]:
    """Every dim name in it."""
    if isinstance(dim, int):
        return set()
    if isinstance(dim, str):
        return {dim}
    return names(dim[1]) | names(dim[2])


def text(dim: Dim) -> str:
    """As an author would write it."""
    if isinstance(dim, tuple):
        parts = [f"({text(d)})" if isinstance(d, tuple) else text(d) for d in dim[1:]]
        return f"{parts[0]} {dim[0]} {parts[1]}"
    return str(dim)


def shape_text(shape: Shape) -> str:
    return "[" + ", ".join(text(d) for d in shape) + "]"


def equal(a: Dim, b: Dim) -> bool:
    """Whether two sizes are the same for every binding (decided on random bindings)."""
    return a == b or counterexample(a, b) is None


def counterexample(a: Dim, b: Dim) -> dict[str, int] | None:
    """A binding under which the two differ, or None."""
    free = sorted(names(a) | names(b))
    rng = random.Random(20240711)
    for trial in range(_TRIALS):
        high = 9 if trial < 8 else 5000
        binding = {n: rng.randint(1, high) for n in free}
        try:
            if evaluate(a, binding) != evaluate(b, binding):
                return binding
        except ArithmeticScopeError:
            continue
    return None


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """NumPy's broadcasting on symbolic shapes. Raises ArithmeticScopeError naming both sizes where they clash."""
    shapes = list(shapes)
    rank = max((len(s) for s in shapes), default=0)
    out: list[Dim] = []
    for position in range(rank):
        size: Dim = 1
        for shape in shapes:
            index = position - (rank - len(shape))
            if index < 0 or shape[index] == 1:
                continue
            if size == 1:
                size = shape[index]
            elif not equal(size, shape[index]):
                both = " and ".join(shape_text(s) for s in shapes)
                raise ArithmeticScopeError(
                    f"shapes {both} do not fit: {text(size)} against {text(shape[index])} on axis {position - rank}"
                )
        out.append(size)
    return tuple(out)


def product(shape: Shape) -> Dim:
    out: Dim = 1
    for d in shape:
        out = make("*", out, d)
    return out
