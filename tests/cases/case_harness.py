"""The fault cases as data, and two ways to check a kernel: in this process, and as a user would.

Every case names a faulty kernel and its sibling, the contract they are held to and what the verdict must say.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from kernel_contracts import api
from kernel_contracts.checking import Options, Result, contracts_for, select
from kernel_contracts.classes import classes
from kernel_contracts.contracts.evidence import Outcome, Verdict
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import returned
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.session import Session
from kernel_contracts.oracles import ladder

HERE = Path(__file__).parent
SEEDS = (1, 22, 333)
LIMIT = 1 << 24
"""Product of all sizes, and the largest again, of one case in this process: small cases show as much."""


@dataclass(frozen=True, slots=True)
class FaultCase:
    """One real fault, the contract that it breaks and the defect that it must be given."""

    id: str
    module: str
    class_id: str
    dtypes: tuple[str, ...]
    signatures: tuple[str, ...]
    """The defects that the verdict may name: more than one where different inputs show different sides of it."""
    operation: str = ""
    contract: str = ""
    samples: int | None = None
    limit: int = LIMIT

    @property
    def file(self) -> str:
        return str(HERE / "kernels" / f"{self.module}.py")

    @property
    def held_to(self) -> str:
        """What `assert_conforms` is told: an operation or a contract file."""
        return str(HERE / "contracts" / self.contract) if self.contract else self.operation

    @property
    def source(self) -> dict[str, Any]:
        if self.contract:
            return {"operation": None, "contract": str(HERE / "contracts" / self.contract)}
        return {"operation": self.operation, "contract": None}


CASES = (
    FaultCase(
        "O01", "o01_softmax_total", "C-PRC-01", ("bf16", "fp16"), ("accumulator_narrowed",), "softmax", limit=1 << 26
    ),
    FaultCase("O02", "o02_cumsum_carry", "C-PRC-01", ("bf16", "fp16"), ("accumulator_narrowed",), "cumsum"),
    FaultCase("O03", "o03_mean_count", "C-PRC-01", ("fp16",), ("partial_sums_narrowed",), "mean", limit=1 << 40),
    FaultCase("O04", "o04_layernorm_squares", "C-PRC-02", ("fp32",), ("cancelled",), "layernorm"),
    FaultCase(
        "O05",
        "o05_attention_maximum",
        "C-PRC-02",
        ("fp32",),
        ("overflowed", "rescaling_skipped"),
        "attention",
        samples=8,
    ),
    FaultCase("O06", "o06_gelu_tail", "C-PRC-02", ("fp32",), ("cancelled",), contract="gelu_tanh_tail.kc"),
    FaultCase("O12", "o12_fp8_scale", "C-PRC-04", ("bf16",), ("scale_precision_narrowed",), "fp8_scale"),
    FaultCase("O13", "o13_sum_sequence", "C-ORD-01", ("fp32",), ("order_exceeded",), "sum", limit=1 << 28),
    FaultCase("O14", "o14_split_k", "C-ORD-01", ("fp16",), ("partial_sums_narrowed",), contract="matmul_order.kc"),
    FaultCase("O22", "o22_weight_offset", "C-CMP-01", ("bf16",), ("intermediate_narrowed",), "rmsnorm_offset"),
    FaultCase("O23", "o23_broadcast", "C-CMP-01", ("fp32",), ("broadcast_misaligned",), "normalized_scale"),
    FaultCase("O24", "o24_cast_chain", "C-CMP-01", (), ("rounding_skipped",), "cast_chain"),
    FaultCase("O28", "o28_padded_lanes", "C-CMP-03", ("fp32",), ("padding_leaked",), "layernorm"),
    FaultCase("O29", "o29_neutral_element", "C-CMP-03", ("fp32",), ("padding_leaked",), "softmax"),
    FaultCase(
        "O30",
        "o30_offset_width",
        "C-CMP-03",
        ("fp32", "fp16"),
        ("offset_narrowed",),
        operation="gather",
        limit=1 << 30,
    ),
)
BY_ID = {case.id: case for case in CASES}


class InProcess:
    """A function called like a kernel under test, without a process of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def call(
        self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any] = {}, *, poison: Sequence[Any] = ()
    ) -> CallResult:
        began = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                value = self.function(*(a.array.copy() for a in arrays), **scalars)
        except Exception as error:
            return CallResult(Outcome.RAISED, f"{type(error).__name__}: {error}", error_type=type(error).__name__)
        return returned(value if isinstance(value, tuple) else (value,), began)


@cache
def load(module: str) -> ModuleType:
    """A kernel file as a module."""
    spec = importlib.util.spec_from_file_location(module, HERE / "kernels" / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[module] = made
    spec.loader.exec_module(made)
    return made


@cache
def _contracts(operation: str | None, contract: str | None, class_id: str) -> tuple[Any, ...]:
    return contracts_for(operation, contract, (class_id,) if class_id else None)


def check(
    kernel: Callable[..., Any],
    *,
    operation: str | None = None,
    contract: str | None = None,
    class_id: str = "",
    dtypes: Sequence[str] = (),
    seed: int = 0,
    samples: int | None = None,
    limit: int = LIMIT,
) -> list[Result]:
    """The results of a function held in this process, on the cases whose work is within `limit`."""
    results: list[Result] = []
    options = Options(dtypes=tuple(dtypes) or None)
    for found in _contracts(operation, contract, class_id):
        klass = classes()[found.class_id]
        for bound in select(found, None, options):
            plan = klass.plan(found, bound)
            experiment = experiments()[plan.experiment]
            planned = experiment.cases(found, bound, plan, seed=seed, samples=samples)
            small = [c for c in planned if c.work * max(c.dims.values(), default=1) <= limit]
            session = Session(found, bound, InProcess(kernel), ladder(), klass.mutants)
            seen = tuple(experiment.finish(session, [experiment.measure(session, case) for case in small]))
            results.append(Result(found, bound, klass.judge(found, bound, seen), seen, seed, 0.0))
    return results


def check_case(case: FaultCase, which: str, seed: int) -> list[Result]:
    return check(
        getattr(load(case.module), which), class_id=case.class_id, dtypes=case.dtypes, seed=seed, samples=case.samples,
        limit=case.limit, **case.source,
    )  # fmt: skip


def accused(case: FaultCase, results: Sequence[Result]) -> None:
    """Fails unless every result is `violates` with a defect that the case knows, and the numbers behind it."""
    assert results
    for r in results:
        assert r.verdict is Verdict.VIOLATES, story(r)
        assert r.finding.failures > 0
        assert r.finding.signature is not None
        assert r.finding.signature.name in case.signatures, story(r)
        assert r.finding.signature.detail


def check_isolated(case: FaultCase, which: str, seed: int) -> list[Result]:
    """The same through the public door, the kernel in a process of its own."""
    return api.check(
        f"{case.file}:{which}", case.operation or None, contract=case.source["contract"], classes=[case.class_id],
        dtypes=list(case.dtypes) or None, seed=seed, samples=case.samples,
    )  # fmt: skip


def conforms(results: Sequence[Result]) -> None:
    """Fails with the story where a result is anything but `conforms`."""
    assert results
    for r in results:
        assert r.verdict is Verdict.CONFORMS, story(r)


def story(r: Result) -> str:
    worst = max((o for o in r.finding.witness.outputs), key=lambda o: o.ratio).worst if r.finding.witness else None
    case = r.finding.witness.case if r.finding.witness else None
    return f"{r.contract.name} {r.bound.label}: {r.verdict} {r.finding.reason}; {r.finding.signature}; {worst}; {case}"
