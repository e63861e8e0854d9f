"""The claim of the derived tolerance on random cells: no conforming execution exceeds it.

A quick version of benchmarks/soundness.py, and the oracle's side of it: float64, extended precision and balls agree
within the error that each of them claims for itself.
"""

from __future__ import annotations

import numpy as np
import pytest
from cell_programs import COMPARISONS, OPERATOR_PROGRAMS, PROGRAMS, schedule
from cells import FAMILIES, Cell, Draft, admitted, derive, draw, draw_contexts, measure

from kernel_contracts.formats import FORMATS, FP32
from kernel_contracts.numerics.bounded import BoundContext
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.domains import FLOAT64, BallDomain, extended
from kernel_contracts.numerics.interpret import Instance, bound, emulate, evaluate, own_share
from kernel_contracts.numerics.operators import operators
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.summation import ORDERS, Order

#: Operations that a difference in the last bit may turn over; their oracle is compared in whole steps instead.
_STEPS = {"round", "cast", "floor", "sign", "floordiv", "mod", "argmax", "argmin", "argsort", *COMPARISONS}


@pytest.mark.parametrize(("name", "count"), schedule(1500), ids=lambda v: v if isinstance(v, str) else "")
def test_no_conforming_execution_exceeds_its_bound(name: str, count: int) -> None:
    for seed in range(31_000_000, 31_000_000 + count):
        cell = draw(name, PROGRAMS[name], seed)
        assert measure(cell).worst <= 1, cell.about


def test_every_operator_is_among_the_cells() -> None:
    seen: set[str] = set()
    for name, recipe in OPERATOR_PROGRAMS.items():
        for seed in range(6):
            seen |= {n.op for n in draw(name, recipe, seed).program.nodes}
    assert set(operators()) <= seen


def test_the_cells_vary_in_all_that_a_contract_can_declare() -> None:
    cells = [draw("matmul", PROGRAMS["matmul"], seed) for seed in range(300)]
    assert {c.bounds.summation for c in cells} == {"any", "sequential", "pairwise", "blocked", "split"}
    assert {c.execution.order.name for c in cells} == set(ORDERS)
    assert {c.execution.fma for c in cells} == {c.bounds.flush for c in cells} == {c.rounded for c in cells}
    assert any(0 in x.shape for c in cells for x in c.instance.inputs.values())
    arithmetics = {n.format.name for c in cells for n in c.program.nodes if n.op == "matmul"}
    assert arithmetics == {"fp32", "fp16", "bf16", "tf32", "fp8_e4m3fn", "fp8_e5m2", "acc14", "fp64"}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_bounds_are_not_vacuous(family: str) -> None:
    """On most cells of every family some error is seen, and where it is, the bound is not far from it."""
    worst = [
        measure(draw("matmul", PROGRAMS["matmul"], seed, family=family, arithmetic="fp32")).worst for seed in range(60)
    ]
    seen = [r for r in worst if r > 0]
    assert len(seen) >= (5 if family in ("integers", "zeros", "overflow", "square_overflow") else 20)
    assert max(seen) > 0.3


# ----------------------------------------------------------------------------------------------------- exactness


def _product(a: np.ndarray, b: np.ndarray, name: str) -> Instance:
    builder = Builder(FP32)
    operands = [builder.input(n, FORMATS[name], x.shape) for n, x in (("a", a), ("b", b))]
    result = builder.op("matmul", operands)
    return Instance(builder.finish({"y": result}, ()), {}, {"a": a, "b": b}, {}, probe=True)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("fma", [False, True])
def test_an_exact_probe_has_radius_zero_and_one_answer(order: str, fma: bool) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-15, 16, shape).astype(np.float64) for shape in ((6, 300), (300, 5)))
    instance = _product(a, b, "bf16")
    held = bound(instance, BoundContext())["y"]
    assert held.exact
    assert not held.radius().any()
    y = emulate(instance, EmulateContext(Order(order, 7), fma))["y"]
    np.testing.assert_array_equal(y, a @ b)


def test_a_probe_that_one_bit_cannot_hold_is_not_exact() -> None:
    """2^24 + 1 needs 25 bits: fp32 may not claim it, and fp64 must."""
    a, b = np.array([[2.0**24, 1.0]]), np.ones((2, 1))
    assert not bound(_product(a, b, "fp32"), BoundContext())["y"].exact
    assert bound(_product(a[:, :1], b[:1], "fp32"), BoundContext())["y"].exact
    wide = Builder(FORMATS["fp64"])
    operands = [wide.input(n, FP32, x.shape) for n, x in (("a", a), ("b", b))]
    program = wide.finish({"y": wide.op("matmul", operands)}, ())
    assert bound(Instance(program, {}, {"a": a, "b": b}, {}), BoundContext())["y"].exact


