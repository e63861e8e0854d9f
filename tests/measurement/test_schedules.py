"""Spaces of schedules as kernels expose them, and what each way to go wrong is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import kernels_in_process as kp
import numpy as np
import pytest

from kernel_contracts.casebook.small_tuner import Config, autotune
from kernel_contracts.contracts.evidence import Observation, Outcome
from kernel_contracts.errors import TargetError
from kernel_contracts.functions import InProcess
from kernel_contracts.measurement.calls import ArrayIn, Way
from kernel_contracts.measurement.candidates import Candidates
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.faults import faults
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.schedule_space import Schedules, Space
from kernel_contracts.measurement.scheduling import MOST, try_all
from kernel_contracts.stacks.base import find

SUM = kp.contract("sum-schedules")
MATMUL = kp.contract("matmul-schedules")
ADD = kp.contract("add-schedules")
CUMSUM = kp.contract("cumsum-schedules")
DIMS = {"R": 5, "N": 70}
EXPERIMENT = experiments()["schedules"]


def space(function: Callable[..., Any], parameter: str = "schedule") -> Space:
    return Schedules(function, parameter).space(DIMS)


def observed(pair: Any, kernel: Any, family: str = "normal", **dims: int) -> Observation:
    callee = kernel if hasattr(kernel, "call") else InProcess(kernel, find("numpy"))
    session = kp.session(pair, callee, mutants=("accumulate", "partial", "drop_tail"))
    case = kp.case(pair, family, 3, **(dims or DIMS))
    seen = EXPERIMENT.measure(session, case)
    (finished,) = EXPERIMENT.finish(session, [seen])
    return finished


def total(x: Any, step: int) -> Any:
    out = np.zeros(len(x), x.dtype)
    for start in range(0, x.shape[-1], step):
        out = out + x[:, start : start + step].sum(axis=-1)
    return out


# --------------------------------------------------------------------------------------------------- exposing a space


def by_list(x: Any, *, schedule: Any = 16) -> Any:
    return total(x, schedule)


def test_a_list_a_dict_and_a_function_of_the_sizes_are_spaces() -> None:
    by_list.schedules = [8, 16, 64]  # type: ignore[attr-defined]
    assert space(by_list) == Space("parameter", ("8", "16", "64"), (8, 16, 64))
    by_list.schedules = {"small": 8, "large": 64}  # type: ignore[attr-defined]
    assert space(by_list).labels == ("small", "large")

    def of_sizes(N: int) -> Iterator[int]:
        yield from (n for n in (8, 64, 512) if n <= N)

    by_list.schedules = of_sizes  # type: ignore[attr-defined]
    assert space(by_list) == Space("parameter", ("8", "64"), (8, 64))
    by_list.schedules = lambda dims: [dims["R"]]  # type: ignore[attr-defined]
    assert space(by_list).labels == ("5",)
    by_list.schedules = lambda: [{"tile": 4, "num_warps": 8}] * 2  # type: ignore[attr-defined]
    assert space(by_list) == Space("parameter", ("tile=4, num_warps=8", "tile=4, num_warps=8 #2"), (4,))
    del by_list.schedules  # type: ignore[attr-defined]
    assert space(by_list) == Space()


def test_a_schedule_may_fill_keyword_parameters() -> None:
    def kernel(x: Any, *, tile: int = 16, unroll: int = 1) -> Any:
        return total(x, tile * unroll)

    kernel.schedules = [{"tile": 8}, {"tile": 16, "unroll": 2}]  # type: ignore[attr-defined]
    assert space(kernel).how == "keywords"
    seen = observed(SUM, kernel)
    assert not seen.violating
    assert (seen.facts["space"], seen.readings["schedules"]) == ("keywords", 2.0)


def test_a_kernel_that_cannot_be_called_without_a_schedule_is_called_with_the_first() -> None:
    def kernel(x: Any, schedule: int) -> Any:
        return total(x, schedule)

    kernel.schedules = (4, 32)  # type: ignore[attr-defined]
    assert space(kernel).required
    assert not observed(SUM, kernel).violating


@pytest.mark.parametrize(
    ("schedules", "says"),
    [
        (3, "the schedules of the kernel are of type int: give a list"),
        ("fast", "the schedules of the kernel are of type str"),
        (lambda: 1 / 0, "cannot be read: ZeroDivisionError"),
        ((1 / n for n in (1, 0)), "cannot be read: ZeroDivisionError"),
    ],
)
def test_a_space_that_cannot_be_read_is_said_in_a_sentence(schedules: Any, says: str) -> None:
    def kernel(x: Any, *, schedule: Any = None) -> Any:
        return x

    kernel.schedules = schedules  # type: ignore[attr-defined]
    with pytest.raises(TargetError, match=says):
        space(kernel)


def test_schedules_without_a_way_to_choose_one_are_refused() -> None:
    def kernel(x: Any) -> Any:
        return x

    kernel.schedules = [1, 2]  # type: ignore[attr-defined]
    with pytest.raises(TargetError, match="kernel has schedules but no way to choose one: give it a parameter"):
        space(kernel)


def test_an_endless_generator_is_read_up_to_a_limit() -> None:
    def kernel(x: Any, *, schedule: int = 1) -> Any:
        return x

    def endless() -> Iterator[int]:
        n = 0
        while True:
            yield (n := n + 1)

    kernel.schedules = endless  # type: ignore[attr-defined]
    assert len(space(kernel).labels) == 1024


# --------------------------------------------------------------------------------------------------------- autotuners


def fits(configs: Any, named: Any, **_: Any) -> Any:
    return [c for c in configs if c.kwargs["BLOCK"] <= 64]


@autotune([Config({"BLOCK": 16}), Config({"BLOCK": 64}), Config({"BLOCK": 4096})], key=["n"], prune=fits)
def _rows(x: Any, out: Any, n: int, BLOCK: int) -> None:
    if BLOCK == 4096:
        raise AssertionError("left out by the tuner, so nobody may run it")
    out[...] = total(x, BLOCK)


def tuned(x: Any) -> Any:
    out = np.empty(len(x), x.dtype)
    _rows[(1,)](x, out, x.shape[1])
    return out


def test_the_tuner_that_the_kernels_code_uses_is_its_space() -> None:
    found = space(tuned)
    assert (found.how, found.tiles) == ("autotuner", (16, 64, 4096))
    assert found.labels[0] == "BLOCK: 16, num_warps: 4, num_stages: 3"


def test_what_a_tuner_leaves_out_is_not_held_against_it() -> None:
    seen = observed(SUM, tuned)
    assert not seen.violating
    assert seen.facts["refused"].startswith("BLOCK: 4096")
    assert (seen.readings["schedules"], seen.readings["refused"]) == (3.0, 1.0)


def test_a_tuner_is_as_it_was_after_each_call() -> None:
    before = (_rows.configs, dict(_rows.cache))
    schedules = Schedules(tuned, "schedule")
    with schedules.applied(DIMS, 1) as extra:
        assert extra == {}
        tuned(np.ones((3, 70), np.float32))
        assert str(_rows.best_config).startswith("BLOCK: 64")
    assert (_rows.configs, _rows.cache) == before
    assert "prune_configs" not in vars(_rows)


# ------------------------------------------------------------------------------------------------- what goes wrong


def with_space(function: Callable[..., Any], *schedules: Any) -> Callable[..., Any]:
    function.schedules = list(schedules)  # type: ignore[attr-defined]
    return function


def test_no_space_leaves_calls_and_processes_to_compare() -> None:
    seen = observed(SUM, lambda x: x.sum(axis=-1))
    assert not seen.violating
    assert seen.facts == {"space": "none"}
    assert (seen.readings["schedules"], seen.readings["calls"]) == (0.0, 2.0)


def test_a_schedule_that_raises_is_counted_and_not_accused() -> None:
    def kernel(x: Any, *, schedule: int = 7) -> Any:
        if x.shape[1] % schedule:
            raise ValueError("the tile does not divide the row")
        return total(x, schedule)

    seen = observed(SUM, with_space(kernel, 7, 16), R=3, N=70)
    assert not seen.violating
    assert seen.facts["refused"] == "16"


def test_a_remainder_dropped_under_one_schedule_is_found_at_that_tile() -> None:
    def kernel(x: Any, *, schedule: int = 8) -> Any:
        stop = x.shape[1] // schedule * schedule if schedule == 24 else x.shape[1]
        return total(x[:, :stop], schedule)

    seen = observed(SUM, with_space(kernel, 8, 24, 32), R=3, N=70)
    assert seen.violating
    assert seen.facts["schedule"] == "24"
    assert seen.readings["right_schedules"] == 2.0
    label, left = min(seen.hypotheses.items(), key=lambda kv: kv[1])
    assert label.startswith("drop_tail(24)")
    assert left < 1e-3
    found = kp.judge(SUM, [seen])
    assert found.signature.name == "tail_dropped"
    assert found.signature.detail.startswith("under schedule 24: ")


def test_an_accumulator_narrowed_under_one_schedule() -> None:
    def kernel(x: Any, *, schedule: str = "wide") -> Any:
        if schedule == "wide":
            return x.sum(axis=-1)
        return np.add.accumulate(x.astype(np.float16), axis=-1, dtype=np.float16)[:, -1].astype(x.dtype)

    seen = [observed(SUM, with_space(kernel, "wide", "narrow"), f, R=3, N=600) for f in ("normal", "positive")]
    found = kp.judge(SUM, seen)
    assert found.signature.name == "accumulator_narrowed", found
    assert found.signature.detail.startswith("under schedule narrow: ")


def test_a_wrong_schedule_that_nothing_explains_is_called_dependent() -> None:
    def kernel(x: Any, *, schedule: int = 0) -> Any:
        return x.sum(axis=-1) + np.float32(1e-2 * schedule)

    found = kp.judge(SUM, [observed(SUM, with_space(kernel, 0, 1, 0))])
    assert found.signature.name == "schedule_dependent"
    assert "under schedule 1 5 of 5 elements" in found.signature.detail
    assert "2 other schedules are right" in found.signature.detail


def test_bits_that_are_promised_across_schedules() -> None:
    def kernel(x: Any, *, schedule: int = 1) -> Any:
        return total(x, schedule)

    scope = "sum for P in {fp32} (x: P[R, N]; schedule: schedules) -> y: P[R]"
    post = "y within tolerance of reference and y bitwise equal across schedules"
    promised = kp.written(scope, "y = sum(x, axis = -1)", pre="R, N in 1..1024", post=post)
    seen = observed(promised, with_space(kernel, 1, 9, 64))
    assert seen.defect == "schedule_dependent"
    assert seen.detail.startswith("1 and 9 give other bits: up to ")
    assert not observed(SUM, kernel).violating, "within the bound is enough where bits are not promised"


def test_an_answer_that_moves_after_the_first_call() -> None:
    state = {"calls": 0}

    def kernel(A: Any, B: Any) -> Any:
        state["calls"] += 1
        y = A @ B
        return y if state["calls"] == 1 else np.nextafter(y, np.float32(np.inf))

    seen = observed(MATMUL, kernel, M=4, N=5, K=40)
    assert seen.defect == "first_call_differs"
    assert seen.detail.startswith("first call and second call give other bits")


def test_a_first_call_that_is_right_and_later_ones_that_are_not() -> None:
    seen_sizes: set[Any] = set()

    def kernel(x: Any) -> Any:
        again = x.shape in seen_sizes
        seen_sizes.add(x.shape)
        return x.sum(axis=-1) * np.float32(1.01 if again else 1)

    seen = observed(SUM, kernel)
    assert seen.defect == "first_call_differs"
    assert seen.detail.startswith("the first call is right, the call on other inputs")


def test_a_kernel_that_is_wrong_on_other_inputs_is_wrong_there_whatever_came_before(tmp_path: Path) -> None:
    """Sums of ones are right, sums in fp16 of anything else are not: the order of calls has nothing to do with it."""
    (tmp_path / "k.py").write_text(
        "import numpy as np\n"
        "def narrow(x):\n"
        "    return np.add.accumulate(x.astype(np.float16), axis=-1, dtype=np.float16)[:, -1].astype(x.dtype)\n"
        "seen = []\n"
        "def second(x):\n"
        "    seen.append(1)\n"
        "    return x.sum(axis=-1) * np.float32(1.01 if len(seen) == 2 else 1)\n"
    )
    for name, defect in (("narrow", ""), ("second", "first_call_differs")):
        with Kernel(f"{tmp_path}/k.py:{name}") as kernel:
            session = kp.session(SUM, kernel)
            case = kp.case(SUM, "ones", R=3, N=40)
            seen = EXPERIMENT.measure(session, case)
            assert seen.violating, name
            assert seen.defect == defect, (name, seen.detail)
            # the case is the one to run again: of the inputs themselves, or of the calls in their order
            assert (seen.case == case) is bool(defect)
            if not defect:
                assert seen.case.family == "normal"
                again = EXPERIMENT.measure(kp.session(SUM, kernel), seen.case)
                assert again.outputs[0].worst == seen.outputs[0].worst


def test_arrays_passed_as_out_count_as_the_answer() -> None:
    def kernel(x: Any, *, out: Any = None, schedule: int = 0) -> Any:
        made = np.zeros(len(x), x.dtype) if out is None else out
        stop = len(x) if schedule == 0 or out is None else len(x) // 2
        made[:stop] = x.sum(axis=-1)[:stop]
        return made

    seen = observed(SUM, with_space(kernel, 0, 1), R=6, N=20)
    assert seen.defect == "unwritten_output"
    assert seen.detail == "under schedule 1: 3 of 6 elements were never written, the first at [3]"


def test_a_large_space_is_gone_through_from_case_to_case() -> None:
    def kernel(x: Any, *, schedule: int = 1) -> Any:
        return total(x, schedule)

    session = kp.session(SUM, InProcess(with_space(kernel, *range(1, 41)), find("numpy")))
    asked: set[str] = set()
    for k in range(3):
        case = replace(kp.case(SUM, **DIMS), id=k)
        trial = try_all(session, case, session.inputs(case))
        assert trial.asked == MOST
        asked |= {a.label for a in trial.of("schedule")}
    assert len(asked) == 40


def test_sizes_around_the_tiles_are_added_to_the_cases() -> None:
    def kernel(x: Any, *, schedule: int = 1) -> Any:
        return total(x, schedule)

    session = kp.session(SUM, InProcess(with_space(kernel, 48, 120), find("numpy")))
    cases = kp.planned(SUM, 1)
    more = EXPERIMENT.completed(session, cases)[len(cases) :]
    assert {c.shape_family for c in more} <= {"tile 48", "tile 120"}
    assert {119, 121} <= {n for c in more for n in c.dims.values()}
    assert len({c.id for c in [*cases, *more]}) == len(cases) + len(more)
    assert EXPERIMENT.completed(kp.session(SUM, lambda x: x), cases) == cases


# ------------------------------------------------------------------------------------------------------- our own faults


@pytest.mark.parametrize("pair", [SUM, MATMUL, ADD, CUMSUM], ids=lambda p: p[0].name)
def test_our_candidates_conform(pair: Any) -> None:
    for family in ("normal", "exact", "positive"):
        dims = {"M": 5, "N": 9, "K": 50} if pair is MATMUL else DIMS
        assert not observed(pair, Candidates(*pair), family, **dims).violating


@pytest.mark.parametrize(
    ("name", "defect"),
    [
        ("one_row_written", "unwritten_output"),
        ("shared_output", "unwritten_output"),
        ("keeps_buffer", "stale_output"),
        ("adds_again", "stale_output"),
        ("carries_miscounted", ""),
        ("tuning_trace", "tuning_leaves_trace"),
    ],
)
def test_each_fault_is_called_by_its_name(name: str, defect: str) -> None:
    seen = observed(CUMSUM, faults()[name].wrap(*CUMSUM, Candidates(*CUMSUM), ()))
    assert seen.violating
    assert seen.defect == defect
    assert seen.facts.get("schedule", "5: blocked(32)")[0] in "45"


def test_a_schedule_fitted_to_the_first_sizes_depends_on_what_the_process_met() -> None:
    kernel = faults()["tuned_for_first_shape"].wrap(*SUM, Candidates(*SUM), ())
    session = kp.session(SUM, kernel)
    first, later = kp.case(SUM, R=3, N=64), kp.case(SUM, R=5, N=70)
    assert not EXPERIMENT.measure(session, first).violating
    seen = EXPERIMENT.measure(session, later)
    assert seen.defect == "cache_dependent"
    assert seen.detail.endswith("right: fresh process, empty caches")


# ------------------------------------------------------------------------------------------------------ in its process

KERNELS = '''
import os, pathlib
import numpy as np

SCHEDULES = [{"tile": 16}, {"tile": 64}]

def sums(x, *, schedule=None):
    return x.sum(axis=-1)

def half(x, *, schedule=None):
    out = np.empty(len(x), x.dtype)
    stop = len(x) // 2 if schedule and schedule["tile"] == 64 else len(x)
    out[:stop] = x.sum(axis=-1)[:stop]
    return out

def remembers(x):
    """Tunes once a machine, and reads the result back wrongly."""
    note = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "/nonexistent")) / "tuned"
    if note.exists():
        return x[:, :-1].sum(axis=-1)
    if note.parent.exists():
        note.write_text("tile 16")
    return x.sum(axis=-1)

def dies(x, *, schedule=None):
    if schedule and schedule["tile"] == 64:
        os._exit(3)
    return x.sum(axis=-1)

def unreadable(x, *, schedule=None):
    return x

unreadable.schedules = 7
'''


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schedules") / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    return path


def test_a_worker_tells_the_space_and_calls_under_a_schedule(kernels: Path) -> None:
    with Kernel(f"{kernels}:sums") as kernel:
        assert kernel.schedules("schedule", DIMS) == Space("parameter", ("tile=16", "tile=64"), (16, 64))
        x = np.ones((2, 3), np.float32)
        result = kernel.call([ArrayIn("x", x)], poison=[((2,), "fp32")], way=Way("schedule", DIMS, 1))
        assert result.outcome is Outcome.RETURNED
        assert result.outputs[0].tolist() == [3.0, 3.0]
    with Kernel(f"{kernels}:unreadable") as kernel, pytest.raises(TargetError, match=r"unreadable.*are of type int"):
        kernel.schedules("schedule", DIMS)


def test_memory_that_a_schedule_leaves_unwritten_is_poisoned(kernels: Path) -> None:
    with Kernel(f"{kernels}:half") as kernel:
        seen = observed(SUM, kernel, R=40, N=20)
    assert seen.defect == "unwritten_output"
    assert seen.detail == "under schedule tile=64: 20 of 40 elements were never written, the first at [20]"


def test_a_cache_on_disk_that_is_read_back_wrongly(kernels: Path) -> None:
    with Kernel(f"{kernels}:remembers") as kernel:
        seen = observed(SUM, kernel, R=4, N=20)
    assert seen.defect == "cache_dependent"
    assert seen.detail.startswith("fresh process, filled caches: ")


def test_a_schedule_that_ends_its_process_is_an_outcome(kernels: Path) -> None:
    with Kernel(f"{kernels}:dies") as kernel:
        seen = observed(SUM, kernel, R=4, N=20)
    assert seen.outcome is Outcome.CRASHED
    assert seen.facts["schedule"] == "tile=64"
    assert "tile=64" in seen.detail
