"""Programs of a single operator, for the tests that compare it with an independent definition."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_contracts.formats import FORMATS, FP32, INT64, Format
from kernel_contracts.numerics.bounded import BoundContext, Bounded
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.domains import BallDomain
from kernel_contracts.numerics.interpret import Instance, bound, evaluate
from kernel_contracts.numerics.rounding import round_to

RNG = np.random.default_rng(11)


def one(name: str, arrays: list[np.ndarray], attrs: dict[str, Any] | None = None, fmt: Format = FP32) -> Instance:
    """A program of one node on fp32, integer or truth-value inputs."""
    b = Builder(fmt)
    held = {"f": FP32, "i": INT64, "b": FORMATS["bool"]}
    nodes = [b.input(f"x{i}", held[a.dtype.kind], a.shape) for i, a in enumerate(arrays)]
    program = b.finish({"y": b.op(name, nodes, attrs or {})}, ())
    return Instance(program, {}, {f"x{i}": a for i, a in enumerate(arrays)}, {})


def value(name: str, arrays: list[np.ndarray], attrs: dict[str, Any] | None = None) -> np.ndarray:
    """The operator's meaning in float64, checked to be the same in balls."""
    given = one(name, arrays, attrs)
    y = np.asarray(evaluate(given)["y"])
    with BallDomain(120) as balls:
        proved = evaluate(given, balls)["y"]
        if y.dtype.kind == "f":
            np.testing.assert_allclose(balls.float64(proved)[0], y, rtol=1e-13, atol=1e-300)
        else:
            np.testing.assert_array_equal(np.asarray(proved), y)
    return y


def held(name: str, arrays: list[np.ndarray], attrs: dict[str, Any] | None = None, **context: Any) -> Bounded:
    return bound(one(name, arrays, attrs), BoundContext(**context))["y"]


def normal(*shape: int) -> np.ndarray:
    return round_to(RNG.standard_normal(shape), FP32)
