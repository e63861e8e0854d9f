"""The three interpretations of one program: sizes, conversions, memory, exactness, special values."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import BF16, FORMATS, FP16, FP32, FP64, INT64, Format
from kernel_contracts.numerics import interpret
from kernel_contracts.numerics.bounded import BoundContext, Bounded
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.interpret import Instance, bound, emulate, evaluate
from kernel_contracts.numerics.operators.base import EmulateContext
from kernel_contracts.numerics.rounding import round_to

Make = Callable[[Builder, list[int]], int]


def instance(make: Make, *arrays: np.ndarray, fmt: Format = FP32, held: Format = FP32, **scalars: float) -> Instance:
    """`make(builder, inputs)` in the arithmetic `fmt`, on arrays of format `held` (int64 for integers)."""
    b = Builder(fmt)
    names = [f"x{i}" for i in range(len(arrays))]
    nodes = [b.input(n, INT64 if a.dtype.kind == "i" else held, a.shape) for n, a in zip(names, arrays, strict=True)]
    nodes += [b.scalar(n, "real") for n in scalars]
    result = make(b, nodes)
    return Instance(b.finish({"y": result}, ()), {}, dict(zip(names, arrays, strict=True)), scalars)


def held(given: Instance, **context: object) -> Bounded:
    return bound(given, BoundContext(**context))["y"]  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------------- sizes


def test_sizes_are_resolved_from_dims_and_whole_scalars() -> None:
    b = Builder(FP32)
    x = b.input("x", FP32, ("N",))
    b.scalar("s", "int")
    part = b.op("slice", [x], {"axis": 0, "start": 1, "stop": ("-", "N", 1), "step": "s"})
    y = b.op("mul", [part, b.size(("*", "N", 2))])
    program = b.finish({"y": y}, ("N",))
    given = Instance(program, {"N": 8}, {"x": np.arange(8.0)}, {"s": 2})
    for result in (evaluate(given)["y"], bound(given, BoundContext())["y"].v, emulate(given, EmulateContext())["y"]):
        np.testing.assert_array_equal(result, np.arange(8.0)[1:7:2] * 16)


def test_a_parameter_without_a_value_is_named() -> None:
    given = instance(lambda b, n: b.op("mul", n), np.ones(3), scale=2.0)
    with pytest.raises(ArithmeticScopeError, match="parameter scale has no value"):
        evaluate(Instance(given.program, {}, given.inputs, {}))


def test_an_unbound_size_is_named() -> None:
    b = Builder(FP32)
    x = b.input("x", FP32, ("N",))
    program = b.finish({"y": b.op("div", [x, b.size("N")])}, ("N",))
    with pytest.raises(ArithmeticScopeError, match="size N has no value"):
        evaluate(Instance(program, {}, {"x": np.ones(3)}, {}))


# --------------------------------------------------------------------------------------------------- conversions


def test_operands_wider_than_the_arithmetic_are_converted_first() -> None:
    x = round_to(np.random.default_rng(0).standard_normal(200), FP32)
    given = instance(lambda b, n: b.op("add", [n[0], n[0]]), x, fmt=BF16)
    np.testing.assert_array_equal(emulate(given, EmulateContext())["y"], 2 * round_to(x, BF16))
    np.testing.assert_array_equal(evaluate(given)["y"], 2 * x)
    e = held(given).radius()
    assert (np.abs(2 * round_to(x, BF16) - 2 * x) <= e).all()
    assert e.min() > 0
    whole = instance(lambda b, n: b.op("add", [n[0], n[0]]), np.arange(-64.0, 65.0), fmt=BF16)
    assert held(whole).exact


def test_a_format_of_less_range_converts_even_at_equal_precision() -> None:
    """tf32 and fp16 both have 11 bits; 1e-8 is a tf32 number and no fp16 one."""
    x = round_to(np.array([1e-8, 1.0]), FORMATS["tf32"])
    given = instance(
        lambda b, n: b.op("sum", [n[0]], {"axis": (0,), "keep": True}), x[:1], fmt=FP16, held=FORMATS["tf32"]
    )
    y = emulate(given, EmulateContext())["y"]
    assert y[0] == 0
    assert np.abs(y - x[:1]) <= held(given).radius()
    big = instance(
        lambda b, n: b.op("neg", [b.op("mul", [n[0], n[0]])]), np.array([1e5]), fmt=FP16, held=FORMATS["tf32"]
    )
    assert np.isinf(held(big).radius()).all()


def test_whole_numbers_beyond_the_precision_are_rounded_too() -> None:
    i = np.array([2**24 + 1, 3])
    given = instance(lambda b, n: b.op("mul", n), i, scale=1.0)
    e = held(given).radius()
    assert emulate(given, EmulateContext())["y"].tolist() == [2.0**24, 3.0]
    assert e[0] >= 1
    assert not held(instance(lambda b, n: b.op("mul", n), i[1:], scale=1.0)).radius().any()


def test_a_literal_is_held_in_the_arithmetic_of_its_statement() -> None:
    given = instance(lambda b, n: b.op("add", [n[0], b.constant(0.1)]), np.zeros(1), fmt=BF16)
    assert emulate(given, EmulateContext())["y"][0] == round_to(0.1, BF16)
    assert evaluate(given)["y"][0] == 0.1
    assert 0.1 * 2.0**-9 < held(given).radius()[0] < 0.1 * 2.0**-6


def test_moves_and_choices_round_nothing_whatever_the_statement_says() -> None:
    x = round_to(np.random.default_rng(1).standard_normal((4, 5)), FP32)
    makes: list[Make] = [
        lambda b, n: b.op("max", [n[0]], {"axis": (1,), "keep": False}),
        lambda b, n: b.op("maximum", [n[0], n[0]]),
        lambda b, n: b.op("abs", [n[0]]),
        lambda b, n: b.op("flip", [n[0]], {"axis": 0}),
        lambda b, n: b.op("where", [b.op("less", [n[0], n[0]]), n[0], n[0]]),
    ]
    for make in makes:
        given = instance(make, x, fmt=BF16)
        assert held(given).exact
        np.testing.assert_array_equal(emulate(given, EmulateContext())["y"], evaluate(given)["y"])


# ----------------------------------------------------------------------------------------------- rounding inside


def test_a_mandated_rounding_is_part_of_the_meaning_and_a_permitted_one_is_not() -> None:
    x = round_to(np.random.default_rng(2).standard_normal(50), FP32)
    must = instance(lambda b, n: b.op("round", [n[0]], {"format": BF16}), x)
    may = instance(lambda b, n: b.op("at_least", [n[0]], {"format": BF16}), x)
    np.testing.assert_array_equal(evaluate(must)["y"], round_to(x, BF16))
    np.testing.assert_array_equal(evaluate(may)["y"], x)
    assert held(must).exact
    assert not held(may).exact
    np.testing.assert_array_equal(emulate(may, EmulateContext(carry=False))["y"], x)
    np.testing.assert_array_equal(emulate(may, EmulateContext(carry=True))["y"], round_to(x, BF16))


def test_rounding_a_value_of_that_format_again_changes_nothing() -> None:
    x = round_to(np.random.default_rng(3).standard_normal(50), BF16)
    twice = instance(lambda b, n: b.op("round", [b.op("mul", n * 2)], {"format": BF16}), x, fmt=BF16, held=BF16)
    once = instance(lambda b, n: b.op("mul", n * 2), x, fmt=BF16, held=BF16)
    np.testing.assert_array_equal(held(twice).radius(), held(once).radius())
    np.testing.assert_array_equal(evaluate(twice)["y"], evaluate(once)["y"])


def test_rounding_inside_moves_the_radius_by_whole_steps() -> None:
    """A value well between two ties keeps radius 0 through a rounding; one beside a tie gets a step of it."""
    x = np.array([1.0, 1.0 + BF16.u])
    given = instance(lambda b, n: b.op("round", [b.op("exp", [b.op("log", [n[0]])])], {"format": BF16}), x)
    assert held(given).radius()[0] == 0
    assert held(given).radius()[1] == pytest.approx(BF16.eps, rel=1e-6)


# ------------------------------------------------------------------------------------------------ special values


def test_overflow_admits_all_and_a_given_infinity_admits_itself() -> None:
    x = np.array([np.inf, 3e38, 1.0])
    e = held(instance(lambda b, n: b.op("mul", n * 2), x)).radius()
    assert e[0] == 0
    assert np.isinf(e[1])
    assert 0 <= e[2] < 1e-6


def test_the_largest_partial_sum_decides_about_overflow() -> None:
    x = np.array([[3e38, 3e38, -3e38], [1e38, 1e38, -1e38]])
    e = held(instance(lambda b, n: b.op("sum", [n[0]], {"axis": (1,), "keep": False}), x)).radius()
    assert np.isinf(e[0])
    assert np.isfinite(e[1])


def test_float64_overflowing_by_itself_is_an_overflow() -> None:
    """1e308 + 1e308 - 1e308 is infinite in one order and 1e308 in another."""
    x = np.array([1e308, 1e308, -1e308])
    given = instance(lambda b, n: b.op("sum", [n[0]], {"axis": (0,), "keep": True}), x, fmt=FP64, held=FP64)
    assert np.isinf(held(given).radius()).all()
    pole = instance(lambda b, n: b.op("div", [b.constant(1.0), n[0]]), np.array([0.0, 2.0]), fmt=FP64, held=FP64)
    assert held(pole).v[0] == np.inf
    assert held(pole).radius()[0] == 0


def test_a_computed_zero_has_no_sign_to_divide_by() -> None:
    make: Make = lambda b, n: b.op("rsqrt", [b.op("mul", n)])  # noqa: E731
    unsure = instance(make, np.array([0.0]), np.array([-3.0]))
    assert evaluate(unsure)["y"][0] == -np.inf
    assert np.isinf(held(unsure).radius()[0])
    given = instance(lambda b, n: b.op("rsqrt", n), np.array([0.0]))
    assert held(given).v[0] == np.inf
    assert held(given).radius()[0] == 0


def test_dividing_by_an_uncertain_zero_admits_all() -> None:
    third: Make = lambda b, n: b.op("sub", [b.op("mul", [b.op("div", [n[0], b.constant(3.0)]), b.constant(3.0)]), n[0]])  # noqa: E731
    given = instance(lambda b, n: b.op("div", [b.constant(1.0), third(b, n)]), np.array([0.7]))
    assert np.isinf(held(given).radius()).all()


def test_a_choice_that_rounding_may_turn_is_not_certain_even_of_an_infinity() -> None:
    """where(x * x > t, x, -inf) with x * x beside t: both branches are admitted."""
    x = round_to(np.array([1.1, 3.0]), FP32)

    def make(b: Builder, n: list[int]) -> int:
        chosen = b.op("greater", [b.op("mul", [n[0], n[0]]), b.constant(1.2100000524520874)])
        return b.op("where", [chosen, n[0], b.constant(-np.inf)])

    e = held(instance(make, x)).radius()
    assert np.isinf(e[0])
    assert e[1] == 0


def test_flushed_subnormals_are_within_a_bound_that_admits_them() -> None:
    x = round_to(np.array([FP16.least_subnormal * 3, 1.0, 2.0**-13]), FP16)
    given = instance(lambda b, n: b.op("mul", [b.op("add", n * 2), b.constant(0.5)]), x, fmt=FP16, held=FP16)
    flushed = emulate(given, EmulateContext(flush=True))["y"]
    assert flushed[0] == 0
    assert emulate(given, EmulateContext())["y"][0] == x[0]
    assert np.abs(flushed - x)[0] > held(given).radius()[0]
    assert (np.abs(flushed - x) <= held(given, flush=True).radius()).all()


def test_a_flushing_load_takes_the_subnormals_of_the_format_it_loads() -> None:
    """1e-6 is a normal fp32 number and a subnormal fp16 one: fp32 arithmetic on fp16 operands may read a zero."""
    x = round_to(np.array([1e-6, 1.0]), FP16)
    given = instance(lambda b, n: b.op("add", [n[0], b.constant(1.0)]), x, held=FP16)
    assert emulate(given, EmulateContext(flush=True))["y"].tolist() == [1.0, 2.0]
    assert held(given).radius()[0] < 1e-6 <= held(given, flush=True).radius()[0]
    rounded = instance(lambda b, n: b.op("sign", [b.op("round", [n[0]], {"format": FP32})]), x, held=FP16, fmt=FP32)
    assert held(rounded, flush=True).radius().tolist() == [0.0, 0.0]
    tiny = instance(lambda b, n: b.op("sign", [b.op("round", [n[0]], {"format": FP32})]), np.array([1e-40]))
    assert emulate(tiny, EmulateContext(flush=True))["y"][0] == 0
    assert held(tiny, flush=True).radius()[0] >= 1


# -------------------------------------------------------------------------------------------------------- memory


class _Seen(np.ndarray):
    """An array that can be weakly referenced and followed."""


@pytest.mark.parametrize("kind", ["evaluate", "bound", "emulate"])
def test_results_are_forgotten_after_their_last_use(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long chain never holds more than a few of its arrays."""
    b = Builder(FP32)
    node = b.input("x", FP32, (100,))
    for k in range(30):
        node = b.op("neg" if k % 2 else "abs", [b.op("flip", [node], {"axis": 0})])
    given = Instance(b.finish({"y": node}, ()), {}, {"x": np.arange(100.0)}, {})
    alive: list[weakref.ref[np.ndarray]] = []
    most = 0

    def watch(x: object) -> None:
        nonlocal most
        marked = np.asarray(x.v if isinstance(x, Bounded) else x).view(_Seen)
        alive.append(weakref.ref(marked.base if isinstance(marked.base, np.ndarray) else marked))
        gc.collect()
        most = max(most, sum(r() is not None for r in alive))

    walk = interpret._walk

    def walking(i: Instance, keep: set[int], make_leaf: Callable, apply: Callable) -> object:
        def observed(*args: object) -> object:
            result = apply(*args)
            watch(result)
            return result

        return walk(i, keep, make_leaf, observed)

    monkeypatch.setattr(interpret, "_walk", walking)
    gc.collect()
    gc.freeze()  # what other tests left is not looked through each time
    run = {"evaluate": lambda: evaluate(given), "bound": lambda: bound(given, BoundContext()),
           "emulate": lambda: emulate(given, EmulateContext())}[kind]  # fmt: skip
    run()
    assert len(alive) == 60
    assert most <= 4


def test_named_nodes_can_be_asked_for() -> None:
    b = Builder(FP32)
    x = b.input("x", FP32, (3,))
    double = b.op("add", [x, x])
    program = b.finish({"y": b.op("exp", [double])}, ())
    inner = program.nodes[program.outputs["y"]].args[0]
    given = Instance(program, {}, {"x": np.array([0.5, 1.0, 1.5])}, {})
    assert evaluate(given, nodes={"inner": inner})["inner"].tolist() == [1.0, 2.0, 3.0]
    both = bound(given, BoundContext(), {"inner": inner, "y": program.outputs["y"]})
    assert both["inner"].exact
    assert not both["y"].exact
