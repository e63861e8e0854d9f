"""Runs a program under one of its interpretations: value, bound, emulation.

Sizes are bound and attributes resolved here, once, so that operators see plain integers. An operation done in a
format narrower than its operand converts the operand first: the bound pays a roundoff for it, the emulation rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FP64, Format
from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded, quantum_of
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.domains import FLOAT64, Domain
from kernel_contracts.numerics.operators import operator
from kernel_contracts.numerics.operators.base import EmulateContext, Value, holds_all
from kernel_contracts.numerics.program import Node, Program
from kernel_contracts.numerics.rounding import round_to

#: Attributes that hold sizes.
_SIZES = ("size", "start", "stop", "step", "before", "after", "stride", "dilation", "correction")
#: Where an operation of finite operands is infinite without any overflow: which operand, at which value.
_POLES = {"div": (1, 0), "floordiv": (1, 0), "log": (0, 0), "log1p": (0, -1), "rsqrt": (0, 0), "pow": (0, 0)}
#: Those whose infinity takes the sign of the zero, which a computed zero does not have for sure.
_SIGNED = ("div", "floordiv", "rsqrt", "pow")
#: Arrays up to this many elements are always examined for exactness; larger ones when a probe says so.
_EXACT_LIMIT = 1 << 16


@dataclass(frozen=True, slots=True)
class Instance:
    """A program at concrete sizes with concrete data. Inputs are float64, int64 or bool arrays."""

    program: Program
    dims: Mapping[str, int]
    inputs: Mapping[str, Array]
    scalars: Mapping[str, float | int | bool]
    probe: bool = False
    """The inputs come from a probe: look for exactness at any size."""

    def environment(self) -> dict[str, int]:
        whole = {k: int(v) for k, v in self.scalars.items() if isinstance(v, (int, bool, np.integer))}
        return {**whole, **self.dims}


def _attrs(node: Node, environment: Mapping[str, int]) -> dict[str, Any]:
    out = dict(node.attrs)
    for key, value in out.items():
        if key == "shape":
            out[key] = tuple(size_of(d, environment) for d in value)
        elif key in _SIZES and value is not None:
            out[key] = size_of(value, environment)
    return out


def leaf(instance: Instance, node: Node, environment: Mapping[str, int]) -> Any:
    """The number or array that an operand-less node stands for; None when it is an operation."""
    if node.op == "input":
        return instance.inputs[node.attrs["name"]]
    if node.op == "scalar":
        name = node.attrs["name"]
        if name not in instance.scalars:
            raise ArithmeticScopeError(f"the parameter {name} has no value here")
        return np.asarray(instance.scalars[name])
    if node.op == "constant":
        return np.asarray(node.attrs["value"])
    if node.op == "size":
        return np.asarray(size_of(node.attrs["dim"], environment))
    return None


def _last_uses(program: Program) -> dict[int, int]:
    last = {i: i for i in range(len(program.nodes))}
    for i, node in enumerate(program.nodes):
        for a in node.args:
            last[a] = i
    for i in program.outputs.values():
        last[i] = len(program.nodes)
    return last


def _walk(
    instance: Instance, keep: set[int], make_leaf: Callable[[Node, Any], Any], apply: Callable[..., Any]
) -> Iterator[tuple[int, Any]]:
    """Evaluates node by node, forgetting results after their last use; yields the ones in `keep`."""
    environment = instance.environment()
    last = _last_uses(instance.program)
    held: dict[int, Any] = {}
    for i, node in enumerate(instance.program.nodes):
        data = leaf(instance, node, environment)
        if data is None:
            result = apply(node, _attrs(node, environment), [held[a] for a in node.args])
        else:
            result = make_leaf(node, data)
        held[i] = result
        if i in keep:
            yield i, result
        for a in {i, *node.args}:
            if last[a] == i:
                held.pop(a, None)


def evaluate(
    instance: Instance,
    domain: Domain = FLOAT64,
    nodes: Mapping[str, int] | None = None,
    instead: Mapping[str, Value] = {},
) -> dict[str, Any]:
    """The program's exact meaning, computed in `domain`. Explicit `round`s are part of it.

    `instead` gives operators another meaning, by name.
    """
    wanted = dict(nodes if nodes is not None else instance.program.outputs)

    def make_leaf(node: Node, data: Any) -> Any:
        return domain.real(data) if node.type.kind == "real" else np.asarray(data)

    def apply(node: Node, attrs: dict[str, Any], args: list[Any]) -> Any:
        return instead.get(node.op, operator(node.op).value)(domain, attrs, node.format, args)

    found = dict(_walk(instance, set(wanted.values()), make_leaf, apply))
    return {name: found[i] for name, i in wanted.items()}


def _convert_bound(context: BoundContext, x: Bounded, target: Format) -> Bounded:
    """The operand as the narrower arithmetic sees it: exact where representable, else one roundoff further."""
    center = FLOAT64.real(x.v)
    if x.exact and np.array_equal(round_to(center, target), center):
        return x
    return context.rounded(center, x.e, target, nonneg=x.nonneg)


def _flush_level(node: Node, program: Program, arg: int) -> Format | None:
    """Below whose least normal number real operand `arg` may count as zero; None where `node` only moves it.

    Arithmetic flushes subnormals of the format it loads as well as of its own, a conversion those of its target.
    """
    source = program.nodes[arg].type
    if source.kind != "real":
        return None
    if operator(node.op).computes:
        return max(source.format, node.format, key=lambda f: f.least_normal)
    return node.type.format if node.op in ("round", "cast") and node.type.kind == "real" else None


def _flushed_bound(x: Bounded, fmt: Format) -> Bounded:
    """The operand where subnormal ones count as zero."""
    center, e = FLOAT64.real(x.v), x.radius()
    with np.errstate(invalid="ignore"):
        moved = (np.abs(center) - e < fmt.least_normal) & ((center != 0) | (e > 0))
    return Bounded(center, np.where(moved, e + fmt.least_normal, e), x.nonneg) if moved.any() else x


def _settled(node: Node, program: Program, args: list[Bounded], result: Bounded) -> Bounded:
    """Takes certainty from infinities that have none: float64 itself overflowed, a pole at a zero of unknown sign."""
    if (node.op not in _POLES and node.format.name != FP64.name) or np.isfinite(result.v).all():
        return result
    infinite = np.asarray(np.isinf(result.v))
    pole = doubtful = np.zeros_like(infinite)
    if node.op in _POLES:
        operand, place = _POLES[node.op]
        x = args[operand]
        pole = (np.asarray(x.v) == place) & (x.radius() == 0)
        if node.op in _SIGNED and program.nodes[node.args[operand]].args and not x.nonneg:
            doubtful = infinite & pole
    given = any((np.isinf(FLOAT64.real(a.v)) & np.isfinite(a.radius())).any() for a in args)
    if node.format.name == FP64.name and not given:
        doubtful = doubtful | (infinite & ~pole)
    return replace(result, e=np.where(doubtful, np.inf, result.radius())) if doubtful.any() else result


def needs_conversion(node: Node, program: Program, arg: int) -> bool:
    """Whether an operand holds numbers that the arithmetic of `node` does not."""
    source = program.nodes[arg].type
    return (
        operator(node.op).computes
        and node.type.kind == "real"
        and source.kind != "bool"
        and not holds_all(node.format, source.format)
    )


Adjust = Callable[[Node, list[Bounded], Bounded], Bounded]
"""Given a node, its operands and its result, the result to go on with."""


def bound(
    instance: Instance, context: BoundContext, nodes: Mapping[str, int] | None = None, adjust: Adjust | None = None
) -> dict[str, Bounded]:
    """Value and radius of each output under the declared arithmetic; `adjust` may widen every result on the way."""
    program = instance.program
    wanted = dict(nodes if nodes is not None else program.outputs)

    def make_leaf(node: Node, data: Any) -> Bounded:
        if node.type.kind != "real":
            return Bounded(np.asarray(data), quantum=1.0 if node.type.kind == "int" else None)
        x = np.asarray(data, dtype=np.float64)
        examine = instance.probe or x.size <= _EXACT_LIMIT
        if node.op == "constant" and node.format.name != FP64.name:
            held = round_to(x, node.format)
            if held != x:  # an infinity the format lacks is unknown
                known = np.isfinite(x)
                return context.rounded(x, 0.0 if known else math.inf, node.format, nonneg=bool(known and x >= 0))
        nonneg = bool(x.size and (x >= 0).all() and not np.signbit(x).any()) if examine else False
        return Bounded(x, 0.0, nonneg, quantum_of(x) if examine else None)

    def apply(node: Node, attrs: dict[str, Any], args: list[Bounded]) -> Bounded:
        for i, a in enumerate(node.args):
            if needs_conversion(node, program, a):
                args[i] = _convert_bound(context, args[i], node.format)
            level = _flush_level(node, program, a) if context.flush else None
            if level is not None:
                args[i] = _flushed_bound(args[i], level)
        result = operator(node.op).bound(context, attrs, node.format, args)
        return _settled(node, program, args, result) if node.type.kind == "real" and node.args else result

    def adjusted_leaf(node: Node, data: Any) -> Bounded:
        made = make_leaf(node, data)
        return made if adjust is None else adjust(node, [], made)

    def adjusted(node: Node, attrs: dict[str, Any], args: list[Bounded]) -> Bounded:
        made = apply(node, attrs, args)
        return made if adjust is None else adjust(node, args, made)

    found = dict(_walk(instance, set(wanted.values()), adjusted_leaf, adjusted))
    return {name: found[i] for name, i in wanted.items()}


def emulate(instance: Instance, context: EmulateContext, instead: Mapping[str, Value] = {}) -> dict[str, Array]:
    """One conforming execution: every operation rounded as declared, sums in the order of `context`.

    `instead` gives operators that round nothing another meaning, by name.
    """
    program = instance.program

    def make_leaf(node: Node, data: Any) -> Array:
        if node.type.kind != "real":
            return np.asarray(data)
        x = np.asarray(data, dtype=np.float64)
        return round_to(x, node.format) if node.op == "constant" else x

    def apply(node: Node, attrs: dict[str, Any], args: list[Array]) -> Array:
        for i, a in enumerate(node.args):
            if needs_conversion(node, program, a):
                args[i] = round_to(args[i], node.format)
            level = _flush_level(node, program, a) if context.flush else None
            if level is not None:
                args[i] = np.where(np.abs(args[i]) < level.least_normal, np.copysign(0.0, args[i]), args[i])
        if node.type.kind == "real":
            args = [a.astype(np.float64) if a.dtype.kind in "iu" and operator(node.op).computes else a for a in args]
        if node.op in instead:
            result = np.asarray(instead[node.op](FLOAT64, attrs, node.format, args))
        else:
            result = np.asarray(operator(node.op).run(context, attrs, node.format, args))
        rounds = operator(node.op).computes or node.op in ("round", "cast")
        if context.flush and rounds and node.type.kind == "real":
            result = round_to(result, node.type.format, flush=True)
        return result

    found = dict(_walk(instance, set(program.outputs.values()), make_leaf, apply))
    return {name: found[i] for name, i in program.outputs.items()}


def own_share(instance: Instance, context: BoundContext, u: float, *, pairwise: bool = False) -> float:
    """How large the error of evaluating in arithmetic of roundoff `u` can be, as a share of the derived radius.

    Node by node both errors pass through the same sensitivities, so the largest ratio of local errors bounds the
    ratio of results: at most 8 u (4 ulp functions) against u(format), and in a sum n roundings, or log2 n where the
    evaluation adds up `pairwise`, against depth(n).
    """
    share = 0.0
    sizes = instance.environment()
    for node in instance.program.nodes:
        if node.type.kind != "real" or not node.args or not operator(node.op).computes:
            continue
        ratio = 8 * u / node.format.u
        if operator(node.op).sums:
            # all elements of the operand: never fewer than one result has terms
            shape = instance.program.nodes[node.args[0]].type.shape
            n = math.prod(size_of(d, sizes) for d in shape)
            depth = context.depth(n) + 1
            halves = pairwise and node.op in ("sum", "mean", "var")
            steps = math.ceil(math.log2(n)) + 3 if halves and n > 1 else n
            ratio = max(ratio, steps * u / min(context.gamma(depth, node.format), depth * node.format.u))
        share = max(share, ratio)
    return share
