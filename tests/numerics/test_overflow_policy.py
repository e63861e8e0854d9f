"""Declared overflow: a mandated rounding past the range is surely an infinity, and one of those settles `all`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.numerics.bounded import Bounded
from kernel_contracts.numerics.interpret import Instance, bound
from kernel_contracts.vocabulary import vocabulary

TEXT = """contract c version 1.0 implements C-PRC-04
{{
  scope     op for P in {{fp16}} (g: fp32[N]; scale: real = 1.0) -> h: P[N], found: bool[], clean: bool[]
  pre       N in 1..64
  post      h within tolerance of reference {policy}
  reference {{
    h = round(g * (scale / 3.0), P) in fp32
    found = any(abs(h) == inf)
    clean = all(abs(h) < inf)
  }}
}}
"""


def bounded(policy: str, g: list[float], scale: float = 3.0) -> dict[str, Bounded]:
    (contract,) = load_text(TEXT.format(policy=policy), "c.kc", vocabulary())
    made = contract.bound[0]
    values: Any = np.asarray(g, dtype=np.float64)
    return bound(Instance(made.program, {"N": len(g)}, {"g": values}, {"scale": scale}), made.context)


def test_past_the_range_an_infinity_is_certain_where_it_is_declared() -> None:
    found = bounded("and policy overflow = inf", [1.0, 65504.0, 65536.0, -1e6])
    assert np.isinf(found["h"].v).tolist() == [False, False, True, True]
    assert found["h"].radius()[2:].tolist() == [0.0, 0.0]
    assert bool(found["found"].v)
    assert found["found"].radius() == 0
    assert not found["clean"].v
    assert found["clean"].radius() == 0


@pytest.mark.parametrize("policy", ["", "and policy overflow = inf or saturate", "and policy overflow = saturate"])
def test_without_that_it_is_open(policy: str) -> None:
    found = bounded(policy, [1.0, 65504.0, 65536.0, -1e6])
    assert np.isinf(found["h"].radius()[2:]).all()
    assert found["found"].radius() > 0
    assert found["clean"].radius() > 0


def test_at_the_edge_it_stays_open() -> None:
    """65520 is where fp16 rounds past its range: the radius of the product reaches to both sides."""
    found = bounded("and policy overflow = inf", [1.0, 65520.0])
    assert np.isinf(found["h"].radius()[1])
    assert found["clean"].radius() > 0


def test_one_sure_member_settles_it_whatever_the_others_are() -> None:
    found = bounded("and policy overflow = inf", [65520.0, 1e6])
    assert (bool(found["found"].v), float(found["found"].radius())) == (True, 0.0)
    assert (bool(found["clean"].v), float(found["clean"].radius())) == (False, 0.0)
    few = bounded("and policy overflow = inf", [1.0, 2.0])
    assert (bool(few["found"].v), bool(few["clean"].v)) == (False, True)
    assert (float(few["found"].radius()), float(few["clean"].radius())) == (0.0, 0.0)
