"""Platforms of one run share inputs and oracle answers, and nothing else: each cell is what it would be alone."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import run_cases

from kernel_contracts.conformance.measuring import Bench, Job, Measured
from kernel_contracts.conformance.platforms import platforms
from kernel_contracts.conformance.running import Run, Wanted
from kernel_contracts.conformance.workers import Workers, _Slot
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.session import Session

KERNELS = ("good", "wrong", "slow", "crashing", "overwriting")
OVERWRITING = "\ndef overwriting(x):\n    y = x * np.float32(2)\n    x[...] = 7\n    return y\n"


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Two contracts on five kernels, platform by platform, as they come to a process of their own."""
    monkeypatch.chdir(run_cases.written(tmp_path))
    (tmp_path / "k.py").write_text(run_cases.KERNELS + OVERWRITING, encoding="utf-8")
    run = Run(Wanted(("two.kc",), platforms((), [f"{k}=k.py:{k}" for k in KERNELS]), seed=5, samples=6), tmp_path / "o")
    next(iter(run.go()))
    return [pickle.loads(pickle.dumps(p.job)) for p in run.plans]


def told(measured: Measured) -> dict[str, Any]:
    """A cell without its times."""
    result = {k: v for k, v in measured.record["result"].items() if k not in ("seconds", "witness")}
    return {"cell": measured.cell, "result": result, "fixed": measured.record["fixed"]}


def test_a_cell_is_the_same_beside_others_as_alone(jobs: list[Job]) -> None:
    together, alone = Bench(), []
    by_question = sorted(jobs, key=lambda j: j.question)
    shared = [told(together.measure(j)) for j in by_question]
    together.close()
    for job in by_question:
        bench = Bench()
        alone.append(told(bench.measure(job)))
        bench.close()
    assert shared == alone
    verdicts = {t["cell"].platform: t["result"]["verdict"] for t in shared}
    assert verdicts == {k: "conforms" if k in ("good", "slow") else "violates" for k in KERNELS}


def test_the_oracle_is_asked_for_the_first_platform_only(jobs: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    plain = Session._asked
    monkeypatch.setattr(Session, "_asked", lambda self, i: (asked.append(self.contract.name), plain(self, i))[1])
    bench = Bench()
    counts = []
    for job in (j for j in jobs if j.platform.name in ("good", "slow") and j.contract.name == "doubled-0"):
        bench.measure(job)
        counts.append(len(asked))
    bench.close()
    assert counts[0] > 0
    assert counts[1] == counts[0]


def test_kernels_stay_open_within_an_operation_and_one_that_cannot_start_ends_no_other(jobs: list[Job]) -> None:
    bench = Bench()
    good = next(j for j in jobs if j.platform.name == "good")
    bench.measure(good)
    kernel = bench._kernels[good.kernel]
    missing = next(j for j in jobs if j.platform.name == "slow")
    object.__setattr__(missing, "target", "nowhere.py:f")
    assert bench.measure(missing).record["unavailable"]
    assert bench._kernels == {good.kernel: kernel}
    assert kernel._worker is not None
    assert kernel._worker.alive
    bench.close()
    assert not bench._kernels


REPEATED = """
contract doubled version 1.0 implements C-ORD-02 {
  scope     double for P in {fp32, fp64} (x: P[N]) -> y: P[N]
  pre       N in 1..64
  post      y within tolerance of reference
            and policy determinism = run_to_run across runs(2), processes(1), threads(1)
  tolerance derived
  reference { y = round(x * 2, P) in P }
  measure { inputs normal
            shapes one
            samples 2 }
}
"""


def test_other_processes_serve_all_dtypes_of_a_kernel_and_no_other_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run_cases.written(tmp_path))
    (tmp_path / "repeated.kc").write_text(REPEATED, encoding="utf-8")
    run = Run(Wanted(("repeated.kc",), platforms((), ["good=k.py:good", "slow=k.py:slow"]), seed=5), tmp_path / "o")
    next(iter(run.go()))
    started: list[Kernel] = []
    plain = Kernel.spawn
    monkeypatch.setattr(Kernel, "spawn", lambda self, e: (started.append(plain(self, e)), started[-1])[1])
    bench = Bench()
    counts = []
    for plan in run.plans:
        assert bench.measure(plan.job).record["result"]["verdict"] == "conforms"
        counts.append((plan.job.platform.name, plan.job.bound.dtypes["P"], len(started)))
    assert counts == [("good", "fp32", 2), ("good", "fp64", 2), ("slow", "fp32", 4), ("slow", "fp64", 4)]
    assert [k._worker is None for k in started] == [True, True, False, False]
    bench.close()
    assert all(k._worker is None for k in started)


def test_a_process_is_dealt_its_own_question_first(jobs: list[Job]) -> None:
    class Silent:
        def send(self, job: Job) -> None: ...

    slot = _Slot(None, Silent())  # type: ignore[arg-type]
    workers = Workers(1, [slot])
    dealt, waiting = [], list(jobs)
    while waiting:
        workers._deal(waiting)
        assert slot.job is not None
        dealt.append(slot.job.contract.name)
        slot.job = None
    workers.slots.clear()
    assert dealt == ["doubled-0"] * len(KERNELS) + ["doubled-1"] * len(KERNELS)
