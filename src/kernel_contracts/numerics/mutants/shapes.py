"""Right inside, wrong at the edge: a tail that is never computed, padding that leaks into results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.dims import UP, Dim, make
from kernel_contracts.numerics.mutants.base import Mutant, copy, rewrite
from kernel_contracts.numerics.operators import adds_up
from kernel_contracts.numerics.program import Node, Program


def _whole(size: Dim, tile: int) -> Dim:
    """The largest multiple of the tile."""
    return make("*", make("//", size, tile), tile)


def _cut(builder: Builder, x: int, axis: int, tile: int) -> int:
    size = builder.type(x).shape[axis]
    return builder.op("slice", [x], {"axis": axis, "start": 0, "stop": _whole(size, tile), "step": 1})


def _drop_tail(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    tile = int(arguments[0]) if arguments else 16
    yield from _dropped_sums(program, tile)
    for output, index in program.outputs.items():
        for axis, size in enumerate(program.nodes[index].type.shape):
            if isinstance(size, int):
                continue
            made = _zero_tail(program, index, axis, tile)
            if made is not None:
                yield f"the tail of {output} along axis {axis} never written (tile {tile})", made


def _dropped_sums(program: Program, tile: int) -> Iterator[tuple[str, Program]]:
    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if not adds_up(node.op) or node.op in ("cumsum", "mean", "var") or node.type.kind != "real":
            return None
        if node.op in ("matmul", "affine"):
            shapes = [builder.type(a).shape for a in args[:2]]
            axes = [len(shapes[0]) - 1, max(len(shapes[1]) - 2, 0)]
            cut = [_cut(builder, a, axis, tile) for a, axis in zip(args[:2], axes, strict=True)] + args[2:]
        elif node.op == "sum":
            cut = args
            for axis in node.attrs["axis"]:
                cut = [_cut(builder, cut[0], axis, tile)]
        else:
            left, right = node.attrs["spec"].replace(" ", "").split("->")[0].split(",")
            inner = [i for i in left if i in right and i not in node.attrs["spec"].split("->")[1]]
            cut = [
                _cut(builder, args[0], left.index(inner[0]), tile),
                _cut(builder, args[1], right.index(inner[0]), tile),
            ]
        return copy(builder, node, cut)

    made = rewrite(program, hook)
    if made is not None:
        yield f"terms past the last whole tile of {tile} left out of sums", made


def _zero_tail(program: Program, output: int, axis: int, tile: int) -> Program | None:
    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if index != output:
            return None
        x = copy(builder, node, args)
        size = builder.type(x).shape[axis]
        missing = make("-", size, _whole(size, tile))
        return builder.op(
            "pad", [_cut(builder, x, axis, tile)], {"axis": axis, "before": 0, "after": missing, "value": 0.0}
        )

    return rewrite(program, hook)


def _pad_zero(program: Program, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Program]]:
    """The whole computation on inputs padded with zeros along one size; the result cut back to what was asked.

    The tile is a number of elements, or `pow2` for the next power of two.
    """
    tile = 0 if arguments and arguments[0] == "pow2" else int(arguments[0]) if arguments else 16
    names = sorted({d for n in program.nodes if n.op == "input" for d in n.type.shape if isinstance(d, str)})
    for name in names:
        made = _padded(program, name, tile)
        if made is not None:
            yield f"zeros of the padding of {name} (to {_padding(tile)}) taken for data", made
    yield from _padded_deviations(program, tile)


def _padding(tile: int) -> str:
    return f"a multiple of {tile}" if tile else "a power of two"


def _wide(size: Dim, tile: int) -> Dim:
    return make("*", make("//", make("+", size, tile - 1), tile), tile) if tile else make(UP, size, 1)


def _padded_deviations(program: Program, tile: int) -> Iterator[tuple[str, Program]]:
    """A variance whose padded lanes hold 0 - mean: right mean, and mean^2 too much for each of them."""

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op != "var" or len(node.attrs["axis"]) != 1:
            return None
        size = builder.type(args[0]).shape[node.attrs["axis"][0]]
        lanes = builder.op("div", [builder.size(make("-", _wide(size, tile), size)), builder.size(size)])
        mean = builder.op("mean", args, {"axis": node.attrs["axis"], "keep": node.attrs["keep"]})
        leaked = builder.op("mul", [builder.op("mul", [mean, mean]), lanes])
        return builder.op("add", [copy(builder, node, args), leaked])

    made = rewrite(program, hook)
    if made is not None:
        yield f"deviations of padded lanes (to {_padding(tile)}) taken into the variance", made


def _padded(program: Program, name: str, tile: int) -> Program | None:
    wide = _wide(name, tile)
    replaced = {name: wide}

    def hook(builder: Builder, index: int, node: Node, args: list[int]) -> int | None:
        if node.op == "input":
            if name not in node.type.shape or index in program.outputs.values():
                return None  # what is returned as it came is not computed, so its padding has nowhere to leak
            x = copy(builder, node, args)
            for axis, size in enumerate(node.type.shape):
                if size == name:
                    pad = {"axis": axis, "before": 0, "after": make("-", wide, name), "value": 0.0}
                    x = builder.op("pad", [x], pad)
            return x
        attrs = {k: _substitute(v, replaced) for k, v in node.attrs.items() if k != "source"}
        if node.op in ("scalar", "constant") or (not node.args and node.op == "size"):
            return builder.size(attrs["dim"]) if node.op == "size" else None
        x = builder.op(node.op, args, attrs)
        if index in program.outputs.values():
            for axis, size in enumerate(node.type.shape):
                if _substitute(size, replaced) != size:
                    x = builder.op("slice", [x], {"axis": axis, "start": 0, "stop": size, "step": 1})
        return x

    return rewrite(program, hook)


def _substitute(value: Any, table: Mapping[str, Dim]) -> Any:
    """Replaces size names inside an attribute."""
    if isinstance(value, str):
        return table.get(value, value)
    if isinstance(value, tuple) and len(value) == 3 and value[0] in ("+", "-", "*", "//", "%", "^"):
        return (value[0], _substitute(value[1], table), _substitute(value[2], table))
    if isinstance(value, tuple):
        return tuple(_substitute(v, table) for v in value)
    return value


MUTANTS = (
    Mutant("drop_tail", "elements past the last whole tile left out", "tail_dropped", _drop_tail, False, ((16,),)),
    Mutant("pad_zero", "padding taken for data", "padding_leaked", _pad_zero, False, ((16,), ("pow2",))),
)
