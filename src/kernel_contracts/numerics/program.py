"""A reference program: a typed graph of tensor operations that says in which arithmetic each one is done.

One program, several interpretations: evaluated exactly it is the oracle, over (value, error) pairs it is the
derived tolerance, with every operation rounded as declared it is a conforming kernel. A program is built for one
binding of the dtype variables; sizes stay symbolic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel_contracts.formats import Format
from kernel_contracts.numerics.dims import Shape, shape_text


@dataclass(frozen=True, slots=True)
class Type:
    """What a node holds: elements in `format`, in a symbolic shape."""

    format: Format
    shape: Shape

    @property
    def kind(self) -> str:
        return self.format.kind

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.format.name}{shape_text(self.shape)}"


@dataclass(frozen=True, slots=True)
class Node:
    """One operation. `format` is the arithmetic it is done in, `type` what its result is held in."""

    op: str
    args: tuple[int, ...]
    attrs: Mapping[str, Any]
    format: Format
    type: Type
    label: str = ""
    """The name it was assigned to in the source, if any."""

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attrs.get(name, default)


@dataclass(frozen=True, slots=True)
class Program:
    """Nodes in evaluation order. `inputs` and `scalars` map names to the nodes that stand for them."""

    nodes: tuple[Node, ...]
    inputs: Mapping[str, int]
    scalars: Mapping[str, int]
    outputs: Mapping[str, int]
    dims: tuple[str, ...] = field(default=())

    def users(self, index: int) -> list[int]:
        """Nodes that read node `index`."""
        return [i for i, n in enumerate(self.nodes) if index in n.args]
