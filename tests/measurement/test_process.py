"""A misbehaving kernel gets its outcome, and the call after it works."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.measurement import family
from kernel_contracts.measurement.process import ArrayIn, CallResult, Kernel

HOSTILE = Path(__file__).parents[1] / "hostile" / "kernels.py"
X = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


def kernel(name: str, **settings: object) -> Kernel:
    return Kernel(f"{HOSTILE}:{name}", **{"timeout": 20.0, "memory_mb": 512, **settings})  # type: ignore[arg-type]


def call(name: str, **settings: object) -> CallResult:
    with kernel(name, **settings) as k:
        return k.call([ArrayIn("x", X)])


@pytest.fixture(scope="module")
def honest() -> Iterator[Kernel]:
    with kernel("honest") as k:
        yield k


def test_an_honest_kernel_returns_its_output(honest: Kernel) -> None:
    result = honest.call([ArrayIn("x", X)])
    assert result.outcome is Outcome.RETURNED
    np.testing.assert_array_equal(result.outputs[0], X * 2)
    assert (result.dtypes, result.mutated, result.aliased, result.defect) == (("fp32",), (), (), "")
    assert 0 < result.seconds < 5
    assert result.state["flush_to_zero"] is result.state["before"]["flush_to_zero"] is False
    assert result.state["rounding"] == "nearest"


ENDS = [
    ("segfault", Outcome.CRASHED, "SIGSEGV"),
    ("abort", Outcome.CRASHED, "SIGABRT"),
    ("vanish", Outcome.CRASHED, "exited with status 3"),
    ("kill_itself", Outcome.CRASHED, "SIGKILL"),
    ("recurse_in_c", Outcome.CRASHED, "SIGSEGV"),
    ("close_everything", Outcome.CRASHED, "closed the control channel"),
    ("garbage_everywhere", Outcome.CRASHED, "tampered with the control channel"),
    ("forge", Outcome.CRASHED, "without the session's secret word"),
    ("endless_line", Outcome.CRASHED, "tampered with the control channel"),
    ("steal_the_word", Outcome.CRASHED, "outputs that are not there"),
    ("leave", Outcome.RAISED, "SystemExit: 3"),
    ("interrupt", Outcome.RAISED, "KeyboardInterrupt"),
    ("raise_value_error", Outcome.RAISED, "ValueError: rank 7 is not supported (kernels.py:"),
    ("raise_unprintable", Outcome.RAISED, "Nasty: (its text cannot be read)"),
    ("recurse", Outcome.RAISED, "RecursionError"),
    ("eat_memory", Outcome.OUT_OF_MEMORY, "MemoryError"),
    ("eat_shared_memory", Outcome.OUT_OF_MEMORY, "MiB of memory"),
    ("huge_view", Outcome.OUT_OF_MEMORY, "the limit is 512 MiB"),
]


@pytest.mark.parametrize(("name", "outcome", "words"), ENDS, ids=[e[0] for e in ENDS])
def test_each_end_is_named_and_the_next_call_works(name: str, outcome: Outcome, words: str) -> None:
    with kernel(name) as k:
        for _ in range(2):
            result = k.call([ArrayIn("x", X)])
            assert (result.outcome, words in result.detail) == (outcome, True), result
            assert result.outputs == ()
        assert k.restarts == (outcome is Outcome.CRASHED or name == "eat_shared_memory")
        if outcome is Outcome.RAISED:
            assert result.error_type == words.partition(":")[0]


@pytest.mark.parametrize("name", ["hang", "hang_in_c", "hang_printing"])
def test_a_hang_ends_at_the_time_limit(name: str) -> None:
    began = time.monotonic()
    result = call(name, timeout=0.5)
    assert result.outcome is Outcome.HUNG
    assert "no answer within 0.5 s" in result.detail
    assert time.monotonic() - began < 10


def test_a_hang_says_where_it_is() -> None:
    assert f'{HOSTILE}", line' in call("hang", timeout=0.3).detail


def test_memory_of_children_counts() -> None:
    result = call("eat_memory_in_children", memory_mb=300)
    assert result.outcome is Outcome.OUT_OF_MEMORY
    assert "the limit is" in result.detail


def test_a_crash_shows_the_line(honest: Kernel) -> None:
    assert "in segfault" in call("segfault").printed


def test_an_interrupted_session_starts_a_fresh_worker() -> None:
    class Stop(Exception):
        pass

    with kernel("honest") as k:
        k.load()
        worker = k._worker
        assert worker is not None

        def fail(*_: object) -> None:
            raise Stop

        worker.expect = fail  # type: ignore[method-assign, assignment]
        with pytest.raises(Stop):
            k.call([ArrayIn("x", X)])
        assert not worker.alive
        assert k.call([ArrayIn("x", X)]).outcome is Outcome.RETURNED
        assert k.restarts == 1


@pytest.mark.parametrize("name", ["fork_and_hang", "fork_and_answer", "daemonize", "leave_thread"])
def test_what_a_kernel_leaves_behind_dies_with_its_worker(name: str) -> None:
    k = kernel(name)
    try:
        for _ in range(2):
            result = k.call([ArrayIn("x", X)])
            assert result.outcome is Outcome.RETURNED
            np.testing.assert_array_equal(result.outputs[0], X * 2)
        assert k.restarts == 0
        assert k._worker is not None
        time.sleep(0.05)
        left = [pid for pid in family.descendants(k._worker.process.pid) if _runs(pid)]
        assert bool(left) == (name in ("fork_and_hang", "daemonize"))
    finally:
        k.close()
    deadline = time.monotonic() + 5
    while any(_runs(pid) for pid in left) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(_runs(pid) for pid in left)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_a_thread_left_behind_shows_in_the_state() -> None:
    state = call("leave_thread").state
    assert state["threads"] == state["before"]["threads"] + 1


def test_dying_between_two_calls_is_noticed() -> None:
    with kernel("die_later") as k:
        assert k.call([ArrayIn("x", X)]).outcome is Outcome.RETURNED
        time.sleep(0.4)
        again = k.call([ArrayIn("x", X)])
    assert again.state["died_before"] == "killed by SIGABRT"
    assert k.restarts == 1


def test_a_worker_outlives_the_thread_that_started_it() -> None:
    with kernel("count_calls") as k:
        thread = threading.Thread(target=k.load)
        thread.start()
        thread.join()
        time.sleep(0.1)
        assert k.call([ArrayIn("x", X)]).outputs[0] == 1
        assert k.restarts == 0


def test_a_forked_copy_of_the_session_leaves_the_worker_alone() -> None:
    with kernel("honest") as k:
        k.load()
        child = os.fork()
        if child == 0:
            k.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert k.call([ArrayIn("x", X)]).outcome is Outcome.RETURNED
        assert k.restarts == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_nothing_leaks_in_the_session(honest: Kernel) -> None:
    call("segfault")
    before = len(os.listdir("/proc/self/fd"))
    for name in ("segfault", "close_everything", "honest"):
        call(name)
    assert len(os.listdir("/proc/self/fd")) == before


WRONG = [
    ("returns_list", "returned object is not an array: it is a list"),
    ("returns_none", "it is a NoneType"),
    ("returns_float", "it is a float"),
    ("returns_text", "it is a str"),
    ("returns_empty_tuple", "an empty tuple"),
    ("returns_nested", "item 1 of the returned tuple is not an array: it is a tuple"),
    ("returns_objects", "dtype object"),
    ("returns_dates", "datetime64"),
    ("returns_matrix", "MaskedArray, a subclass of numpy.ndarray"),
    ("returns_lazy", "a subclass of numpy.ndarray"),
    ("returns_generator", "it is a generator"),
]


@pytest.mark.parametrize(("name", "words"), WRONG, ids=[w[0] for w in WRONG])
def test_an_object_of_the_wrong_type_is_a_defect(name: str, words: str) -> None:
    result = call(name)
    assert (result.outcome, result.defect) == (Outcome.RETURNED, "wrong_type")
    assert words in result.detail


def test_outputs_keep_their_own_dtype_and_shape() -> None:
    assert call("returns_fp64").dtypes == ("fp64",)
    assert call("returns_complex").dtypes == ("complex64",)
    assert np.isnan(call("returns_nan").outputs[0]).all()
    scalar = call("returns_scalar").outputs[0]
    assert (scalar.shape, scalar.dtype, scalar[()]) == ((), np.float32, 1.0)
    two = call("returns_two")
    assert (two.dtypes, [o.shape for o in two.outputs]) == (("fp32", "fp32"), [(2, 3), ()])
    swapped = call("returns_big_endian")
    np.testing.assert_array_equal(swapped.outputs[0], X)
    assert swapped.dtypes == ("fp32",)


def test_printing_is_kept_short_and_apart() -> None:
    result = call("print_a_lot")
    assert result.outcome is Outcome.RETURNED
    assert len(result.printed) <= 2000
    assert result.printed.endswith("the end\n")
    assert call("print_without_newline").printed == "half a line"


def test_a_worker_sees_neither_descriptors_by_name_nor_the_session(honest: Kernel) -> None:
    assert call("see_arguments").printed.startswith(f"['{HOSTILE}'] []")


def test_switches_left_on_are_seen() -> None:
    with kernel("flush_subnormals") as k:
        first, second = (k.call([ArrayIn("x", X)]).state for _ in range(2))
    assert (first["before"]["flush_to_zero"], first["flush_to_zero"], first["denormals_are_zero"]) == (0, 1, 1)
    assert second["before"]["flush_to_zero"] is True


def test_scalars_go_by_name_where_the_signature_takes_them() -> None:
    with kernel("scaled") as k:
        result = k.call([ArrayIn("x", X)], {"shift": np.float32(0.5), "scale": 3, "eps": 1e-5, "x": 1})
        assert result.dropped == ("eps", "x")
        np.testing.assert_array_equal(result.outputs[0], X * 3 + np.float32(0.5))
        report = k.load()
        assert report.parameters == ("x", "scale", "shift")
        assert [report.accepts(s, 1) for s in ("x", "scale", "eps")] == [False, True, False]
        with pytest.raises(UsageError, match="scale"):
            k.call([ArrayIn("x", X)], {"scale": 1j})
    with kernel("everything") as k:
        assert k.call([ArrayIn("x", X)], {"alpha": 0.1}).outputs[0] == 0.1 * 21
    with Kernel("numpy:matmul") as k:
        assert k.call([ArrayIn("a", X), ArrayIn("b", X.T)], {"eps": 1.0}).dropped == ("eps",)


def test_formats_that_do_not_exist_are_refused(honest: Kernel) -> None:
    with pytest.raises(ArithmeticScopeError, match="fp7"):
        honest.call([ArrayIn("x", X)], poison=[((2, 3), "fp7")])
    with pytest.raises(TypeError, match="object"):
        honest.call([ArrayIn("x", np.array([None]))])
    assert honest.call([ArrayIn("x", X)]).outcome is Outcome.RETURNED


@pytest.mark.parametrize("limits", [{"timeout": 0.0}, {"memory_mb": 0}, {"timeout": float("nan")}])
def test_limits_must_be_positive(limits: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="positive"):
        kernel("honest", **limits)


def test_the_environment_and_directory_reach_the_worker(tmp_path: Path) -> None:
    (tmp_path / "here.py").write_text(
        "import os, numpy as np\ndef f(x):\n    print(os.environ['OMP_NUM_THREADS'], os.getcwd())\n    return x\n"
    )
    with Kernel("here:f", environment={"OMP_NUM_THREADS": "1"}, working_directory=tmp_path) as k:
        assert k.call([ArrayIn("x", X)]).printed == f"1 {tmp_path}\n"
        assert k.load().fingerprint["environment"]["OMP_NUM_THREADS"] == "1"
