"""The typed syntax tree of a contract file. One frozen class a construct, every node with its span.

Requirements: a node holds what the author wrote and nothing inferred; `printer` turns the tree back into the one
canonical text, and parsing that text gives an equal tree (spans and comments apart).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text; lines and columns count from 1, the end column is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Span("<none>", 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all nodes. Spans do not take part in equality."""

    span: Span = field(compare=False, repr=False, kw_only=True, default=NOWHERE)


# ------------------------------------------------------------------------------------------------ expressions


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal as written: `3`, `1e-5`, `0x10`."""

    text: str

    @property
    def value(self) -> int | float:
        try:
            return int(self.text, 0)
        except ValueError:
            return float(self.text)


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A string literal, unquoted."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """An identifier; class numbers and contract names keep their hyphens (`C-PRC-01`, `gemm-accumulator`)."""

    id: str


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """One argument of a call: `x`, `axis = -1`, or the bare flag `keep` (a positional Name)."""

    keyword: str | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    function: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    op: Literal["-", "+", "not"]
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic `+ - * / // % @ ^`, comparison `< <= > >= == !=`, logic `and or`, membership `in`, range `..`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Listing(Node):
    """`[a, b]`: axes, shapes."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`{a, b}`: a finite set."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """Several subjects of one membership: the `M, N, K` in `M, N, K in 1..65536`."""

    items: tuple[Expr, ...]


Expr = Number | Text | Name | Call | Unary | Binary | Listing | Choice | Group

# ------------------------------------------------------------------------------------------------------ scope


@dataclass(frozen=True, slots=True)
class DtypeVariable(Node):
    """`P in {fp16, bf16}`."""

    name: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TensorType(Node):
    """`P[M, K]`; an empty `dims` is a rank-0 tensor. `dtype` is a format name, a dtype variable or an expression."""

    dtype: Expr
    dims: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Tensor(Node):
    """`A: P[M, K]`."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Scalar(Node):
    """`eps: real = 1e-5`, `causal: bool = false`, `schedule: schedules`. Type is real, int, bool or schedules."""

    name: str
    type: str
    default: Expr | None


@dataclass(frozen=True, slots=True)
class Scope(Node):
    operation: str
    variables: tuple[DtypeVariable, ...]
    inputs: tuple[Tensor, ...]
    scalars: tuple[Scalar, ...]
    ranks: str | None
    """The name after `on ranks`, for collectives."""
    outputs: tuple[Tensor, ...]


# ------------------------------------------------------------------------------------------------- guarantees


@dataclass(frozen=True, slots=True)
class Within(Node):
    """`X within tolerance of TARGET [where CONDITION] [across V, ...]`; X may be an expression over outputs."""

    subject: Expr
    target: Expr
    where: Expr | None
    across: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Bitwise(Node):
    """`X bitwise equal [TARGET] [where CONDITION] [across V, ...] [away from range ends]`."""

    subject: Expr
    target: Expr | None
    where: Expr | None
    across: tuple[Expr, ...]
    away_from_ends: bool


@dataclass(frozen=True, slots=True)
class Unchanged(Node):
    """`x unchanged`."""

    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Policy(Node):
    """`policy nan = propagate or mask [across V, ...]`."""

    name: str
    choices: tuple[Expr, ...]
    across: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class OrRaise(Node):
    """`D in {64, 128} or raise DIMENSION_UNSUPPORTED`."""

    condition: Expr
    kind: str


@dataclass(frozen=True, slots=True)
class Companion(Node):
    """`as gemm-accumulator [across V, ...]`: the guarantees of another contract."""

    contract: str
    across: tuple[Expr, ...]


Guarantee = Within | Bitwise | Unchanged | Policy | OrRaise | Companion

# -------------------------------------------------------------------------------------------------- tolerance


@dataclass(frozen=True, slots=True)
class Derived(Node):
    """`derived [with summation = blocked(128), ...]`."""

    options: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Absolute(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class Relative(Node):
    """`relative e of d`: the denominator is always said."""

    value: Expr
    of: Expr


@dataclass(frozen=True, slots=True)
class Ulp(Node):
    """`ulp n of P`."""

    count: Expr
    format: Expr


@dataclass(frozen=True, slots=True)
class PerFormat(Node):
    """`per P { fp16: ulp 2 of P, bf16: absolute 1e-2 }`."""

    variable: str
    table: tuple[tuple[str, Tolerance], ...]


@dataclass(frozen=True, slots=True)
class NoTolerance(Node):
    """`none`: nothing but equality, policies or raising is claimed."""


@dataclass(frozen=True, slots=True)
class Elementwise(Node):
    """A bare expression: a bound an element."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Joined(Node):
    """`a and b` (all must hold) or `a + b` (their sum)."""

    op: Literal["and", "+"]
    parts: tuple[Tolerance, ...]


