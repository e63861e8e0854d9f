"""The functions of the reference language, each as a reader of its arguments.

Positional operands are expressions; keywords (`axis = -1`) and bare flags (`keep`) are known before any input is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kernel_contracts.contracts.ranks import axis_over
from kernel_contracts.contracts.values import constant, problem
from kernel_contracts.language import syntax
from kernel_contracts.numerics.dims import Dim

if TYPE_CHECKING:
    from kernel_contracts.contracts.expressions import Scope


class Arguments:
    """The arguments of one call, read by name or position; what is left over is an error."""

    def __init__(self, call: syntax.Call) -> None:
        self.call = call
        self.positional = [a for a in call.arguments if a.keyword is None]
        self.keywords = {a.keyword: a.value for a in call.arguments if a.keyword is not None}

    def flag(self, name: str) -> bool:
        """Whether the bare word `name` stands among the arguments; takes it out."""
        for a in self.positional:
            if isinstance(a.value, syntax.Name) and a.value.id == name:
                self.positional.remove(a)
                return True
        if name in self.keywords:
            return bool(constant(self.keywords.pop(name)))
        return False

    def take(self, name: str) -> syntax.Expr | None:
        return self.keywords.pop(name, None)

    def operands(self, count: int | None = None, shape: str = "") -> list[syntax.Expr]:
        """The positional arguments, checked for number; nothing else may be left."""
        values = [a.value for a in self.positional]
        if self.keywords:
            name = next(iter(self.keywords))
            raise problem(
                "T307", self.call.span, f"{self.call.function} has no argument {name}",
                hint=f"write {shape}" if shape else "",
            )  # fmt: skip
        if count is not None and len(values) != count:
            raise problem(
                "T307", self.call.span, f"{self.call.function} takes {count} operand(s), not {len(values)}",
                hint=f"write {shape}" if shape else "",
            )  # fmt: skip
        return values


Reader = Callable[["Scope", Arguments], int]


def _axes(arguments: Arguments, scope: Scope, rank: int, *, required: bool = False) -> tuple[int, ...]:
    """`axis = -1`, `axis = [0, 1]`, `axes = ...`, `over = ranks`; absent means all."""
    over = arguments.take("over")
    if over is not None:
        return (axis_over(over, scope.ranks),)
    given = arguments.take("axis")
    given = given if given is not None else arguments.take("axes")
    if given is None:
        if required:
            raise problem("T308", arguments.call.span, f"{arguments.call.function} needs an axis", hint="add axis = -1")
        return tuple(range(rank))
    value = constant(given)
    values = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        raise problem("T308", given.span, "an axis is a whole number or a list of them")
    return tuple(values)


def _elementwise(operator: str, count: int) -> Reader:
    def read(scope: Scope, arguments: Arguments) -> int:
        names = ", ".join("xyz"[:count])
        operands = arguments.operands(count, f"{arguments.call.function}({names})")
        return scope.builder.op(operator, [scope.lower(x) for x in operands])

    return read


def _reduction(operator: str, *, one_axis: bool = False, correction: bool = False) -> Reader:
    def read(scope: Scope, arguments: Arguments) -> int:
        keep = arguments.flag("keep")
        attrs: dict[str, Any] = {"keep": keep}
        if correction:
            given = arguments.take("correction")
            attrs["correction"] = constant(given) if given is not None else 0
        if not arguments.positional:
            raise problem(
                "T307", arguments.call.span, f"{operator} needs an operand", hint=f"write {operator}(x, axis = -1)"
            )
        x = scope.lower(arguments.positional[0].value)
        attrs["axis"] = _axes(arguments, scope, scope.builder.type(x).rank, required=one_axis)
        if operator == "cumsum":
            del attrs["keep"]
        arguments.operands(1, f"{operator}(x, axis = -1, keep)")
        return scope.builder.op(operator, [x], attrs)

    return read


def _einsum(scope: Scope, arguments: Arguments) -> int:
    spec, a, b = arguments.operands(3, 'einsum("ij,jk->ik", a, b)')
    if not isinstance(spec, syntax.Text):
        raise problem(
            "T307", spec.span, "einsum takes its index rule first, as a string", hint='write einsum("ij,jk->ik", a, b)'
        )
    return scope.builder.op("einsum", [scope.lower(a), scope.lower(b)], {"spec": spec.value})


def _shape(scope: Scope, expr: syntax.Expr) -> tuple[Dim, ...]:
    if not isinstance(expr, syntax.Listing):
        raise problem("T309", expr.span, "a shape is a list of sizes", hint="write [M, N // 2]")
    return tuple(scope.size(d) for d in expr.items)


def _to_shape(operator: str) -> Reader:
    def read(scope: Scope, arguments: Arguments) -> int:
        x, shape = arguments.operands(2, f"{operator}(x, [M, N])")
        return scope.builder.op(operator, [scope.lower(x)], {"shape": _shape(scope, shape)})

    return read


def _transpose(scope: Scope, arguments: Arguments) -> int:
    if len(arguments.positional) == 1:
        return scope.builder.op("transpose", [scope.lower(arguments.operands(1)[0])], {"axes": None})
    x, axes = arguments.operands(2, "transpose(x, [1, 0])")
    return scope.builder.op("transpose", [scope.lower(x)], {"axes": constant(axes)})


def _concat(scope: Scope, arguments: Arguments) -> int:
    axis = arguments.take("axis")
    parts = [a.value for a in arguments.positional]
    if len(parts) == 1 and isinstance(parts[0], syntax.Listing):
        parts = list(parts[0].items)
    arguments.operands()
    return scope.builder.op(
        "concat", [scope.lower(p) for p in parts], {"axis": constant(axis) if axis is not None else -1}
    )


def _sized(operator: str, defaults: Mapping[str, Any]) -> Reader:
    """slice, pad, windows: one operand, an axis and sizes by keyword."""

    def read(scope: Scope, arguments: Arguments) -> int:
        attrs: dict[str, Any] = {}
        for name, default in defaults.items():
            given = arguments.take(name)
            if given is None:
                if default is ...:
                    raise problem("T308", arguments.call.span, f"{operator} needs {name} = ...")
                attrs[name] = default
            elif name == "axis":
                attrs[name] = constant(given)
            elif name == "value":
                attrs[name] = float(constant(given))
            else:
                attrs[name] = scope.size(given)
        wanted = ", ".join(f"{n} = ..." for n in defaults)
        (x,) = arguments.operands(1, f"{operator}(x, {wanted})")
        return scope.builder.op(operator, [scope.lower(x)], attrs)

    return read


def _indexed(operator: str, count: int) -> Reader:
    """gather(x, index, axis = 0), take_along(x, index, axis = -1), scatter(base, updates, index, axis = 0)."""

    def read(scope: Scope, arguments: Arguments) -> int:
        axis = arguments.take("axis")
        operands = arguments.operands(count, f"{operator}(..., axis = 0)")
        return scope.builder.op(
            operator, [scope.lower(x) for x in operands], {"axis": constant(axis) if axis is not None else 0}
        )

    return read


def _sorting(operator: str) -> Reader:
    """sort(x, axis = -1, descending, count = k, nan = largest), and argsort with `ties = first`, `last` or `any`."""

    def read(scope: Scope, arguments: Arguments) -> int:
        attrs: dict[str, Any] = {"descending": arguments.flag("descending")}
        axis, count = arguments.take("axis"), arguments.take("count")
        attrs["axis"] = constant(axis) if axis is not None else -1
        attrs["size"] = scope.size(count) if count is not None else None
        for name in ("nan", "ties") if operator == "argsort" else ("nan",):
            given = arguments.take(name)
            if given is not None:
                attrs[name] = given.id if isinstance(given, syntax.Name) else str(constant(given))
        (x,) = arguments.operands(1, f"{operator}(x, axis = -1, descending, count = k)")
        return scope.builder.op(operator, [scope.lower(x)], attrs)

    return read


def _iota(scope: Scope, arguments: Arguments) -> int:
    (size,) = arguments.operands(1, "iota(N)")
    return scope.builder.op("iota", [], {"size": scope.size(size)})


def _one_hot(scope: Scope, arguments: Arguments) -> int:
    index, size = arguments.operands(2, "one_hot(index, N)")
    return scope.builder.op("one_hot", [scope.lower(index)], {"size": scope.size(size)})


def _convert(operator: str) -> Reader:
    def read(scope: Scope, arguments: Arguments) -> int:
        x, target = arguments.operands(2, f"{operator}(x, P)")
        return scope.builder.op(operator, [scope.lower(x)], {"format": scope.format(target)})

    return read


def _convolution(rank: int) -> Reader:
    """conv1d(x[N, C, L], w[O, C, R]) and conv2d(x[N, C, H, W], w[O, C, R, S]): cross-correlation, zero padding.

    Built from pad, windows and one einsum, so that its bound and its emulation are those of a matrix product.
    """

    def read(scope: Scope, arguments: Arguments) -> int:
        sizes: dict[str, Dim] = {}
        for name, default in (("stride", 1), ("padding", 0), ("dilation", 1)):
            given = arguments.take(name)
            sizes[name] = default if given is None else scope.size(given)
        x, w = (scope.lower(v) for v in arguments.operands(2, f"conv{rank}d(x, w, stride = 1, padding = 0)"))
        kernel = scope.builder.type(w).shape[2:]
        for i in range(rank):
            if sizes["padding"] != 0:
                pad = {"axis": 2 + i, "before": sizes["padding"], "after": sizes["padding"], "value": 0.0}
                x = scope.builder.op("pad", [x], pad)
        for i in range(rank):
            window = {"axis": 2 + i, "size": kernel[i], "stride": sizes["stride"], "dilation": sizes["dilation"]}
            x = scope.builder.op("windows", [x], window)
        spec = "ncxr,ocr->nox" if rank == 1 else "ncxyrs,ocrs->noxy"
        return scope.builder.op("einsum", [x, w], {"spec": spec})

    return read


CALLS: Mapping[str, Reader] = {
    **{n: _elementwise(n, 1) for n in (
        "exp", "log", "log1p", "expm1", "tanh", "erf", "erfc", "sqrt", "rsqrt", "sin", "cos", "sigmoid", "abs",
        "floor", "sign",
    )},
    **{n: _elementwise(n, 2) for n in ("maximum", "minimum", "pow", "matmul")},
    "where": _elementwise("where", 3), "affine": _elementwise("affine", 3),
    **{n: _reduction(n) for n in ("sum", "mean", "prod", "max", "min", "any", "all")},
    "var": _reduction("var", correction=True),
    **{n: _reduction(n, one_axis=True) for n in ("argmax", "argmin", "cumsum")},
    "einsum": _einsum, "reshape": _to_shape("reshape"), "broadcast": _to_shape("broadcast"), "full": _to_shape("full"),
    "transpose": _transpose, "concat": _concat,
    "slice": _sized("slice", {"axis": ..., "start": 0, "stop": None, "step": 1}),
    "pad": _sized("pad", {"axis": ..., "before": 0, "after": 0, "value": 0.0}),
    "windows": _sized("windows", {"axis": ..., "size": ..., "stride": 1, "dilation": 1}),
    "expand": _sized("expand", {"axis": ...}), "flip": _sized("flip", {"axis": ...}),
    "gather": _indexed("gather", 2), "take_along": _indexed("take_along", 2), "scatter": _indexed("scatter", 3),
    "sort": _sorting("sort"), "argsort": _sorting("argsort"), "iota": _iota, "one_hot": _one_hot,
    "round": _convert("round"), "cast": _convert("cast"), "at_least": _convert("at_least"),
    "conv1d": _convolution(1), "conv2d": _convolution(2),
}  # fmt: skip
