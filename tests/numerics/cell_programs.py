"""The programs that cells are drawn from: each operator alone, random compositions, and the usual kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping

from cell_kernels import KERNEL_PROGRAMS
from cells import Draft, Recipe, matrix, named

from kernel_contracts.numerics.dims import Dim

UNARY = (
    "exp", "log", "log1p", "expm1", "tanh", "erf", "erfc", "sqrt", "rsqrt", "sin", "cos", "sigmoid",
    "neg", "abs", "floor", "sign",
)  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "pow", "floordiv", "mod", "maximum", "minimum")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


def _blurred(d: Draft, x: int) -> int:
    """Half the time something that an earlier operation has rounded."""
    if d.chance(0.5):
        return x
    kind = d.pick(["mul", "sub", "add"])
    shape = d.builder.type(x).shape
    return d.op(kind, x, d.real(shape))


def unary(name: str) -> Recipe:
    return lambda d: d.op(name, _blurred(d, matrix(d)))


def binary(name: str) -> Recipe:
    def recipe(d: Draft) -> int:
        a = _blurred(d, matrix(d))
        b = d.real(d.pick([("M", "N"), ("N",), ("M", 1), ()]))
        if d.chance(0.3):
            b = d.op("sub", b, d.builder.constant(0.1))
        return d.op(name, a, b) if d.chance(0.8) else d.op(name, b, a)

    return recipe


def comparison(name: str) -> Recipe:
    def recipe(d: Draft) -> int:
        a = _blurred(d, matrix(d))
        return d.op(name, a, d.real(("M", "N")) if d.chance(0.5) else d.builder.constant(0.0))

    return recipe


def reduction(name: str) -> Recipe:
    low = 1 if name in ("max", "min", "argmax", "argmin", "mean", "var") else 0

    def recipe(d: Draft) -> int:
        x = _blurred(d, matrix(d, low))
        if name in ("any", "all"):
            x = d.op("greater", x, d.builder.constant(0.25))
        axes = (-1,) if name in ("argmax", "argmin") else d.pick([(-1,), (0,), (0, 1)])
        more = {"correction": int(d.chance(0.5))} if name == "var" else {}
        return d.reduce(name, x, axes, keep=d.chance(0.5), **more)

    return recipe


def cumsum(d: Draft) -> int:
    return d.op("cumsum", _blurred(d, matrix(d)), axis=(d.pick([0, 1]),))


def matmul(d: Draft) -> int:
    kind = d.pick(["plain", "plain", "batched", "left vector", "right vector"])
    m, k, n = d.size("M", high=17), d.size("K"), d.size("N", high=17)
    if kind == "left vector":
        return d.op("matmul", d.real((k,)), _blurred(d, d.real((k, n))))
    if kind == "right vector":
        return d.op("matmul", _blurred(d, d.real((m, k))), d.real((k,)))
    lead = (d.size("B", high=3),) if kind == "batched" else ()
    return d.op("matmul", _blurred(d, d.real((*lead, m, k))), _blurred(d, d.real((k, n))))


def einsum(d: Draft) -> int:
    spec, left, right = d.pick([
        ("ij,jk->ik", "MK", "KN"), ("ji,jk->ki", "KM", "KN"), ("bij,bkj->bik", "BMK", "BNK"),
        ("i,i->", "K", "K"), ("i,j->ij", "M", "N"), ("bik,bik->bi", "BMK", "BMK"), ("aij,ija->a", "MKB", "KBM"),
    ])  # fmt: skip
    highs = {"B": 3, "M": 13, "K": 128, "N": 13}
    a, b = (tuple(d.size(s, high=highs[s]) for s in side) for side in (left, right))
    return d.op("einsum", _blurred(d, d.real(a)), d.real(b), spec=spec)


def affine(d: Draft) -> int:
    m, k, n = d.size("M", high=13), d.size("K"), d.size("N", high=13)
    return d.op("affine", _blurred(d, d.real((m, k))), _blurred(d, d.real((k, n))), d.real((n,)))


def where(d: Draft) -> int:
    x = _blurred(d, matrix(d))
    other = d.pick([-math.inf, 0.0, -1e30, 0.3])
    condition = d.truth(("M", "N")) if d.chance(0.4) else d.op("greater", x, d.real(("N",)))
    branches = [x, d.builder.constant(other)]
    return d.op("where", condition, *(branches if d.chance(0.5) else branches[::-1]))


def logic(name: str) -> Recipe:
    def recipe(d: Draft) -> int:
        a = d.op("less", _blurred(d, matrix(d)), d.builder.constant(0.5))
        b = d.op("greater_equal", _blurred(d, d.real(("M", "N"))), d.real(("N",)))
        return d.op(name, a) if name == "not" else d.op(name, a, b)

    return recipe


def movement(name: str) -> Recipe:
    def recipe(d: Draft) -> int:
        x = _blurred(d, matrix(d, 1))
        m, n = d.sizes["M"], d.sizes["N"]
        start = int(d.rng.integers(0, n))
        plain = {
            "reshape": {"shape": (("*", "M", "N"),)}, "transpose": {"axes": (1, 0)}, "flip": {"axis": -1},
            "expand": {"axis": 1}, "broadcast": {"shape": (2, "M", "N")},
            "slice": {"axis": 1, "start": start, "stop": None, "step": int(d.rng.integers(1, 4))},
            "pad": {"axis": 1, "before": 1, "after": 2, "value": d.pick([0.0, 0.1, -math.inf])},
        }  # fmt: skip
        if name in plain:
            return d.op(name, x, **plain[name])
        if name == "full":
            return d.op("full", d.scalar(float(d.rng.standard_normal())), shape=("M", "N"))
        if name == "windows":
            size = int(d.rng.integers(1, n + 1))
            span = {"size": size, "stride": int(d.rng.integers(1, 4)), "dilation": 1 if size > n // 2 else 2}
            return d.op("windows", x, axis=1, **span)
        if name == "concat":
            return d.op("concat", x, d.real(("M", 3)), axis=1)
        if name == "gather":
            return d.op("gather", x, d.whole((5,), 0, m), axis=0)
        if name == "take_along":
            return d.op("take_along", x, d.whole(("M", 4), 0, n), axis=1)
        if name == "scatter":
            name_of = f"i{len(d.inputs)}"
            index = d.whole((d.size("L", low=1, high=m),), 0, m)
            d.inputs[name_of] = d.rng.permutation(m)[: d.sizes["L"]]
            return d.op("scatter", x, d.real(("L", "N")), index, axis=0)
        raise AssertionError(name)

    return recipe


def one_hot(d: Draft) -> int:
    index = d.reduce("argmax", _blurred(d, matrix(d, 1)), -1, keep=False)
    return d.op("matmul", d.op("one_hot", index, size="N"), d.real(("N", 3)))


def picked(d: Draft) -> int:
    """A row chosen by an index that rounding may decide."""
    x = _blurred(d, matrix(d, 1))
    return d.op("take_along", x, d.reduce("argmin", x, -1), axis=1)


def ordered(d: Draft) -> int:
    how = {"axis": d.pick([0, 1]), "descending": d.chance(0.5), "nan": d.pick(["largest", "smallest"])}
    return d.op("sort", _blurred(d, matrix(d)), **how)


def ranked(d: Draft) -> int:
    """The order of numbers some of which are equal, and others within a rounding of each other."""
    x = _blurred(d, matrix(d))
    x = d.op("floor", x) if d.chance(0.3) else x
    return d.op("argsort", x, axis=1, descending=d.chance(0.5), ties=d.pick(["first", "last", "any"]))


def counted(d: Draft) -> int:
    """Integers in real arithmetic."""
    d.size("N")
    total = d.op("mul", d.op("iota", size="N"), d.whole(("N",), 0, 5000))
    return d.op("add" if d.chance(0.5) else "mul", total, d.real(("N",)))


def conversion(name: str) -> Recipe:
    def recipe(d: Draft) -> int:
        x = _blurred(d, matrix(d))
        if name == "cast":
            target = named(d.pick(["int8", "int32", "bool", "bf16", "fp16"]))
            x = d.op("cast", x, format=target)
            return d.op("cast", x, format=named("fp16")) if target.kind != "real" and d.chance(0.5) else x
        x = d.op(name, x, format=named(d.pick(["bf16", "fp16", "tf32", "fp8_e4m3fn", "fp8_e5m2", "fp32"])))
        return d.op("mul", x, d.real(("N",))) if d.chance(0.7) else d.op("exp", x)

    return recipe


# ------------------------------------------------------------------------------------------ random compositions

_ANY: tuple[Dim, ...] = ("M", "N")


def _step(d: Draft, pool: list[int]) -> int:
    """One more node from nodes of shape [M, N] or [M, 1]."""
    x = d.pick(pool)
    kind = d.pick(
        ["unary", "unary", "binary", "binary", "reduce", "matmul", "cumsum", "where", "round", "move", "constant"]
    )
    if d.chance(0.15):
        d.builder.format = named(d.pick(["fp32", "fp16", "bf16", "fp32", "acc14"]))
    if kind == "unary":
        return d.op(d.pick(UNARY), x)
    if kind == "binary":
        return d.op(d.pick(BINARY), x, d.pick(pool))
    if kind == "constant":
        return d.op(d.pick(["add", "mul", "sub", "div"]), x, d.builder.constant(d.pick([0.1, 2.0, 3.0, -1.0])))
    if kind == "reduce":
        name = d.pick(["sum", "mean", "max", "min", "var", "prod"])
        return d.reduce(name, x, -1, **({"correction": 0} if name == "var" else {}))
    if kind == "matmul":
        gram = d.op("matmul", x, d.op("transpose", d.pick(pool), axes=None)) if _both(d, x, pool) else x
        return d.op("matmul", gram, x) if gram != x else d.op("abs", x)
    if kind == "cumsum":
        return d.op("cumsum", x, axis=(1,))
    if kind == "where":
        y = d.pick(pool)
        return d.op("where", d.op(d.pick(COMPARISONS), x, y), y, d.pick(pool))
    if kind == "round":
        return d.op(d.pick(["round", "at_least"]), x, format=named(d.pick(["bf16", "fp16", "fp8_e5m2", "tf32"])))
    return d.op("flip", x, axis=1) if d.chance(0.5) else d.op("concat", x, x, axis=0)


def _both(d: Draft, x: int, pool: list[int]) -> bool:
    return all(d.builder.type(i).shape == _ANY for i in (x, *pool))


def composition(d: Draft) -> int:
    pool = [matrix(d, 1)]
    if d.chance(0.6):
        pool.append(d.real(_ANY))
    node = pool[-1]
    for _ in range(int(d.rng.integers(2, 7))):
        node = _step(d, pool)
        if d.builder.type(node).shape in (_ANY, ("M", 1)):
            pool = [*pool[-2:], node]
    return node


OPERATOR_PROGRAMS: Mapping[str, Recipe] = {
    **{n: unary(n) for n in UNARY}, **{n: binary(n) for n in BINARY}, **{n: comparison(n) for n in COMPARISONS},
    **{n: reduction(n) for n in ("sum", "mean", "prod", "var", "max", "min", "argmax", "argmin", "any", "all")},
    **{n: logic(n) for n in ("and", "or", "not")}, **{n: conversion(n) for n in ("round", "at_least", "cast")},
    **{n: movement(n) for n in (
        "reshape", "transpose", "flip", "expand", "broadcast", "slice", "pad", "full", "windows", "concat", "gather",
        "take_along", "scatter",
    )},
    "cumsum": cumsum, "matmul": matmul, "affine": affine, "einsum": einsum, "where": where,
    "one_hot": one_hot, "picked": picked, "iota": counted,
    "sort": ordered, "argsort": ranked,
}  # fmt: skip
PROGRAMS: Mapping[str, Recipe] = {**OPERATOR_PROGRAMS, **KERNEL_PROGRAMS, "composition": composition}


def schedule(cells: int) -> list[tuple[str, int]]:
    """How many cells each program gets: compositions a third, every operator at least a few."""
    share = {"composition": 0.3, **{n: 0.3 / len(KERNEL_PROGRAMS) for n in KERNEL_PROGRAMS}}
    share |= {n: 0.4 / len(OPERATOR_PROGRAMS) for n in OPERATOR_PROGRAMS}
    return [(name, max(3, math.ceil(cells * share[name]))) for name in PROGRAMS]
