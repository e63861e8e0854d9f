"""Compiling is not hanging: a stack that compiles gets longer for the first call of each kind, and an end all the same.

The compiler is planted in the worker process: NumPy's adapter is given an allowance and a `compiled` that takes its
time for each shape, as real compilers do.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.measurement.patience import Patience, kind
from kernel_contracts.measurement.process import ArrayIn, Kernel
from kernel_contracts.stacks.base import stacks

HOSTILE = Path(__file__).parents[1] / "hostile" / "kernels.py"
SMALL, LARGE = np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)
PLANTED = """
import subprocess, time
from kernel_contracts.stacks.numpy import NumpyStack

def compiled(self, function):
    known = set()
    def run(x):
        if x.shape not in known:
            known.add(x.shape)
            {how}
        return function(x)
    return run

NumpyStack.compiling = {allowed}
NumpyStack.compiles_apart = lambda self, device: {apart}
NumpyStack.compiled = compiled
"""


WAITS, CALLS = "time.sleep({takes})", "subprocess.run(['sleep', '{takes}'])"


def planted(
    folder: Path, name: str, *, takes: float, allowed: float, timeout: float, apart: bool = False, how: str = WAITS,
    text: str = PLANTED,
) -> Kernel:  # fmt: skip
    written = text.format(how=how.format(takes=takes), allowed=allowed, apart=apart)
    (folder / "sitecustomize.py").write_text(written)
    source = str(Path(__file__).parents[2] / "src")
    path = os.pathsep.join([str(folder), source, *filter(None, [os.environ.get("PYTHONPATH")])])
    return Kernel(f"{HOSTILE}:{name}", timeout=timeout, memory_mb=512, environment={"PYTHONPATH": path})


def test_a_slow_compiler_is_waited_for_with_every_new_shape(tmp_path: Path) -> None:
    with planted(tmp_path, "honest", takes=1.0, allowed=30.0, timeout=0.5) as k:
        for x in (SMALL, LARGE, SMALL):
            result = k.call([ArrayIn("x", x)])
            assert result.outcome is Outcome.RETURNED, result.detail
            np.testing.assert_array_equal(result.outputs[0], x * 2)
        assert k.restarts == 0


def test_the_same_time_is_a_hang_where_nothing_is_compiled(tmp_path: Path) -> None:
    with planted(tmp_path, "honest", takes=3.0, allowed=0.0, timeout=0.5) as k:
        assert k.call([ArrayIn("x", SMALL)]).outcome is Outcome.HUNG


def test_a_compiler_is_waited_for_again_in_a_new_process(tmp_path: Path) -> None:
    with planted(tmp_path, "honest", takes=1.0, allowed=30.0, timeout=0.5) as k:
        assert k.call([ArrayIn("x", SMALL)]).outcome is Outcome.RETURNED
        k.close()
        assert k.call([ArrayIn("x", SMALL)]).outcome is Outcome.RETURNED


TIDIED = """
def tidy(self):
    forget.clear()
    return True

NumpyStack.tidy = tidy
"""


@pytest.mark.parametrize("said", [True, False])
def test_a_compiler_is_waited_for_again_after_its_code_was_let_go_of(tmp_path: Path, said: bool) -> None:
    text = PLANTED.replace("known = set()", "known = forget") + "forget = set()\n" + TIDIED
    text = text if said else text.replace("return True", "return False")
    with planted(tmp_path, "honest", takes=3.0, allowed=30.0, timeout=0.5, text=text) as k:
        outcomes = [k.call([ArrayIn("x", SMALL)]).outcome for _ in range(2)]
    assert outcomes == [Outcome.RETURNED, Outcome.RETURNED if said else Outcome.HUNG]


def test_a_hang_is_found_and_costs_the_longer_time_once(tmp_path: Path) -> None:
    with planted(tmp_path, "hang", takes=0.0, allowed=0.75, timeout=0.25) as k:
        said = [k.call([ArrayIn("x", x)]) for x in (SMALL, SMALL, LARGE, LARGE)]
    assert [r.outcome for r in said] == [Outcome.HUNG] * 4
    assert [r.detail.partition(";")[0] for r in said] == [f"no answer within {s} s" for s in ("1", "0.25", "1", "0.25")]


def test_a_compiler_of_its_own_is_waited_for_while_it_runs(tmp_path: Path) -> None:
    with planted(tmp_path, "honest", takes=3.0, allowed=30.0, timeout=1.0, apart=True, how=CALLS) as k:
        for x in (SMALL, LARGE, SMALL):
            result = k.call([ArrayIn("x", x)])
            assert result.outcome is Outcome.RETURNED, result.detail


@pytest.mark.parametrize(("how", "says"), [(WAITS, "within 1 s"), (CALLS, "within 3 s")])
def test_nothing_that_compiles_is_a_hang_and_so_is_a_compiler_without_an_end(
    tmp_path: Path, how: str, says: str
) -> None:
    with planted(tmp_path, "honest", takes=30.0, allowed=2.0, timeout=1.0, apart=True, how=how) as k:
        result = k.call([ArrayIn("x", SMALL)])
    assert result.outcome is Outcome.HUNG
    assert says in result.detail


def test_what_a_compiler_would_compile_anew_is_another_kind_of_call() -> None:
    base = kind([ArrayIn("x", SMALL)], {"axis": -1}, None)
    assert base == kind([ArrayIn("y", SMALL + 1)], {"axis": -1}, None)
    others = [
        kind([ArrayIn("x", LARGE)], {"axis": -1}, None),
        kind([ArrayIn("x", SMALL.astype(np.float16))], {"axis": -1}, None),
        kind([ArrayIn("x", SMALL)], {"axis": 0}, None),
        kind([ArrayIn("x", SMALL)], {"axis": -1}, {"index": 1}),
    ]
    assert len({base, *others}) == 5


@pytest.mark.parametrize("allowed", [0.0, 60.0])
def test_a_kernel_that_was_met_gets_its_limit(allowed: float) -> None:
    patience = Patience(30.0)
    patience.started(allowed)
    said = [patience.seconds(call) for call in ("a", "a", "b")]
    assert said == [(30 + allowed, 0), (30, 0), (30 + allowed, 0)]
    patience.started(allowed, apart=True)
    assert [patience.seconds(call) for call in ("a", "a", "b")] == [(30, allowed), (30, 0), (30, allowed)]


def test_the_stacks_that_compile_say_so() -> None:
    compiling = {"inductor", "jax", "jax_jit", "numba", "mlx", "opencl", "webgpu", "triton", "tinygrad", "tvm", "iree"}
    assert {s.name for s in stacks().values() if s.compiling > 0} == compiling
