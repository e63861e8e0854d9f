"""The ladder of oracles: the cheapest that is good enough, and what each knows of its own error."""

from __future__ import annotations

import math
from fractions import Fraction

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.measurement.oracle import SHARE, BallOracle, FloatOracle, Truth, consult, work
from kernel_contracts.numerics.bounded import Bounded
from kernel_contracts.numerics.domains import FLOAT64, extended
from kernel_contracts.numerics.interpret import Instance, bound
from kernel_contracts.oracles import ladder

GEMM = kp.contract("gemm-accumulator", "fp64")


class Step:
    """An oracle that answers as it is told."""

    def __init__(self, name: str, share: float, limit: float = math.inf, centers: bool = True) -> None:
        self.name, self.rank, self.share, self.limit, self.centers, self.asked = name, 0, share, limit, centers, 0

    def available(self) -> bool:
        return True

    def affordable(self, instance: Instance) -> bool:
        return work(instance) <= self.limit

    def answer(self, *_: object) -> Truth:
        self.asked += 1
        return Truth(self.name, {"y": (np.zeros(1), np.zeros(1))} if self.centers else {}, self.share)


def instance(pair: tuple = GEMM, **dims: int) -> Instance:
    case = kp.case(pair, **(dims or {"M": 2, "K": 3, "N": 2}))
    return Instance(pair[1].program, case.dims, kp.session(pair, np.matmul).inputs(case), case.scalars)


def ask(*steps: Step) -> Truth:
    return consult(steps, instance(), GEMM[1].context, {}, {})


def test_the_first_good_answer_is_taken_and_no_further_oracle_asked() -> None:
    weak, good, late = Step("weak", 0.5), Step("good", 0.001), Step("late", 0.0)
    assert ask(weak, good, late).oracle == "good"
    assert (weak.asked, good.asked, late.asked) == (1, 1, 0)


def test_without_a_good_answer_the_last_one_counts_and_is_not_good() -> None:
    truth = ask(Step("a", 0.5), Step("b", 0.2))
    assert (truth.oracle, truth.good) == ("b", False)
    kept = ask(Step("a", 0.5), Step("empty", 0.2, centers=False))
    assert kept.oracle == "a", "an answer without values tells less than one with values"


def test_what_cannot_be_afforded_is_left_out() -> None:
    dear = Step("dear", 0.0, limit=1)
    assert ask(dear, Step("b", 0.0)).oracle == "b"
    assert dear.asked == 0
    assert ask(dear) == Truth("none", {}, math.inf)


def test_a_share_of_exactly_one_percent_is_good() -> None:
    assert Truth("x", {}, SHARE).good
    assert not Truth("x", {}, np.nextafter(SHARE, 1)).good


def test_the_work_of_a_product_counts_its_terms() -> None:
    small, long = work(instance(M=4, K=4, N=4)), work(instance(M=4, K=400, N=4))
    assert 4 * 4 * 4 <= small <= 200
    assert long > 50 * small


def test_the_ladder_is_in_order_and_each_step_is_there() -> None:
    names = [o.name for o in ladder()]
    assert names[0] == "fp64"
    assert names[-1] == "ball"
    assert [o.rank for o in ladder()] == sorted(o.rank for o in ladder())
    assert ("extended" in names) == (extended() is not None)


@pytest.mark.skipif(extended() is None, reason="this platform has no wider long double")
def test_extended_is_within_one_percent_of_the_radius_of_fp64() -> None:
    """Beside exact fractions: its error is as small as it says."""
    i = instance(M=3, K=30, N=3)
    context, nodes = GEMM[1].context, dict(i.program.outputs)
    bounded = bound(i, context, nodes)
    step = next(o for o in ladder() if o.name == "extended")
    truth = step.answer(i, context, nodes, bounded)
    assert truth.good
    exact = [[sum(Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True)) for column in i.inputs["B"].T]
             for row in i.inputs["A"]]  # fmt: skip
    high, low = truth.centers["C"]
    for r in range(3):
        for c in range(3):
            off = abs(Fraction(high[r, c]) + Fraction(low[r, c]) - exact[r][c])
            assert off <= Fraction(truth.share) * Fraction(bounded["C"].radius()[r, c])
    plain = ladder()[0].answer(i, context, nodes, bounded)
    assert not plain.good, "float64 cannot judge float64"


def test_balls_raise_their_precision_until_they_are_good() -> None:
    i = instance(M=2, K=8, N=2)
    context, nodes = GEMM[1].context, dict(i.program.outputs)
    bounded = bound(i, context, nodes)
    low = BallOracle("ball", 2, bits=(24, 53, 128), limit=1 << 20)
    assert low.answer(i, context, nodes, bounded).oracle == "ball(128)"
    never = BallOracle("ball", 2, bits=(24,), limit=1 << 20).answer(i, context, nodes, bounded)
    assert not never.good
    tight = {n: Bounded(b.v, 0.0) for n, b in bounded.items()}
    assert BallOracle("ball", 2, bits=(64, 256), limit=1 << 20).answer(i, context, nodes, tight).oracle == "ball(256)"


def test_an_oracle_without_its_arithmetic_is_not_available() -> None:
    assert not FloatOracle("none", 1, None, 1).available()
    assert FloatOracle("fp64", 0, FLOAT64, 1).available()
