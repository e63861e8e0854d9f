"""The measure clause: which inputs, which shapes, how many samples, which sweeps, which products to verify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_contracts.contracts.model import Measure, MeasureItem
from kernel_contracts.contracts.values import constant, problem
from kernel_contracts.contracts.vocabulary import Vocabulary
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean

DEFAULT_INPUTS = (MeasureItem("normal"), MeasureItem("uniform"))
DEFAULT_SHAPES = (MeasureItem("ordinary"), MeasureItem("tails", (16.0,)), MeasureItem("one"))
DEFAULT_SAMPLES = 32
DEFAULT_VERIFIED = 4
DEFAULT_LARGE = MeasureItem("large", (2048.0,))


@dataclass(frozen=True, slots=True)
class Verified:
    """`freivalds 4, large(2048)`: so many products of these shapes are verified with secret vectors."""

    samples: int
    shapes: tuple[MeasureItem, ...]


def _item(expr: syntax.Expr) -> MeasureItem:
    if isinstance(expr, syntax.Name):
        return MeasureItem(expr.id)
    if isinstance(expr, syntax.Call):
        # an argument that names something (a dim, an input) is for the family to read
        given = [a.value for a in expr.arguments]
        values = tuple(constant(v) for v in given if not isinstance(v, syntax.Name))
        return MeasureItem(expr.function, values)
    raise problem(
        "M502",
        expr.span,
        "an item of measure is a name, or a name with numbers",
        hint="write for example cancelling(1e6)",
    )


def read_measure(node: syntax.Contract, dims: set[str], vocabulary: Vocabulary) -> Measure:
    """The protocol of a contract, defaults made explicit. Raises Problem."""
    found: dict[str, Any] = {"inputs": DEFAULT_INPUTS, "shapes": DEFAULT_SHAPES, "samples": DEFAULT_SAMPLES}
    sweeps: dict[str, tuple[int, ...]] = {}
    others: list[syntax.MeasureItem] = []
    for line in node.measure:
        if line.keyword in ("inputs", "shapes"):
            known = set(vocabulary.inputs) if line.keyword == "inputs" else set(vocabulary.shapes)
            found[line.keyword] = tuple(_item(i) for i in line.items)
            for item, expr in zip(found[line.keyword], line.items, strict=True):
                if known and item.name not in known:
                    kind = "input family" if line.keyword == "inputs" else "shape family"
                    raise problem(
                        "N211", expr.span, f"there is no {kind} {item.name}",
                        hint=did_you_mean(item.name, known) or f"see kc list {line.keyword}",
                    )  # fmt: skip
        elif line.keyword == "samples":
            found["samples"] = _samples(line)
        elif line.keyword == "sweep":
            for expr in line.items:
                name, values = _sweep(expr, dims)
                sweeps[name] = values
        else:
            if line.keyword == "freivalds":
                _verified(line, set(vocabulary.shapes))
            others.append(line)
    return Measure(found["inputs"], found["shapes"], found["samples"], sweeps, tuple(others))


def verified_of(measure: Measure) -> Verified | None:
    """What the line `freivalds` asks for; None where there is none."""
    line = next((o for o in measure.others if o.keyword == "freivalds"), None)
    return None if line is None else _verified(line, set())


def _verified(line: syntax.MeasureItem, known: set[str]) -> Verified:
    """A number of cases first, if any, then shape families. Raises Problem."""
    items = list(line.items)
    count = DEFAULT_VERIFIED
    if items and not isinstance(items[0], syntax.Name | syntax.Call):
        count = _samples(line)
        items = items[1:]
    shapes = tuple(_item(i) for i in items)
    for item, expr in zip(shapes, items, strict=True):
        if known and item.name not in known:
            raise problem(
                "N211", expr.span, f"there is no shape family {item.name}",
                hint=did_you_mean(item.name, known) or "see kc list shapes",
            )  # fmt: skip
    return Verified(count, shapes or (DEFAULT_LARGE,))


def _samples(line: syntax.MeasureItem) -> int:
    value = constant(line.items[0]) if line.items else 0
    if not isinstance(value, int) or value < 1:
        raise problem(
            "M503", line.span, f"samples is a whole number of at least 1, not {value}", hint="write samples 32"
        )
    return value


def _sweep(expr: syntax.Expr, dims: set[str]) -> tuple[str, tuple[int, ...]]:
    if isinstance(expr, syntax.Binary) and expr.op == "in" and isinstance(expr.left, syntax.Name):
        if expr.left.id not in dims:
            raise problem(
                "N202",
                expr.left.span,
                f"{expr.left.id} is not a dim of this scope",
                hint=did_you_mean(expr.left.id, dims),
            )
        if isinstance(expr.right, syntax.Choice):
            return expr.left.id, tuple(int(constant(i)) for i in expr.right.items)
    raise problem("M502", expr.span, "a sweep is a size and its values", hint="write sweep D in {63, 64, 65}")
