"""Arrays and sizes that remember how they were computed, for references written in Python.

A `Traced` behaves like an array of the array API standard whose values do not exist yet: every operation adds a node
to the program under construction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FORMATS, Format
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.dims import Dim, text


class Traced:
    """An array that remembers how it was computed. Its shape is symbolic; its values do not exist."""

    __array_priority__ = 1000

    def __init__(self, builder: Builder, node: int) -> None:
        self.builder = builder
        self.node = node

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(d if isinstance(d, int) else Size(d) for d in self.builder.type(self.node).shape)

    @property
    def ndim(self) -> int:
        return self.builder.type(self.node).rank

    @property
    def dtype(self) -> str:
        return self.builder.type(self.node).format.name

    @property
    def mT(self) -> Traced:  # noqa: N802 - the standard spells it so
        return self._op("transpose", axes=None)

    T = mT

    def __array_namespace__(self, *, api_version: str | None = None) -> Namespace:
        return Namespace(self.builder)

    def _op(self, name: str, *others: Any, **attrs: Any) -> Traced:
        nodes = [self.node, *(_lift(self.builder, o) for o in others)]
        return Traced(self.builder, self.builder.op(name, nodes, attrs))

    def _swapped(self, name: str, other: Any) -> Traced:
        return Traced(self.builder, self.builder.op(name, [_lift(self.builder, other), self.node]))

    def __neg__(self) -> Traced:
        return self._op("neg")

    def __abs__(self) -> Traced:
        return self._op("abs")

    def __invert__(self) -> Traced:
        return self._op("not")

    def __pow__(self, other: Any) -> Traced:
        return self._op("mul", self) if other == 2 else self._op("pow", other)

    def __bool__(self) -> bool:
        raise ArithmeticScopeError(
            "a reference cannot branch on the values of an array, which do not exist while it is read; use where"
        )

    def __eq__(self, other: object) -> Any:
        return self._op("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._op("not_equal", other)

    __hash__ = object.__hash__


def _lift(builder: Builder, value: Any) -> int:
    if isinstance(value, Traced):
        return value.node
    if isinstance(value, Size):
        return builder.size(value.dim)
    if isinstance(value, (bool, int, float)):
        return builder.constant(value)
    raise ArithmeticScopeError(f"a reference computes with its arguments and numbers, not with {type(value).__name__}")


class Size:
    """A symbolic size, usable as a number and in shapes."""

    def __init__(self, dim: Dim) -> None:
        self.dim = dim

    def __repr__(self) -> str:
        return text(self.dim)

    def _with(self, name: str, other: Any, swap: bool = False) -> Size:
        from kernel_contracts.numerics.dims import make

        right: Dim = other.dim if isinstance(other, Size) else int(other)
        return Size(make(name, right, self.dim) if swap else make(name, self.dim, right))

    def __add__(self, other: Any) -> Size:
        return self._with("+", other)

    def __sub__(self, other: Any) -> Size:
        return self._with("-", other)

    def __mul__(self, other: Any) -> Size:
        return self._with("*", other)

    def __floordiv__(self, other: Any) -> Size:
        return self._with("//", other)

    __radd__, __rmul__ = __add__, __mul__


def _install() -> None:
    """Binary operators, forward and reflected."""
    table = {
        "add": "add",
        "sub": "sub",
        "mul": "mul",
        "truediv": "div",
        "floordiv": "floordiv",
        "mod": "mod",
        "matmul": "matmul",
        "and": "and",
        "or": "or",
    }
    for python, name in table.items():
        setattr(Traced, f"__{python}__", lambda a, b, name=name: a._op(name, b))
        setattr(Traced, f"__r{python}__", lambda a, b, name=name: a._swapped(name, b))
    for python, name in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
        setattr(Traced, f"__{python}__", lambda a, b, name=name: a._op(name, b))


_install()


class Namespace:
    """The array API functions that a reference may call, plus `round_to` and `at_least`."""

    pi, e, inf = 3.141592653589793, 2.718281828459045, float("inf")

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Callable[..., Traced]:
        spelling = {
            "subtract": "sub",
            "multiply": "mul",
            "divide": "div",
            "add": "add",
            "negative": "neg",
            "logical_and": "and",
            "logical_or": "or",
            "logical_not": "not",
            "cumulative_sum": "cumsum",
        }.get(name, name)
        if name in _REDUCTIONS:
            return lambda x, *, axis=None, keepdims=False, **more: self._reduce(spelling, x, axis, keepdims, more)
        if name in FORMATS or name.startswith("_"):
            raise AttributeError(name)
        if spelling in _PLAIN:
            return lambda *args: self._call(spelling, args)
        raise ArithmeticScopeError(f"a reference cannot call {name}: the language has no such operator")

    def _call(self, name: str, args: tuple[Any, ...], **attrs: Any) -> Traced:
        return Traced(self._builder, self._builder.op(name, [_lift(self._builder, a) for a in args], attrs))

    def _reduce(self, name: str, x: Traced, axis: Any, keepdims: bool, more: dict[str, Any]) -> Traced:
        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        attrs: dict[str, Any] = {"axis": axes, "keep": keepdims}
        if name == "var":
            attrs["correction"] = more.get("correction", 0)
        if name == "cumsum":
            del attrs["keep"]
        return self._call(name, (x,), **attrs)

    def reshape(self, x: Traced, shape: tuple[Any, ...]) -> Traced:
        return self._call("reshape", (x,), shape=tuple(s.dim if isinstance(s, Size) else s for s in shape))

    def permute_dims(self, x: Traced, axes: tuple[int, ...]) -> Traced:
        return self._call("transpose", (x,), axes=tuple(axes))

    def matrix_transpose(self, x: Traced) -> Traced:
        return x.mT

    def concat(self, arrays: list[Traced], *, axis: int = 0) -> Traced:
        return self._call("concat", tuple(arrays), axis=axis)

    def expand_dims(self, x: Traced, *, axis: int = 0) -> Traced:
        return self._call("expand", (x,), axis=axis)

    def take(self, x: Traced, indices: Traced, *, axis: int = 0) -> Traced:
        return self._call("gather", (x, indices), axis=axis)

    def sort(self, x: Traced, *, axis: int = -1, descending: bool = False) -> Traced:
        return self._call("sort", (x,), axis=axis, descending=descending)

    def argsort(self, x: Traced, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Traced:
        """Stable, or of equal elements any first."""
        return self._call("argsort", (x,), axis=axis, descending=descending, ties="first" if stable else "any")

    def round_to(self, x: Traced, format: str) -> Traced:
        """A mandated rounding to the named format."""
        return self._call("round", (x,), format=_format(format))

    def at_least(self, x: Traced, format: str) -> Traced:
        """An intermediate that may be held in the named format."""
        return self._call("at_least", (x,), format=_format(format))

    def astype(self, x: Traced, format: str) -> Traced:
        return self._call("cast", (x,), format=_format(format))


_REDUCTIONS = frozenset(
    {"sum", "mean", "prod", "max", "min", "any", "all", "var", "argmax", "argmin", "cumulative_sum"}
)
_PLAIN = frozenset(
    {
        "exp",
        "log",
        "log1p",
        "expm1",
        "tanh",
        "erf",
        "erfc",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "sigmoid",
        "abs",
        "floor",
        "sign",
        "add",
        "sub",
        "mul",
        "div",
        "neg",
        "pow",
        "maximum",
        "minimum",
        "where",
        "matmul",
        "and",
        "or",
        "not",
        "equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "not_equal",
    }
)


def _format(name: Any) -> Format:
    found = FORMATS.get(str(name))
    if found is None:
        raise ArithmeticScopeError(f"there is no number format {name}; use one of {', '.join(FORMATS)}")
    return found
