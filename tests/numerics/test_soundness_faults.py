"""The soundness check can fail: each fault planted in a bound or in an execution shows as an exceedance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
from cell_programs import PROGRAMS
from cells import Cell, Draft, draw, measure

from kernel_contracts.formats import BF16, FORMATS, FP16, FP32, Format
from kernel_contracts.numerics import interpret
from kernel_contracts.numerics.bounded import BoundContext, Bounded
from kernel_contracts.numerics.operators import operator
from kernel_contracts.numerics.program import Node
from kernel_contracts.numerics.summation import Order

_GAMMA, _ROUNDED = BoundContext.gamma, BoundContext.rounded


def drawn(names: Iterable[str], count: int = 40, **given: str) -> list[Cell]:
    return [draw(name, PROGRAMS[name], seed, **given) for name in names for seed in range(count)]


def exceeding(cells: Iterable[Cell], change: Callable[[Cell], Cell] = lambda c: c) -> int:
    return sum(measure(change(cell)).worst > 1 for cell in cells)


def test_gamma_of_a_quarter_of_the_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = drawn(["sum", "matmul", "cumsum"], family="swamping")
    assert exceeding(cells) == 0
    monkeypatch.setattr(BoundContext, "gamma", lambda self, k, fmt: _GAMMA(self, k // 4, fmt))
    assert exceeding(cells) > 0


def test_one_roundoff_too_few_in_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of two terms has one rounding; a bound that forgets it claims exactness."""

    def two_terms(d: Draft) -> int:
        return d.reduce("sum", d.real((16, 2), format=FP32), -1)

    cells = [draw("two terms", two_terms, seed, arithmetic="fp32", family="normal") for seed in range(20)]
    assert exceeding(cells) == 0
    depth = BoundContext.depth
    monkeypatch.setattr(BoundContext, "depth", lambda self, n: max(depth(self, n) - 1, 0))
    assert exceeding(cells) > 0


def test_no_subnormal_term(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = drawn(["mul", "matmul", "softmax", "exp"], family="subnormal")
    assert exceeding(cells) == 0
    monkeypatch.setattr(BoundContext, "tiny", lambda self, fmt: 0.0)
    assert exceeding(cells) > 0


def test_no_final_rounding() -> None:
    cells = [c for c in drawn(["matmul", "softmax", "mul"]) if c.rounded]
    assert exceeding(cells) == 0
    assert exceeding(cells, lambda c: replace(c, rounded=False)) > len(cells) // 4


@pytest.mark.parametrize("name", ["exp", "tanh", "rsqrt", "div", "pow", "erf", "sigmoid"])
def test_no_function_budget(name: str) -> None:
    cells = [c for c in drawn([name], 60) if c.execution.rng is not None and c.bounds.ulps[name] > 1]
    assert exceeding(cells) == 0

    def change(cell: Cell) -> Cell:
        return replace(cell, bounds=replace(cell.bounds, ulps=dict.fromkeys(cell.bounds.ulps, 0.5)))

    assert exceeding(cells, change) > 0


def narrowed(cell: Cell, fmt: Format) -> Cell:
    """The same bound beside an execution whose sums are kept in `fmt`."""

    def node(n: Node) -> Node:
        return replace(n, format=fmt) if operator_sums(n) and n.format.precision > fmt.precision else n

    program = replace(cell.program, nodes=tuple(node(n) for n in cell.program.nodes))
    return replace(cell, instance=replace(cell.instance, program=program))


def operator_sums(node: Node) -> bool:
    return bool(node.args) and operator(node.op).sums


@pytest.mark.parametrize("fmt", [FP16, BF16, FORMATS["tf32"]], ids=str)
@pytest.mark.parametrize("name", ["matmul", "softmax", "layernorm", "conv2d", "cumsum"])
def test_an_accumulator_narrower_than_declared(fmt: Format, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = drawn([name], 60, arithmetic="fp32")
    assert exceeding(cells) == 0
    honest = interpret.bound
    for cell in cells:
        sound = honest(cell.instance, cell.bounds, {"y": cell.before})
        monkeypatch.setattr("cells.bound", lambda *_, sound=sound: sound)
        if measure(narrowed(cell, fmt)).worst > 1:
            return
    pytest.fail(f"no cell of {name} tells {fmt} sums from fp32 ones")


def test_an_order_deeper_than_declared() -> None:
    cells = [c for c in drawn(["sum", "cumsum"], 300, family="swamping") if c.bounds.summation == "pairwise"]
    assert cells
    assert exceeding(cells) == 0
    assert exceeding(cells, lambda c: replace(c, execution=replace(c.execution, order=Order("sequential")))) > 0


def test_operands_converted_for_free(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = drawn(["matmul", "mul", "add"], 60)
    assert exceeding(cells) == 0
    monkeypatch.setattr(interpret, "_convert_bound", lambda context, x, target: x)
    assert exceeding(cells) > 0


def test_radii_of_operands_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = drawn(["layernorm", "logsumexp", "composition"], 60)
    assert exceeding(cells) == 0

    def rounded(self: BoundContext, v: np.ndarray, e: object, fmt: Format, **rest: object) -> Bounded:
        return _ROUNDED(self, v, 0.0, fmt, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(BoundContext, "rounded", rounded)
    assert exceeding(cells) > 0


def test_flushing_that_was_not_admitted() -> None:
    cells = [c for c in drawn(["mul", "matmul", "add"], 80, family="subnormal") if not c.bounds.flush]
    assert exceeding(cells) == 0
    assert exceeding(cells, lambda c: replace(c, execution=replace(c.execution, flush=True))) > 0


def test_overflow_counted_as_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = drawn(["mul", "sum", "matmul"], 60, family="overflow")
    assert exceeding(cells) == 0
    monkeypatch.setattr(Format, "overflow_threshold", property(lambda self: np.inf))
    assert exceeding(cells) > 0
