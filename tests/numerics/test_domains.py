"""The number systems agree with one another, each within the error it claims; mpmath is the judge."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

from kernel_contracts.formats import BF16, FORMATS, FP32
from kernel_contracts.numerics.domains import FLOAT64, BallDomain, FloatDomain, extended

FUNCTIONS = (
    "exp", "log", "log1p", "expm1", "tanh", "erf", "erfc", "sqrt", "rsqrt", "sin", "cos", "sigmoid",
)  # fmt: skip
_MP = {
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}  # fmt: skip


def points(name: str) -> np.ndarray:
    rng = np.random.default_rng(4)
    spread = rng.standard_normal(60) * 2.0 ** rng.integers(-20, 5, 60)
    if name in ("log", "sqrt", "rsqrt"):
        return np.abs(spread) + 2.0**-30
    return np.abs(spread) - 0.5 if name == "log1p" else spread


def truth(name: str, x: float) -> mpmath.mpf:
    f = _MP.get(name) or getattr(mpmath, name)
    return f(mpmath.mpf(x))


def apart(high: float, low: float, exact: mpmath.mpf) -> float:
    """Relative distance of an unevaluated sum from the truth."""
    return float(abs((mpmath.mpf(high) + mpmath.mpf(low) - exact) / exact)) if exact else abs(high + low)


def worst_of(high: np.ndarray, low: np.ndarray, exact: list[mpmath.mpf]) -> float:
    return max(apart(first, second, t) for first, second, t in zip(high, low, exact, strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_right_in_every_domain(name: str) -> None:
    x = points(name)
    long = extended()
    assert long is not None, "this platform's long double is no wider than float64"
    with mpmath.workprec(300):
        exact = [truth(name, float(v)) for v in x]
        for domain in (FLOAT64, long):
            high, low = domain.float64(domain.call(name, x))
            worst = worst_of(high, low, exact)
            assert worst <= 8 * domain.u, domain.name
        with BallDomain(200) as balls:
            out = balls.call(name, x)
            high, low = balls.float64(out)
            radius = balls.radius(out)
        # two float64 numbers hold about 106 bits of it
        assert worst_of(high, low, exact) < 2.0**-100
        assert (radius <= np.abs(high) * 2.0**-150).all()


def test_a_ball_contains_the_truth_whatever_the_precision() -> None:
    for bits in (53, 80, 160):
        with BallDomain(bits) as balls, mpmath.workprec(400):
            out = balls.call("exp", balls.real(np.array([0.1])) * balls.real(np.array([3.0])))
            exact = mpmath.exp(mpmath.mpf(0.1) * 3)
            middle, rest = balls.float64(out)
            off = abs(mpmath.mpf(float(middle[0])) + mpmath.mpf(float(rest[0])) - exact)
            assert off <= balls.radius(out)[0] + 2.0**-100
    with BallDomain(64) as coarse, BallDomain(200) as fine:
        assert coarse.bits == 64
        assert fine.bits == 200


def test_entering_a_ball_domain_leaves_the_precision_as_it_was() -> None:
    import flint

    before = flint.ctx.prec
    with BallDomain(222):
        assert flint.ctx.prec == 222
    assert flint.ctx.prec == before


def test_special_values_travel(domain: FloatDomain | BallDomain) -> None:
    x = np.array([np.inf, -np.inf, 0.0, 2.0])
    with np.errstate(all="ignore"):
        high, _ = domain.float64(domain.real(x))
        np.testing.assert_array_equal(high, x)
        high, _ = domain.float64(domain.call("exp", x))
        np.testing.assert_allclose(high, [np.inf, 0, 1, math.exp(2)])
        high, _ = domain.float64(domain.call("log", np.array([0.0, -1.0, np.inf])))
        assert high[0] == -np.inf
        assert np.isnan(high[1])
        assert high[2] == np.inf


def test_extended_sees_what_float64_loses() -> None:
    long = extended()
    assert long is not None
    total = long.real(np.array([1.0])) + long.real(np.array([2.0**-60]))
    high, low = long.float64(total)
    assert high[0] == 1.0
    assert low[0] == 2.0**-60
    assert FLOAT64.float64(np.array([1.0]) + 2.0**-60) == (1.0, 0.0)


@pytest.fixture(params=["fp64", "extended", "ball"])
def domain(request: pytest.FixtureRequest) -> Iterator[FloatDomain | BallDomain]:
    if request.param == "ball":
        with BallDomain(160) as balls:
            yield balls
        return
    long = extended()
    assert long is not None
    yield FLOAT64 if request.param == "fp64" else long


def test_rounding_is_done_once_from_any_wider_domain(domain: FloatDomain | BallDomain) -> None:
    """A hair above a tie of bf16: rounding to float64 first would fall on the tie and go to even."""
    if domain.name == "fp64":
        assert domain.round(np.array([1.0 + BF16.u]), BF16)[0] == 1.0
        return
    tie = 1.0 + BF16.u
    above, below = (domain.real(np.array([tie])) + domain.real(np.array([h])) for h in (2.0**-62, -(2.0**-62)))
    assert float(domain.float64(domain.round(above, BF16))[0][0]) == 1.0 + BF16.eps
    assert float(domain.float64(domain.round(below, BF16))[0][0]) == 1.0
    assert float(domain.float64(domain.round(domain.real(np.array([tie])), BF16))[0][0]) == 1.0
    third = domain.real(np.array([1.0])) / domain.real(np.array([3.0]))
    for name in ("fp32", "fp16", "bf16"):
        rounded = domain.float64(domain.round(third, FORMATS[name]))[0][0]
        assert abs(rounded - 1 / 3) <= FORMATS[name].u / 3


def test_floor_quotient_and_remainder_are_exact(domain: FloatDomain | BallDomain) -> None:
    """The float64 quotient of 2 and the number nearest to 0.1 is 20; the exact one lies below."""
    two, tenth = np.array([2.0, -7.0, 1e15, 5.5]), np.array([0.1, 2.0, 3.0, -2.0])
    floored = [2.0 // 0.1, -7.0 // 2.0, float(10**15 // 3), 5.5 // -2.0]
    assert floored[0] == 19.0
    np.testing.assert_array_equal(domain.float64(domain.quotient(two, tenth))[0], floored)
    np.testing.assert_array_equal(domain.float64(domain.remainder(two, tenth))[0], [2.0 % 0.1, 1.0, 1.0, -0.5])
    np.testing.assert_array_equal(domain.float64(domain.floor(domain.real(np.array([-0.5, 2.0, 2.5]))))[0], [-1, 2, 2])


def test_balls_compare_and_choose() -> None:
    with BallDomain(120) as balls:
        a, b = balls.real(np.array([1.0, 2.0, 3.0])), balls.real(np.array([2.0, 2.0, 1.0]))
        assert balls.compare("<", a, b).tolist() == [True, False, False]
        assert balls.compare("==", a, b).tolist() == [False, True, False]
        assert balls.float64(balls.larger(a, b))[0].tolist() == [2, 2, 3]
        assert balls.float64(balls.power(a, b))[0].tolist() == [1, 4, 3]
        assert balls.float64(balls.real(np.array([2**62 + 1])))[1].tolist() == [1.0]
        assert balls.float64(np.array([0, 1.5], dtype=object))[0].tolist() == [0, 1.5]


def test_fp32_values_pass_through_every_domain_unchanged(domain: FloatDomain | BallDomain) -> None:
    x = np.array([FP32.max_finite, FP32.least_subnormal, -1.25, 0.0])
    np.testing.assert_array_equal(domain.float64(domain.round(domain.real(x), FP32))[0], x)
