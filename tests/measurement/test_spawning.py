"""Other processes of a kernel: shared by the sessions they are lent to, told what the kernel is told, ended once."""

from __future__ import annotations

from typing import Any

import pytest

from kernel_contracts.measurement.spawning import Spawner, Started


class Fake:
    """A kernel that only counts what becomes of it."""

    def __init__(self, log: list[Fake], environment: dict[str, str] | None = None) -> None:
        self.log, self.environment = log, environment
        self.announced: Any = None
        self.closed = 0

    def spawn(self, environment: dict[str, str]) -> Fake:
        self.log.append(Fake(self.log, environment))
        return self.log[-1]

    def close(self) -> None:
        self.closed += 1

    def call(self, *_: Any, **__: Any) -> Any:
        raise AssertionError


def test_the_same_environment_and_copy_give_the_same_process() -> None:
    log: list[Fake] = []
    spawner = Spawner(Fake(log))
    first, again, other = spawner.spawn({"A": "1"}), spawner.spawn({"A": "1"}), spawner.spawn({"A": "2"})
    assert first is again
    assert len({id(first), id(other), id(spawner.spawn({"A": "1"}, copy=1))}) == 3
    assert [k.environment for k in log] == [{"A": "1"}, {"A": "2"}, {"A": "1"}]
    spawner.close()
    assert [k.closed for k in log] == [1, 1, 1]
    assert spawner.spawn({"A": "1"}) is not first


def test_what_is_lent_outlives_the_session_and_hears_the_next_contract() -> None:
    log: list[Fake] = []
    kernel, started = Fake(log), Started()
    kernel.announced = "fp64"
    one = Spawner(kernel, started)
    process = one.spawn({}, copy=1)
    assert process is not None
    assert process.announced == "fp64"
    one.close()
    assert log[0].closed == 0
    kernel.announced = "fp32"
    two = Spawner(kernel, started)
    assert two.spawn({}, copy=1) is process
    assert process.announced == "fp32"
    started.close()
    assert log[0].closed == 1


@pytest.mark.parametrize("lent", [False, True])
def test_a_process_for_one_use_is_never_shared(lent: bool) -> None:
    log: list[Fake] = []
    kernel, started = Fake(log), Started()
    spawner = Spawner(kernel, started if lent else None)
    spawner.spawn({})
    with spawner.once({}) as once:
        assert once is log[1]
        assert log[1].closed == 0
    assert log[1].closed == 1
    assert spawner.used == 1
    assert Spawner(kernel, started).used == 0, "each session may start as many"


def test_a_kernel_without_a_process_has_no_others() -> None:
    spawner = Spawner(object())  # type: ignore[arg-type]
    assert spawner.spawn({}) is None
    with spawner.once({}) as other:
        assert other is None
    spawner.close()
