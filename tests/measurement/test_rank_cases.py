"""What is planned for operations on ranks, how faults show there, and what the search for an explanation finds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import load_file, load_text, standard_library
from kernel_contracts.contracts.evidence import Case, Observation, Outcome
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.emulated import Callee, Emulated
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.faults import faults
from kernel_contracts.measurement.session import Session
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary

RANKS = experiments()["ranks"]
CONTRACTS = {c.name: c for c in standard_library(vocabulary()) if c.class_id == "C-ORD-03"}
ALL_REDUCE = CONTRACTS["all-reduce"]
FP32 = next(b for b in ALL_REDUCE.bound if b.dtypes == {"P": "fp32"})


def planned(contract: Contract, **how: int) -> list[Case]:
    bound = contract.bound[0]
    plan = classes()["C-ORD-03"].plan(contract, bound)
    return RANKS.cases(contract, bound, plan, seed=3, **how)


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_number_of_ranks_meets_every_way_to_call(name: str) -> None:
    cases = planned(CONTRACTS[name])
    seen = Counter((c.dims["W"], c.scalars["buckets"], c.scalars["overlap"]) for c in cases)
    assert set(seen) == {(w, b, o) for w in (1, 2, 4, 8) for b in (1, 4) for o in (False, True)}
    assert [c.dims["W"] for c in cases] == sorted(c.dims["W"] for c in cases), "processes are started once for each"
    assert [c.id for c in cases] == list(range(len(cases)))
    sizes = {c.dims["N"] for c in cases}
    assert any(n % 8 for n in sizes)
    assert any(n > 256 for n in sizes)


def test_few_cases_still_meet_every_number_of_ranks_every_input_and_every_way_to_call() -> None:
    whole = planned(ALL_REDUCE)
    assert len(planned(ALL_REDUCE, samples=40)) == 40
    few = planned(ALL_REDUCE, samples=1)
    assert len(few) < len(whole) / 2
    for kind in (lambda c: c.dims["W"], lambda c: c.family, lambda c: (c.scalars["buckets"], c.scalars["overlap"])):
        assert set(map(kind, few)) == set(map(kind, whole))


def test_a_contract_without_ranks_has_no_cases() -> None:
    other = next(c for c in standard_library(vocabulary()) if c.name == "softmax-stable")
    plan = classes()["C-ORD-03"].plan(other, other.bound[0])
    assert RANKS.cases(other, other.bound[0], plan, seed=1) == []


class Recording:
    """Keeps what it is called with."""

    def __init__(self, inner: Callee) -> None:
        self.inner, self.given = inner, []

    def call(self, arrays, scalars={}, *, poison=()):  # type: ignore[no-untyped-def]  # noqa: B006
        self.given.append((np.array(arrays[0].array), dict(scalars)))
        return self.inner.call(arrays, scalars, poison=poison)


def test_each_call_has_other_data_and_the_last_one_that_of_the_record() -> None:
    kernel = Recording(Emulated(ALL_REDUCE, FP32))
    session = Session(ALL_REDUCE, FP32, kernel, ladder())
    case = next(c for c in planned(ALL_REDUCE) if c.dims["W"] == 4 and c.family == "normal" and c.scalars["overlap"])
    inputs = RANKS.inputs(session, case)
    seen = RANKS.measure_on(session, case, inputs)
    assert seen.readings["call"] == 3
    assert len(kernel.given) == 3
    assert (kernel.given[-1][0] == inputs["x"]).all()
    assert all((a != b).any() for (a, _), (b, _) in zip(kernel.given, kernel.given[1:], strict=False))
    assert all(s == {"buckets": case.scalars["buckets"], "overlap": True} for _, s in kernel.given)
    again = Recording(Emulated(ALL_REDUCE, FP32))
    RANKS.measure_on(Session(ALL_REDUCE, FP32, again, ladder()), case, inputs)
    assert all((a == b).all() for (a, _), (b, _) in zip(kernel.given, again.given, strict=True)), "made again"


# -------------------------------------------------------------------------------------------------------- faults


def under(fault: str, case: Case) -> Observation:
    kernel = faults()[fault].wrap(ALL_REDUCE, FP32, Emulated(ALL_REDUCE, FP32), ())
    return RANKS.measure(Session(ALL_REDUCE, FP32, kernel, ladder()), case)


def case_of(world: int, n: int, buckets: int = 1, *, overlap: bool = False) -> Case:
    first = planned(ALL_REDUCE)[0]
    varied = {"buckets": buckets, "overlap": overlap}
    return Case(0, "normal", {"P": "fp32"}, {"W": world, "N": n}, varied, first.layout, 11, "made")


@pytest.mark.parametrize(
    ("fault", "shows", "silent", "reading"),
    [
        ("slot_refilled", case_of(4, 600), case_of(4, 200), "other_place"),
        ("stale_bucket", case_of(2, 64, 4, overlap=True), case_of(2, 64, 4), "stale"),
        ("last_bucket_lost", case_of(4, 64, 4), case_of(4, 64), "own_only"),
        ("remainder_lost", case_of(4, 66), case_of(4, 64), "own_only"),
        ("rank_skipped", case_of(8, 5), case_of(8, 64), "lost"),
    ],
)
def test_a_fault_strikes_where_it_says_and_is_explained(fault: str, shows: Case, silent: Case, reading: str) -> None:
    seen = under(fault, shows)
    assert seen.violating
    assert seen.readings[reading] >= 0.9
    assert not under(fault, silent).violating


def test_what_is_explained_has_its_place() -> None:
    seen = under("last_bucket_lost", case_of(4, 64, 4))
    assert [seen.readings[n] for n in ("first", "last", "wrong", "of")] == [48, 63, 16, 64]
    lost = under("rank_skipped", case_of(8, 5))
    assert lost.readings["lost_rank"] == 7


def test_writing_to_the_input_and_an_order_of_its_own_are_no_wrong_values() -> None:
    wrote = under("sums_in_input", case_of(2, 8))
    assert (wrote.mutated, wrote.violating) == (("x",), False)
    apart = under("own_order", case_of(8, 500))
    assert apart.defect == "rank_disagreement"
    assert apart.ratio <= 1
    assert not under("own_order", case_of(2, 500)).violating, "two terms have one order"
    scatter = CONTRACTS["reduce-scatter"]
    inner = Emulated(scatter, scatter.bound[0])
    assert faults()["own_order"].wrap(scatter, scatter.bound[0], inner, ()) is inner


# ------------------------------------------------------------------------------------------------------ contracts


def test_ranks_conform_in_every_order_of_their_own(tmp_path: Path) -> None:
    """Ring, tree, halving: the emulation draws one anew at each call, and the derived bound holds for all."""
    x = np.random.default_rng(4).standard_normal((8, 300)).astype(np.float32)
    kernel = Emulated(ALL_REDUCE, FP32)
    results = {kernel.call([ArrayIn("x", x)]).outputs[0].tobytes() for _ in range(30)}
    assert len(results) >= 4
    exact = x.astype(np.float64).sum(axis=0)
    bound = 7 * 2.0**-24 / (1 - 7 * 2.0**-24) * np.abs(x.astype(np.float64)).sum(axis=0)
    for bits in results:
        y = np.frombuffer(bits, np.float32).reshape(8, 300).astype(np.float64)
        assert (y == y[0]).all()
        assert (np.abs(y[0] - exact) <= bound * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("across ranks(0)", "N215", "a whole number from 1 to 64"),
        ("across bucket(2)", "N215", "does not vary over bucket"),
        ("across runs(3)", "N215", "does not vary over runs"),
    ],
)
def test_a_variation_that_means_nothing_is_refused(text: str, code: str, words: str) -> None:
    _refused(f"(x: fp32[N]) on ranks W -> y: fp32[N]\n  post y within tolerance of reference {text}", code, words)


def test_ranks_that_the_precondition_excludes_are_refused() -> None:
    clauses = "(x: fp32[N]) on ranks W -> y: fp32[N]\n pre W in 16..32\n post y within tolerance of reference"
    _refused(clauses, "T311", "admits none of ranks(1, 2, 4, 8)")


def test_a_sum_over_ranks_needs_ranks() -> None:
    _refused("(x: fp32[N]) -> y: fp32[N]\n post y within tolerance of reference", "T308", "no ranks in this scope")


def _refused(clauses: str, code: str, words: str) -> None:
    from kernel_contracts.errors import LanguageError

    text = (
        f"contract a version 1 implements C-ORD-03\n{{\n  scope f {clauses}\n"
        "  reference { y = sum(x, over = ranks) }\n}\n"
    )
    with pytest.raises(LanguageError) as caught:
        load_text(text, "made.kc", vocabulary())
    assert code in str(caught.value)
    assert words in str(caught.value)


def test_the_listing_of_the_paper_is_a_contract() -> None:
    (contract,) = load_file(Path(__file__).parents[2] / "examples" / "paper" / "C-ORD-03.kc", vocabulary())
    assert contract.ranks == "K"
    assert contract.pre.ranges["K"].choices == (2, 4, 8)
    assert all(b.accumulator.name == "fp32" for b in contract.bound)


def test_a_size_that_the_ranks_divide_is_found_from_the_shape() -> None:
    scatter = CONTRACTS["reduce-scatter"]
    bound = next(b for b in scatter.bound if b.dtypes == {"P": "fp32"})
    x = np.arange(24, dtype=np.float32).reshape(2, 12)
    result = Emulated(scatter, bound).call([ArrayIn("x", x)])
    assert result.outcome is Outcome.RETURNED
    assert (result.outputs[0] == (x[0] + x[1]).reshape(2, 6)).all()