def test_partial_sums_decide_about_exactness_not_the_result() -> None:
    """Terms that cancel give a small result through large partial sums."""
    a = np.array([[2.0**24, 1.0, -(2.0**24)]])
    assert not bound(_product(a, np.ones((3, 1)), "fp32"), BoundContext())["y"].exact


# -------------------------------------------------------------------------------------------------------- oracle


def _comparable(cell: Cell) -> bool:
    small = sum(x.size for x in cell.instance.inputs.values()) <= 600
    return small and cell.program.nodes[cell.before].type.kind == "real"


def _balls(cell: Cell) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with BallDomain(200) as balls:
        x = evaluate(cell.instance, balls, {"y": cell.before})["y"]
        return (*balls.float64(x), balls.radius(x))


def _sure(high: np.ndarray, proved: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Elements where the ball is a sharp oracle and the bound claims something."""
    with np.errstate(invalid="ignore", over="ignore"):
        sharp = np.isfinite(high) & (proved <= 2.0**-100 * np.abs(high) + 5e-324)
    return sharp & np.isfinite(radius)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("less", "equal")])
def test_the_oracle_errs_by_no_more_than_its_own_share(name: str) -> None:
    long = extended()
    domains = [FLOAT64] if long is None else [FLOAT64, long]
    for seed in range(8):
        cell = draw(name, PROGRAMS[name], seed)
        if not _comparable(cell) or _STEPS & {n.op for n in cell.program.nodes[: cell.before + 1]}:
            continue
        radius = derive(cell).radius()
        high, low, proved = _balls(cell)
        sure = _sure(high, proved, radius)
        for domain in domains:
            first, second = domain.float64(evaluate(cell.instance, domain, {"y": cell.before})["y"])
            with np.errstate(invalid="ignore", over="ignore"):
                off = np.where(sure, np.abs((first - high) + (second - low)), 0.0)
            limit = np.where(sure, own_share(cell.instance, cell.bounds, domain.u) * radius, np.inf)
            assert (off <= limit + 2e-323).all(), f"{domain.name}: {cell.about}"


@pytest.mark.parametrize("name", ["composition", "round", "cast", "floor", "mod", "softmax", "layernorm"])
def test_the_proved_value_lies_within_the_radius(name: str) -> None:
    """Programs with roundings and steps inside as well: the exact meaning is one of the admitted ones."""
    for seed in range(40):
        cell = draw(name, PROGRAMS[name], seed, arithmetic="fp32")
        if not _comparable(cell):
            continue
        held = derive(cell)
        high, _, proved = _balls(cell)
        sure = _sure(high, proved, held.radius())
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.where(sure, np.abs(high - held.v), 0.0)
        # a radius of 0 leaves only what float64 itself loses
        assert (off <= held.radius() + np.abs(np.where(sure, high, 0.0)) * 2.0**-48 + 5e-324).all(), cell.about


def test_a_float64_oracle_for_float64_arithmetic_says_that_it_is_too_weak() -> None:
    cell = draw("softmax", PROGRAMS["softmax"], 3, arithmetic="fp64")
    assert own_share(cell.instance, BoundContext(), FLOAT64.u) > 0.01
    long = extended()
    assert long is not None
    assert own_share(cell.instance, BoundContext(), long.u) < 0.01


def test_own_share_grows_with_a_declared_tree() -> None:
    """A pairwise tolerance is log n wide while the oracle still adds one by one."""
    draft = Draft(np.random.default_rng(0), Builder(FP32), (FP32,), "normal", sizes={"N": 1 << 16})
    x = draft.real(("N",))
    total = draft.reduce("sum", x, 0, keep=False)
    instance = Instance(draft.builder.finish({"y": total}, ("N",)), draft.sizes, draft.inputs, {})
    loose = own_share(instance, BoundContext(), FLOAT64.u)
    tight = own_share(instance, BoundContext("pairwise"), FLOAT64.u)
    assert loose < 1e-7
    assert tight == pytest.approx((1 << 16) * 2.0**-53 / BoundContext().gamma(17, FP32), rel=1e-3)


def test_a_cell_can_be_drawn_again() -> None:
    first, again = (draw("attention", PROGRAMS["attention"], 12) for _ in range(2))
    assert first.about == again.about
    np.testing.assert_array_equal(admitted(first).below, admitted(again).below)
    assert draw_contexts(np.random.default_rng(1))[0] == draw_contexts(np.random.default_rng(1))[0]
