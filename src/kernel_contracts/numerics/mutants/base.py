"""What a mutant is: a program changed in one way that real kernels get wrong.

A mutant yields the programs it makes (one for every place where it applies), and nothing where it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import Format, find
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.program import Node, Program

Make = Callable[[Program, "Builder", list[int], Node, int], int]
Apply = Callable[[Program, tuple[Any, ...]], Iterator[tuple[str, Program]]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A kind of wrong kernel. `apply(program, arguments)` gives (where, changed program) pairs."""

    name: str
    doc: str
    signature: str
    """The defect it stands for."""
    apply: Apply
    emulated: bool = False
    """Shows only when every operation is rounded; the exact meaning of the program is the same."""
    defaults: tuple[tuple[Any, ...], ...] = ((),)
    """Arguments tried when a contract's whole mutation score is taken."""


Hook = Callable[[Builder, int, Node, list[int]], int | None]


def rewrite(program: Program, hook: Hook) -> Program | None:
    """Copies a program node by node; `hook(builder, index, node, args)` may put another node in place.

    None when nothing changed or the change does not type-check.
    """
    builder = Builder()
    mapped: list[int] = []
    changed = False
    try:
        for i, node in enumerate(program.nodes):
            args = [mapped[a] for a in node.args]
            builder.format = node.format
            made = hook(builder, i, node, args)
            changed = changed or made is not None
            mapped.append(made if made is not None else copy(builder, node, args))
    except ArithmeticScopeError:
        return None
    if not changed:
        return None
    outputs = {name: mapped[i] for name, i in program.outputs.items()}
    mutant = builder.finish(outputs, program.dims)
    return mutant if (mutant.nodes, mutant.outputs) != (program.nodes, program.outputs) else None


def copy(builder: Builder, node: Node, args: list[int]) -> int:
    """The same node over new operands."""
    if node.op == "input":
        return builder.input(node.attrs["name"], node.format, node.type.shape)
    if not node.args and node.op in ("scalar", "constant", "size"):
        index = builder.place(replace(node))
        if node.op == "scalar":
            builder.scalars[node.attrs["name"]] = index
        return index
    attrs = {k: v for k, v in node.attrs.items() if k != "source"}
    index = builder.op(node.op, args, attrs)
    if node.label:
        builder.name(index, node.label)
    return index


def format_argument(arguments: tuple[Any, ...], default: str = "fp16") -> Format:
    """The format a mutant was given, by name."""
    name = str(arguments[0]) if arguments else default
    found = find(name)
    if found is None:
        raise ArithmeticScopeError(f"there is no number format {name}; write for example accumulate(fp16)")
    return found


def finals(program: Program) -> set[int]:
    """Nodes that are outputs, and the operands of a final rounding."""
    out = set(program.outputs.values())
    for i in list(out):
        if program.nodes[i].op == "round":
            out.update(program.nodes[i].args)
    return out


def once(name: str, program: Program, hook: Hook) -> Iterator[tuple[str, Program]]:
    """One program with the hook applied everywhere."""
    made = rewrite(program, hook)
    if made is not None:
        yield name, made


def each(
    program: Program, indices: list[int], make: Callable[[int], Hook], say: Mapping[int, str]
) -> Iterator[tuple[str, Program]]:
    """One program for each place."""
    for i in indices:
        made = rewrite(program, make(i))
        if made is not None:
            yield say[i], made
