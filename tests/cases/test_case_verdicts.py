"""Every faulty kernel is accused by name, its sibling is not, whatever the seed."""

from __future__ import annotations

import pytest
from case_harness import CASES, SEEDS, FaultCase, accused, check_case, check_isolated, conforms

cases = pytest.mark.parametrize("case", CASES, ids=[c.id for c in CASES])
seeds = pytest.mark.parametrize("seed", SEEDS)


@cases
@seeds
def test_faulty_kernel_violates(case: FaultCase, seed: int) -> None:
    accused(case, check_case(case, "faulty", seed))


@cases
@seeds
def test_sibling_conforms(case: FaultCase, seed: int) -> None:
    conforms(check_case(case, "sibling", seed))


#: One of each class goes the whole way of a user in the normal run; the others are slow for what they add.
_WHOLE_WAY = {"O04", "O12", "O13", "O24", "O29"}


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.id, marks=() if c.id in _WHOLE_WAY else pytest.mark.slow) for c in CASES]
)
def test_the_whole_way_in_a_process_of_its_own(case: FaultCase) -> None:
    accused(case, check_isolated(case, "faulty", SEEDS[0]))
    conforms(check_isolated(case, "sibling", SEEDS[0]))
