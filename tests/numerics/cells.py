"""Random cells for the soundness claim: one program, one input, one declared arithmetic, one conforming execution.

A cell is everything that claim speaks about, drawn from a seed: the derived bound on one side, an emulated execution
that the contract permits on the other. `measure` compares the two the way a measurement does.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernel_contracts.formats import BOOL, FORMATS, INT64, Format, find
from kernel_contracts.numerics.acceptance import Acceptance, from_bounded
from kernel_contracts.numerics.bounded import ULPS, BoundContext, Bounded
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.dims import Dim
from kernel_contracts.numerics.domains import extended
from kernel_contracts.numerics.interpret import Instance, bound, emulate, evaluate
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.operators.conversion import held_already
from kernel_contracts.numerics.program import Program
from kernel_contracts.numerics.rounding import round_to
from kernel_contracts.numerics.summation import draw_order

Array = np.ndarray[Any, np.dtype[Any]]

ARITHMETICS = ("fp32", "fp16", "bf16", "tf32", "fp8_e4m3fn", "fp8_e5m2", "acc14", "fp64")
INPUT_FORMATS = ("fp32", "fp16", "bf16", "tf32", "fp8_e4m3fn", "fp8_e5m2", "fp8_e4m3fnuz", "fp64")
SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 61, 64, 127, 128, 257)
#: From this precision on, float64 is no oracle and the center comes from extended precision.
_FINE = 40


def named(name: str) -> Format:
    found = find(name)
    assert found is not None, name
    return found


def _normal(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return rng.standard_normal(shape)


def _positive(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return rng.uniform(0.25, 4.0, shape)


def _wide(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    reach = min(-fmt.emin, 60)
    return rng.standard_normal(shape) * 2.0 ** rng.integers(-reach // 2, reach // 2 + 1, shape)


def _cancelling(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    """Along the last axis each number meets almost its opposite."""
    x = rng.standard_normal(shape)
    if x.ndim and x.shape[-1] > 1:
        half = x.shape[-1] // 2
        x[..., half : 2 * half] = -x[..., :half] * (1 + 4 * fmt.u * rng.integers(-2, 3, x[..., :half].shape))
    return x


def _subnormal(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return rng.standard_normal(shape) * fmt.least_normal * 2.0 ** rng.integers(-fmt.precision, 3, shape)


def _overflow(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return rng.choice([-1.0, 1.0, 1.0], shape) * fmt.max_finite * 2.0 ** -rng.uniform(0, 6, shape)


def _square_overflow(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return rng.standard_normal(shape) * np.sqrt(fmt.max_finite)


def _integers(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return rng.integers(-3, 4, shape).astype(np.float64)


def _offset(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return 100.0 + rng.standard_normal(shape)


def _swamping(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    """One large term and many that are lost beside it: the worst that an ordered sum can meet."""
    coarse = 2.0 ** -int(rng.choice([3, 4, 8, 11, 14, 24]))
    x = np.full(shape, coarse * rng.uniform(0.9, 1.0))
    if x.ndim and x.shape[-1]:
        x[..., 0] = rng.uniform(1.0, 1.1)
    return x


def _ties(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    """Halfway cases of the narrower formats."""
    bits = int(rng.choice([3, 4, 8, 11, 14]))
    return 1.0 + (2 * rng.integers(0, 2 ** (bits - 1), shape) + 1) * 2.0**-bits


def _zeros(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return rng.standard_normal(shape) * (rng.random(shape) < 0.4)


def _constant(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Array:
    return np.full(shape, rng.standard_normal())


Family = Callable[[np.random.Generator, tuple[int, ...], Format], Array]
FAMILIES: Mapping[str, Family] = {
    "normal": _normal, "positive": _positive, "wide": _wide, "cancelling": _cancelling, "subnormal": _subnormal,
    "overflow": _overflow, "square_overflow": _square_overflow, "integers": _integers, "offset": _offset,
    "swamping": _swamping, "ties": _ties, "zeros": _zeros, "constant": _constant,
}  # fmt: skip


@dataclass
class Draft:
    """A program being drawn together with its data."""

    rng: np.random.Generator
    builder: Builder
    formats: tuple[Format, ...]
    family: str
    sizes: dict[str, int] = field(default_factory=dict)
    inputs: dict[str, Array] = field(default_factory=dict)
    scalars: dict[str, float | int | bool] = field(default_factory=dict)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def size(self, name: str, *, low: int = 0, high: int = 257) -> str:
        """A dim with a drawn size; one in thirty is `low`."""
        if name not in self.sizes:
            drawn = low if self.chance(1 / 30) else int(self.pick([s for s in SIZES if low <= s <= high]))
            self.sizes[name] = drawn
        return name

    def _shape(self, shape: tuple[Dim, ...]) -> tuple[int, ...]:
        return tuple(self.sizes[d] if isinstance(d, str) else int(d) for d in shape)  # type: ignore[arg-type]

    def real(self, shape: tuple[Dim, ...], *, family: str = "", format: Format | None = None) -> int:
        """A new real input. Values are numbers of its format."""
        name = f"x{len(self.inputs)}"
        fmt = format or self.pick(self.formats)
        shown = family or (self.family if self.chance(0.8) else self.pick(list(FAMILIES)))
        x = FAMILIES[shown](self.rng, self._shape(shape), fmt)
        self.inputs[name] = round_to(x, fmt, overflow="saturate")
        return self.builder.input(name, fmt, shape)

    def whole(self, shape: tuple[Dim, ...], low: int, high: int) -> int:
        """A new integer input with values in low..high-1."""
        name = f"i{len(self.inputs)}"
        self.inputs[name] = self.rng.integers(low, max(high, low + 1), self._shape(shape))
        return self.builder.input(name, INT64, shape)

    def truth(self, shape: tuple[Dim, ...]) -> int:
        name = f"b{len(self.inputs)}"
        self.inputs[name] = self.rng.random(self._shape(shape)) < 0.6
        return self.builder.input(name, BOOL, shape)

    def scalar(self, value: float) -> int:
        name = f"s{len(self.scalars)}"
        self.scalars[name] = value
        return self.builder.scalar(name, "real")

    def op(self, name: str, *args: int, **attrs: Any) -> int:
        return self.builder.op(name, args, attrs)

    def reduce(self, name: str, x: int, axis: int | tuple[int, ...] = -1, *, keep: bool = True, **more: Any) -> int:
        axes = axis if isinstance(axis, tuple) else (axis,)
        return self.builder.op(name, [x], {"axis": axes, "keep": keep, **more})


Recipe = Callable[[Draft], int]


def matrix(d: Draft, low: int = 0) -> int:
    return d.real((d.size("M", low=low, high=17), d.size("N", low=low)))


@dataclass(frozen=True)
class Cell:
    """Everything about one comparison. `before` and `rounded` are what binding a contract reads off its program."""

    label: str
    instance: Instance
    before: int
    rounded: bool
    format: Format
    bounds: BoundContext
    execution: EmulateContext
    about: str

    @property
    def program(self) -> Program:
        return self.instance.program


def draw_contexts(rng: np.random.Generator, *, fine: bool = False) -> tuple[BoundContext, EmulateContext]:
    """What a tolerance declares, and one execution that keeps to it."""
    declared = str(rng.choice(["any", "any", "any", "sequential", "pairwise", "blocked", "split"]))
    block = int(rng.integers(1, 33)) if declared in ("blocked", "split") else 1
    # in float64 itself the emulation calls the platform's functions, which need a budget of some ulp
    budgets = [4, 8] if fine else [0.5, 1, 2, 8]
    ulps = dict(ULPS) if rng.random() < 0.7 and not fine else {name: float(rng.choice(budgets)) for name in ULPS}
    flush = bool(rng.random() < 0.1)
    absolute = frozenset(n for n in ULPS if n not in ("div", "pow") and ulps[n] >= 1 and rng.random() < 0.05)
    context = BoundContext(declared, block, 0.0, ulps, flush, absolute=absolute)
    order = draw_order(rng, declared, block)
    noise = np.random.default_rng(int(rng.integers(2**31))) if rng.random() < 0.8 else None
    execution = EmulateContext(
        order, bool(rng.random() < 0.25), noise, bool(rng.random() < 0.7), ulps, flush, absolute
    )  # fmt: skip
    return context, execution


def draw(label: str, recipe: Recipe, seed: int, *, arithmetic: str = "", family: str = "") -> Cell:
    """The cell of `recipe` with this seed: shapes, formats, data, contexts and the final rounding."""
    rng = np.random.default_rng([seed, zlib.crc32(label.encode())])
    default = named(arithmetic or str(rng.choice(ARITHMETICS, p=_weights())))
    formats = tuple(named(str(rng.choice(INPUT_FORMATS))) for _ in range(2))
    shown = family or str(rng.choice(list(FAMILIES)))
    draft = Draft(rng, Builder(default), formats, shown)
    result = recipe(draft)
    before, rounded = result, False
    if draft.builder.type(result).kind == "real" and draft.chance(0.6):
        target = named(str(rng.choice(["fp32", "fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2"])))
        result = draft.op("round", result, format=target)
    program = draft.builder.finish({"y": result, "before": before}, tuple(draft.sizes))
    last = program.nodes[program.outputs["y"]]
    rounded = result != before and not held_already(last.attrs)
    instance = Instance(replace_outputs(program, "y"), draft.sizes, draft.inputs, draft.scalars)
    bounds, execution = draw_contexts(rng, fine=default.precision > _FINE)
    shapes = {k: tuple(v.shape) for k, v in draft.inputs.items()}
    held = {k: program.nodes[i].type.format.name for k, i in program.inputs.items()}
    about = f"{label} seed={seed} in {default} family={shown} {shapes} {held} {bounds.summation}({bounds.block})"
    about += f" flush={bounds.flush} order={execution.order} fma={execution.fma} -> {last.type.format}"
    index = program.outputs["before"] if rounded else program.outputs["y"]
    return Cell(label, instance, index, rounded, last.type.format, bounds, execution, about)


def _weights() -> Array:
    weight = np.array([4.0, 2, 2, 1, 1, 1, 1, 2])
    return weight / weight.sum()


def replace_outputs(program: Program, name: str) -> Program:
    return replace(program, outputs={name: program.outputs[name]})


def derive(cell: Cell) -> Bounded:
    """Value and radius of what the program ends in, before its final rounding."""
    return bound(cell.instance, cell.bounds, {"y": cell.before})["y"]


def admitted(cell: Cell, before: Bounded | None = None) -> Acceptance:
    """The answers that the derived tolerance admits, around the center that a measurement would take."""
    before = derive(cell) if before is None else before
    center = None
    if cell.format.kind == "real" and any(n.format.is_real and n.format.precision > _FINE for n in cell.program.nodes):
        domain = extended()
        assert domain is not None, "these tests need a long double wider than float64"
        exact = evaluate(cell.instance, domain, {"y": cell.before})["y"]
        center = domain.float64(exact)
    return from_bounded(before, cell.format, rounded=cell.rounded, center=center, flush=cell.bounds.flush)


@dataclass(frozen=True)
class Reading:
    """What one cell showed."""

    worst: float
    """Largest ratio over all elements; above 1 refutes the bound."""
    elements: int
    free: int
    """Elements where every answer is admitted."""


def measure(cell: Cell) -> Reading:
    """The bound and the emulation of one cell, compared elementwise."""
    acceptance = admitted(cell)
    y = emulate(cell.instance, cell.execution)["y"]
    if y.shape != np.shape(acceptance.center):
        raise AssertionError(f"{cell.about}: emulated shape {y.shape}, bound {np.shape(acceptance.center)}")
    ratios = acceptance.ratios(y)
    return Reading(float(np.max(ratios, initial=0.0)), int(ratios.size), int(np.sum(acceptance.free)))


assert set(INPUT_FORMATS) <= set(FORMATS)
