"""Collectives that go wrong, each by its own name: the three reported ones in real processes, others in threads."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_contracts import api
from kernel_contracts.casebook.base import CONTRACTS
from kernel_contracts.checking import Options, Result, check_contract, contracts_for
from kernel_contracts.contracts.evidence import Verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "library"))
from library_harness import InThreads

KERNELS = CONTRACTS.parent / "cases"
OTHERS = CONTRACTS.parent / "controls" / "collectives.py"
CASES = [
    ("o19_staging_slot", "all_reduce", "early_read", "the rank's part of another place has been taken"),
    ("o20_stale_weights", "all_gather", "stale_read", "what the call before would give"),
    ("o21_mutated_input", "all_reduce", "send_buffer_mutated", "x of rank 0"),
]


def accused(found: Result, defect: str, words: str = "") -> None:
    assert found.verdict is Verdict.VIOLATES, found.finding
    assert found.finding.signature is not None
    assert found.finding.signature.name == defect, found.finding
    assert words in found.finding.signature.detail


@pytest.mark.parametrize(("module", "operation", "defect", "words"), CASES, ids=[c[0][:3] for c in CASES])
def test_a_reported_fault_is_named_and_its_sibling_conforms(
    module: str, operation: str, defect: str, words: str
) -> None:
    found = {}
    for name in ("faulty", "sibling"):
        target = f"{KERNELS / module}.py:{name}"
        found[name] = api.check(target, operation, dtypes=["fp32"], seed=1, samples=16, timeout=20)[0]
    accused(found["faulty"], defect, words)
    assert found["sibling"].verdict is Verdict.CONFORMS, found["sibling"].finding
    assert "measured on 1, 2, 4, 8 ranks, up to 3 calls in a row" in found["sibling"].finding.notes


# ------------------------------------------------------------------------------------------- others, in threads


def function(name: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location("collectives_under_test", OTHERS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, name)
    return found


def check(directory: Path, kernel: Callable[..., Any], dtype: str = "fp32", contract: str = "all-reduce") -> Result:
    chosen = next(c for c in contracts_for("all_reduce", None) if c.name == contract)
    bound = next(b for b in chosen.bound if b.dtypes.get("P", dtype) == dtype)
    return check_contract(chosen, bound, InThreads("numpy", kernel, directory), Options(samples=24), seed=1)


@pytest.mark.parametrize("name", ["ring", "in_place", "halving"])
@pytest.mark.parametrize("contract", ["all-reduce", "all-reduce-integers"])
def test_what_is_right_is_not_accused(name: str, contract: str, tmp_path: Path) -> None:
    found = check(tmp_path, function(name), contract=contract)
    assert found.verdict is Verdict.CONFORMS, found.finding


@pytest.mark.parametrize(
    ("name", "defect", "words"),
    [
        ("in_bf16", "accumulator_narrowed", "sums kept in bf16"),
        ("own_part", "local_shard_returned", "ranks each returns its own part alone"),
        ("in_own_order", "rank_disagreement", "y differs between ranks"),
        ("without_waiting", "early_read", "memory that nothing had been written to yet"),
        ("stale_for_large", "stale_read", "in call 2"),
        ("last_rank_counted_twice", "counted_twice", "in the sum twice"),
        ("eight_ranks_as_four", "rank_count_dependent", "right on 1, 2, 4 ranks, wrong on 8"),
        ("always_in_place", "send_buffer_mutated", "x of rank 0 of"),
        ("reused_before_sent", "local_shard_returned", "its own part alone"),
    ],
)
def test_each_defect_has_its_own_name(name: str, defect: str, words: str, tmp_path: Path) -> None:
    accused(check(tmp_path, function(name)), defect, words)


def test_a_reduction_in_bf16_is_found_in_bf16_too(tmp_path: Path) -> None:
    accused(check(tmp_path, function("in_bf16"), "bf16"), "accumulator_narrowed")


def test_a_result_in_the_inputs_memory_is_right_only_where_the_caller_asks_for_it(tmp_path: Path) -> None:
    text = (CONTRACTS / "all_reduce_in_place.kc").read_text()
    path = tmp_path / "contract.kc"
    path.write_text(text)
    (contract,) = contracts_for(None, str(path))
    for name, verdict in (("in_place", Verdict.CONFORMS), ("always_in_place", Verdict.VIOLATES)):
        kernel = InThreads("numpy", function(name), tmp_path)
        found = check_contract(contract, contract.bound[0], kernel, Options(samples=8), seed=1)
        assert found.verdict is verdict, found.finding
        places = {o.case.scalars["in_place"] for o in found.observations}
        assert places == {False, True}


def test_the_numbers_of_the_reports() -> None:
    own, peer = np.array([1, 2, 3, 4]), np.array([10, 20, 30, 40])
    slots = list(own[:2])
    late, early = [], []
    for c in range(4):
        late.append(own[c] + peer[c])
        if c + 2 < 4:
            slots[c % 2] = own[c + 2]
        early.append(slots[c % 2] + peer[c])
    assert (late, early) == ([11, 22, 33, 44], [13, 24, 33, 44])
    weights = {"A": 2, "B": 2, "C": 1}
    assert np.prod([weights[k] for k in "ACB"]) == 4, "C was used before its gather: 8 is right"
    buffers = [1, 2, 3]
    calls = []
    for _ in range(2):
        buffers[0] = sum(buffers)
        calls.append(buffers[0])
    assert calls == [6, 11]
