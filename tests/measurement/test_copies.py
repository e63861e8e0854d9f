"""Workers as copies of a process that has loaded their stack: as good as new, and no harm where there is none."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import UsageError
from kernel_contracts.measurement import copies
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.original import HANDED
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.supervise import Supervised

KERNELS = '''
import os, random, threading

import numpy as np

SEEN = []


def birth(x):
    """Its parent, its threads, whether it leads a group, and two numbers drawn without a seed."""
    return np.asarray([os.getppid(), threading.active_count(), os.getpid() == os.getpgid(0),
                       np.random.random(), random.random()])


def calls(x):
    SEEN.append(1)
    return np.asarray([float(len(SEEN))])


def place(x):
    print(os.getcwd())
    return x


def crash(x):
    os.abort()


def parricide(x):
    """Ends what it was copied from first, where that is not the session."""
    with open(f"/proc/{os.getppid()}/cmdline", "rb") as stream:
        copied = b"kernel_contracts.stacks" in stream.read()
    if copied:
        os.kill(os.getppid(), 9)
    os.abort()


def descriptors(x):
    """Sockets that it can speak through."""
    there = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
    return np.asarray([float(sum(os.readlink(p).startswith("socket:") for p in there if os.path.lexists(p)))])
'''

OFFERS = """
import socket, sys, threading, time
from kernel_contracts.measurement.original import offer
{before}
offer(socket.socket(fileno=int(sys.argv[1])), lambda fds, me: time.sleep(60))
"""

SESSION = """
import sys, time
from kernel_contracts.measurement.process import Kernel
kernel = Kernel(sys.argv[1])
kernel.load()
print(kernel._worker.process.pid, kernel._worker.process._original._process.pid, flush=True)
time.sleep(60)
"""

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"), reason="processes are copied on Linux"
)


@pytest.fixture(autouse=True)
def of_this_test() -> Iterator[None]:
    """Originals of this test alone."""
    before = dict(copies._originals)
    copies._originals.clear()
    yield
    for original in copies._originals.values():
        if original is not None:
            original.close()
    copies._originals.clear()
    copies._originals.update(before)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("copied") / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    return path


X = [ArrayIn("x", np.zeros(1))]


def asked(kernel: Kernel) -> np.ndarray:
    result = kernel.call(X)
    assert result.outcome is Outcome.RETURNED, result.detail
    return result.outputs[0]


def originals() -> list[int]:
    return [o._process.pid for o in copies._originals.values() if o is not None]


def test_kernels_of_one_stack_are_copies_of_one_original(file: Path) -> None:
    with Kernel(f"{file}:birth") as one, Kernel(f"{file}:birth") as other:
        a, b = asked(one), asked(other)
    assert len(originals()) == 1
    assert a[0] == b[0] == originals()[0]
    assert a[1] == b[1] == 1
    assert a[2] == b[2] == 1
    assert not set(a[3:]) & set(b[3:])  # random numbers of their own


def test_copies_of_one_generator_draw_numbers_of_their_own(file: Path, tmp_path: Path) -> None:
    """Where the original has seeded NumPy's generator already, as it has once a library imported it."""
    (tmp_path / "sitecustomize.py").write_text("import numpy.random")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2] / "src")])
    kernels = [Kernel(f"{file}:birth", environment={"PYTHONPATH": path}) for _ in range(3)]
    try:
        born = [asked(kernel) for kernel in kernels]
    finally:
        for kernel in kernels:
            kernel.close()
    assert {b[0] for b in born} == {originals()[0]}
    assert len({number for b in born for number in b[3:]}) == 6


def test_a_copy_has_run_nothing(file: Path) -> None:
    for _ in range(3):
        with Kernel(f"{file}:calls") as kernel:
            assert asked(kernel) == 1
            assert asked(kernel) == 2


def test_a_copy_has_no_line_to_its_original(file: Path) -> None:
    with Kernel(f"{file}:descriptors") as first, Kernel(f"{file}:descriptors") as second:
        assert asked(first) == asked(second) == 0


def test_a_copy_works_where_its_kernel_is(file: Path, tmp_path: Path) -> None:
    for directory in (tmp_path, file.parent):
        with Kernel(f"{file}:place", working_directory=directory) as kernel:
            assert kernel.call(X).printed.strip() == str(directory)
    assert len(originals()) == 1


def test_what_must_differ_from_process_to_process_is_no_copy(file: Path) -> None:
    with Kernel(f"{file}:birth") as kernel, kernel.spawn({}) as other:
        kernel.load()
        assert asked(other)[0] == os.getpid()


def test_another_environment_is_another_original(file: Path) -> None:
    with Kernel(f"{file}:birth") as one, Kernel(f"{file}:birth", environment={"OMP_NUM_THREADS": "1"}) as other:
        assert asked(one)[0] != asked(other)[0]
    assert len(originals()) == 2