Tolerance = Derived | Absolute | Relative | Ulp | PerFormat | NoTolerance | Elementwise | Joined

# -------------------------------------------------------------------------------------------------- reference


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`C = round(matmul(A, B), P) in fp32`; `format` is None where the arithmetic is left to the default."""

    target: str
    value: Expr
    format: Expr | None


@dataclass(frozen=True, slots=True)
class Program(Node):
    statements: tuple[Assign, ...]


@dataclass(frozen=True, slots=True)
class PythonReference(Node):
    """`python "package.module:function" [in fp32]`."""

    path: str
    format: Expr | None


@dataclass(frozen=True, slots=True)
class Property(Node):
    """`property idempotent(f)`."""

    call: Expr


@dataclass(frozen=True, slots=True)
class Specification(Node):
    """`specification ieee754`."""

    name: str


Reference = Program | PythonReference | Property | Specification

# --------------------------------------------------------------------------------------------- file structure


@dataclass(frozen=True, slots=True)
class MeasureItem(Node):
    """One line of `measure`: a keyword (`inputs`, `shapes`, `samples`, `sweep`, `freivalds` ...) and its items."""

    keyword: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class CalibrateState(Node):
    """`good emulated`, `bad mutant(accumulate(fp16))`, `baseline zeros`, `bad python "mod:fn"`."""

    state: Literal["good", "bad", "baseline"]
    kernel: Expr


@dataclass(frozen=True, slots=True)
class Contract(Node):
    name: str
    version: str
    implements: str
    """The class, for example C-PRC-01."""
    doc: str
    scope: Scope
    pre: Expr | None
    post: tuple[Guarantee, ...]
    tolerance: Tolerance | None
    reference: Reference | None
    measure: tuple[MeasureItem, ...]
    violation: tuple[Name, ...]
    calibrate: tuple[CalibrateState, ...]
    places: tuple[tuple[str, Span], ...] = field(compare=False, repr=False, kw_only=True, default=())
    """Where each part stands: `header`, `doc`, `body` (brace to brace), and every clause by its keyword."""

    def place(self, part: str) -> Span:
        """Where the part stands; the whole contract when it has no such part."""
        return dict(self.places).get(part, self.span)


@dataclass(frozen=True, slots=True)
class Define(Node):
    """`define gelu(x) = ...` or `define rms(x, eps) { m = ...  return ... }`; `body` ends with the result."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Assign, ...]
    result: Expr


@dataclass(frozen=True, slots=True)
class Use(Node):
    """`use gelu, softmax from "nn"`: definitions of a library file or of a file beside this one."""

    names: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class ProfileEntry(Node):
    contract: str
    comparator: str
    version: str
    level: str


@dataclass(frozen=True, slots=True)
class Profile(Node):
    name: str
    version: str
    entries: tuple[ProfileEntry, ...]


Item = Contract | Define | Use | Profile


@dataclass(frozen=True, slots=True)
class File(Node):
    path: str
    items: tuple[Item, ...]