def test_how_a_copy_ended_is_known(file: Path) -> None:
    with Kernel(f"{file}:crash") as kernel:
        for _ in range(2):
            result = kernel.call(X)
            assert (result.outcome, result.detail) == (Outcome.CRASHED, "killed by SIGABRT")
    assert [o.copies for o in copies._originals.values() if o is not None] == [0]


def test_two_threads_may_wait_for_one_copy(file: Path) -> None:
    """And learn the same; nobody else's copy suffers."""
    with Kernel(f"{file}:calls") as other, Kernel(f"{file}:calls") as kernel:
        assert asked(other) == 1
        kernel.load()
        assert kernel._worker is not None
        process = kernel._worker.process
        with ThreadPoolExecutor(8) as pool:
            told = [pool.submit(process.wait, 30) for _ in range(8)]
            os.kill(process.pid, signal.SIGTERM)
            assert [t.result() for t in told] == [-signal.SIGTERM] * 8
        assert asked(other) == 2


def test_a_system_that_makes_no_copy_ends_none() -> None:
    with offering("import kernel_contracts.measurement.original as o; o._forked = lambda: -1") as (door, _):
        assert [asked_for_a_copy(door) for _ in range(2)] == [b'{"pid": 0}'] * 2


def test_a_killed_original_is_no_fault_of_the_kernel(file: Path) -> None:
    with Kernel(f"{file}:calls") as kernel:
        assert asked(kernel) == 1
        (before,) = originals()
        os.kill(before, signal.SIGKILL)
        until(lambda: kernel._worker is None or not kernel._worker.alive)
        result = kernel.call(X)
        assert (result.outcome, result.outputs[0].tolist(), result.state.get("died_before")) == (
            Outcome.RETURNED,
            [1.0],
            None,
        )
    with Kernel(f"{file}:birth") as other:
        assert asked(other)[0] not in (before, os.getpid())  # there is a new one


def test_killing_the_original_hides_no_crash(file: Path) -> None:
    with Kernel(f"{file}:parricide") as kernel:
        for _ in range(2):
            result = kernel.call(X)
            assert (result.outcome, result.detail) == (Outcome.CRASHED, "killed by SIGABRT")


def test_an_original_killed_while_a_kernel_loads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = Supervised.expect

    def expect(self: Supervised, *asked: Any) -> Any:
        for pid in originals():
            os.kill(pid, signal.SIGKILL)
        until(lambda: not isinstance(self.process, copies.Copy) or not self.alive)
        return started(self, *asked)

    monkeypatch.setattr(Supervised, "expect", expect)
    with Kernel(f"{file}:calls") as kernel:
        assert asked(kernel) == 1


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not done() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert done()


def test_a_missing_library_is_told_of_as_before(file: Path) -> None:
    with pytest.raises(UsageError, match="there is no stack 'nothing'"):
        Kernel(f"{file}:birth", stack="nothing").load()
    assert list(copies._originals.values()) == [None]


def test_more_originals_than_are_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_MOST", 1)
    one_thread = {"OMP_NUM_THREADS": "1"}
    with Kernel(f"{file}:birth") as one, Kernel(f"{file}:birth", environment=one_thread) as other:
        assert (asked(one)[0], asked(other)[0]) == (originals()[0], os.getpid())  # the only place is taken
    with Kernel(f"{file}:birth", environment=one_thread) as other:
        assert asked(other)[0] == originals()[0]
    assert len(originals()) == 1


def test_a_process_with_threads_is_not_copied() -> None:
    with offering("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()") as (door, process):
        assert asked_for_a_copy(door) == b'{"pid": 0}'
        assert process.wait(30) == 0


def test_an_original_that_nobody_asks_ends() -> None:
    with offering("import kernel_contracts.measurement.original as o; o.IDLE = 0.1") as (_, process):
        assert process.wait(30) == 0


@contextmanager
def offering(before: str) -> Iterator[tuple[socket.socket, subprocess.Popen[bytes]]]:
    """A process that offers copies of itself after a line of its own, once it is ready."""
    door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-c", OFFERS.format(before=before), str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()]) as process, door, theirs:
        try:
            door.settimeout(60)
            assert door.recv(100) == b'{"ready": true}'
            yield door, process
        finally:
            process.kill()


def asked_for_a_copy(door: socket.socket) -> bytes:
    with open(os.devnull, "w") as nowhere:
        socket.send_fds(door, [b'{"directory": "/"}'], [nowhere.fileno()] * HANDED)
    return door.recv(100)


def test_nothing_outlives_a_session_that_is_killed(file: Path) -> None:
    command = [sys.executable, "-c", SESSION, f"{file}:calls"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdout is not None
        family = [int(pid) for pid in session.stdout.readline().split()]
        assert len(family) == 2
        session.kill()
    until(lambda: not any(_runs(pid) for pid in family))


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
