"""Measures one contract on one kernel: makes inputs, calls the kernel first, then asks the oracle, compares.

It judges nothing. The oracle is computed after the kernel has answered and is never in the same process, so there is
nothing to read back.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernel_contracts.contracts.evidence import Case, Observation, Outcome, OutputReading
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.contracts.values import constant
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FP64, Format
from kernel_contracts.measurement.admitting import acceptances
from kernel_contracts.measurement.calls import LOOKS, CallResult
from kernel_contracts.measurement.cases import item_of
from kernel_contracts.measurement.compare import constant_outputs, read, returned_input
from kernel_contracts.measurement.diagnosis import Diagnoser
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.inputs.base import Request, families
from kernel_contracts.measurement.known import Known
from kernel_contracts.measurement.oracle import Oracle, Truth, consult
from kernel_contracts.measurement.requests import handed, tensor_spec
from kernel_contracts.measurement.spawning import Spawner, Started
from kernel_contracts.measurement.tampering import told
from kernel_contracts.measurement.what_if import what_if
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array, Bounded
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.interpret import bound as bound_of
from kernel_contracts.numerics.rounding import from_storage


@dataclass(frozen=True, slots=True)
class Judged:
    """What is admitted for one claim, and the oracle's value."""

    text: str
    acceptance: Acceptance
    candidate: Array


class Session:
    """Measures cases one by one. `mutants` are the faults tried as explanations of a failure."""

    def __init__(
        self, contract: Contract, bound: Bound, kernel: Callee, ladder: tuple[Oracle, ...], mutants: Sequence[str] = (),
        known: Known | None = None, started: Started | None = None,
    ) -> None:  # fmt: skip
        self.contract, self.bound, self.kernel = contract, bound, kernel
        self.ladder, self.known = ladder, known
        self._diagnoser = Diagnoser(bound, mutants, known)
        if hasattr(kernel, "announced"):  # a process may run a kernel file, which has no signature of its own
            kernel.announced = contract, bound
        self.others = Spawner(kernel, started)
        self.looks_left = LOOKS

    # ------------------------------------------------------------------------------------------------ one case

    def request(self, case: Case) -> Request:
        """What the input family is asked for."""
        environment = self._sizes(case)
        tensors = tuple(
            tensor_spec(
                t.name,
                self.bound,
                tuple(size_of(d, environment) for d in t.shape),
                self.contract.pre.facts,
                environment,
            )
            for t in self.contract.inputs
        )
        real = [f for f in self.bound.outputs.values() if f.is_real]
        output = min(real, key=lambda f: f.precision) if real else next(iter(self.bound.outputs.values()), FP64)
        return Request(tensors, self.bound.accumulator, self.bound.products, output, np.random.default_rng(case.seed))

    def inputs(self, case: Case) -> dict[str, Array]:
        """The case's inputs, made again from its seed."""
        return self._made(case) if self.known is None else self.known.inputs(case, self._made)

    def _made(self, case: Case) -> dict[str, Array]:
        item = item_of(case)
        with np.errstate(all="ignore"):  # families reach for the ends of every range
            return dict(families()[item.name].generate(self.request(case), *item.arguments))

    def measure(self, case: Case) -> Observation:
        began = time.perf_counter()
        try:
            inputs = self.inputs(case)
        except ArithmeticScopeError as impossible:
            return self.skipped(case, str(impossible))
        return self.measure_on(case, inputs, began)

    @staticmethod
    def skipped(case: Case, why: str) -> Observation:
        return Observation(case, Outcome.RETURNED, skipped=why)

    def measure_on(self, case: Case, inputs: Mapping[str, Array], began: float | None = None) -> Observation:
        """Calls the kernel on given inputs and compares. The kernel goes first."""
        began = time.perf_counter() if began is None else began
        made = time.perf_counter()
        base, outputs, seconds = self.called(case, inputs)
        return self.compared(base, inputs, outputs, (began, made, time.perf_counter(), seconds))

    def called(
        self, case: Case, inputs: Mapping[str, Array], kernel: Callee | None = None
    ) -> tuple[Observation, dict[str, Array], float]:
        """How one call ended and what came back: nothing where it did not return what the scope says."""
        arrays, scalars = handed(self.contract, self.bound, case, inputs)
        result = (kernel or self.kernel).call(arrays, scalars, poison=self.poison(case))
        hashes = {a.name: _digest(a.array) for a in arrays}
        base = Observation(
            case, result.outcome, result.detail, mutated=result.mutated, readings=self._refusal(case), hashes=hashes
        )
        defect, detail = told(result.state)
        if defect:
            return replace(base, outcome=Outcome.RETURNED, defect=defect, detail=detail), {}, result.seconds
        if result.outcome is not Outcome.RETURNED:
            return base, {}, result.seconds
        outputs, defect, detail = self._typed(result, self._expected(case))
        return (replace(base, defect=defect, detail=detail) if defect else base), outputs, result.seconds

    def compared(
        self,
        base: Observation,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
        clock: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),
    ) -> Observation:
        """What a call returned, beside what the contract admits. `clock`: began, inputs made, called, in the kernel."""
        if base.outcome is not Outcome.RETURNED or base.defect:
            return base
        scalars = {s.name: base.case.scalars[s.name] for s in self.contract.scalars if s.name in base.case.scalars}
        began, made, called, kernel_seconds = clock
        case = base.case
        item = item_of(case)
        family = families()[item.name]
        instance = Instance(self.bound.judged, case.dims, inputs, scalars, family.probe)
        start = time.perf_counter()
        bounded, truth = self.truth(instance)
        oracle = time.perf_counter()
        readings: list[OutputReading] = []
        centers: dict[str, Array] = {}
        radii: dict[str, Array] = {}
        extra: dict[str, float] = {}
        if truth.centers:
            for judged in self.admitted(instance, bounded, truth, outputs):
                readings.append(read(judged.text, judged.candidate, judged.acceptance, truth.share))
                centers.setdefault(judged.text, judged.acceptance.center)
                radii.setdefault(judged.text, judged.acceptance.tolerance)
            if outputs:
                oracle_values = {n: centers[n] for n in outputs if n in centers}
                extra = dict(family.read(self.request(case), inputs, outputs, oracle_values))
                extra |= constant_outputs(outputs, oracle_values) | returned_input(outputs, inputs)
        observation = replace(
            base,
            outputs=tuple(readings),
            oracle=truth.oracle,
            oracle_ok=truth.good and bool(truth.centers),
            readings={**base.readings, **extra},
            hashes={**base.hashes, **{n: _digest(np.asarray(y)) for n, y in outputs.items()}},
            timing={
                "inputs": made - began,
                "candidate": kernel_seconds,
                "overhead": max(called - made - kernel_seconds, 0.0),
                "oracle": oracle - start,
                "compare": time.perf_counter() - oracle,
            },
        )
        if observation.violating and truth.centers:
            apart = what_if(self, instance, truth, outputs)
            observation = replace(observation, readings={**observation.readings, **apart})
        return self._diagnoser.diagnosed(observation, instance, outputs, centers, radii)

    # -------------------------------------------------------------------------------------------- oracle side

    def truth(self, instance: Instance) -> tuple[dict[str, Bounded], Truth]:
        """Radius of everything that is judged, and its value from the cheapest oracle that is good enough."""
        return self._asked(instance) if self.known is None else self.known.answer(instance, self._asked)

    def _asked(self, instance: Instance) -> tuple[dict[str, Bounded], Truth]:
        bounded, wanted = self.bounded(instance), self._wanted()
        real = {n: i for n, i in wanted.items() if bounded[n].v.dtype.kind == "f" and not n.startswith("output ")}
        if not real:
            return bounded, Truth("exact", {"": (np.zeros(()), np.zeros(()))}, 0.0)
        return bounded, consult(self.ladder, instance, self.bound.context, real, bounded)

    def bounded(self, instance: Instance) -> dict[str, Bounded]:
        """Radius of everything that is judged; no oracle is asked."""
        return bound_of(instance, self.bound.context, self._wanted())

    def _wanted(self) -> dict[str, int]:
        wanted = {f"{k}": c.before for k, c in enumerate(self.bound.claims)}
        wanted |= {f"{k} target": c.target for k, c in enumerate(self.bound.claims) if c.target is not None}
        wanted |= {f"{k} where": c.where for k, c in enumerate(self.bound.claims) if c.where is not None}
        wanted |= {n: i for n, i in self.bound.judged.outputs.items() if n.startswith("output ")}
        return wanted

    def admitted(
        self, instance: Instance, bounded: Mapping[str, Bounded], truth: Truth, outputs: Mapping[str, Array]
    ) -> Iterator[Judged]:
        """What each claim admits, beside what the kernel gave."""
        accepted = self._accepted(instance, bounded, truth)
        for claim, acceptance in zip(self.bound.claims, accepted, strict=True):
            yield Judged(claim.text, acceptance, self._candidate(claim.output, claim.program, instance, outputs))

    def _accepted(self, instance: Instance, bounded: Mapping[str, Bounded], truth: Truth) -> tuple[Acceptance, ...]:
        def make() -> tuple[Acceptance, ...]:
            return tuple(acceptances(self.contract, self.bound, instance, bounded, truth))

        return make() if self.known is None else self.known.admitted(bounded, truth, make)

    def _candidate(self, output: str, program: Any, instance: Instance, outputs: Mapping[str, Array]) -> Array:
        if output:
            return outputs[output]
        inner = Instance(program, instance.dims, outputs, instance.scalars)
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(inner, FLOAT64)["subject"])

    # --------------------------------------------------------------------------------------------- small parts

    def _sizes(self, case: Case) -> dict[str, int]:
        whole = {k: int(v) for k, v in case.scalars.items() if isinstance(v, int)}
        return {**whole, **case.dims}

    def _expected(self, case: Case) -> list[tuple[str, tuple[int, ...], Format]]:
        environment = self._sizes(case)
        return [
            (t.name, tuple(size_of(d, environment) for d in t.shape), self.bound.outputs[t.name])
            for t in self.contract.outputs
        ]

    def poison(self, case: Case) -> list[tuple[tuple[int, ...], str]]:
        """Shape and format of each output, for the memory that is poisoned before the call."""
        return [(shape, fmt.name) for _, shape, fmt in self._expected(case)]

    def _refusal(self, case: Case) -> dict[str, float]:
        """Whether a documented refusal is due for these sizes."""
        names = {**case.scalars, **case.dims}
        due = any(not constant(r.condition, names) for r in self.contract.refusals)
        return {"may_refuse": 1.0, "must_refuse": 1.0} if due else {}

    def _typed(
        self, result: CallResult, expected: list[tuple[str, tuple[int, ...], Format]]
    ) -> tuple[dict[str, Array], str, str]:
        """The outputs as values, or what is wrong with their number, dtype or shape."""
        if result.defect:
            return {}, result.defect, result.detail
        if len(result.outputs) != len(expected):
            return {}, "wrong_count", f"returned {len(result.outputs)} array(s), the scope says {len(expected)}"
        outputs: dict[str, Array] = {}
        for array, dtype, (name, shape, fmt) in zip(result.outputs, result.dtypes, expected, strict=True):
            held = "fp32" if fmt.name == "tf32" else fmt.name
            if dtype != held:
                return {}, "wrong_dtype", f"{name} came back as {dtype}, the scope says {held}"
            if tuple(array.shape) != shape:
                detail = f"{name} came back with shape {list(array.shape)}, the scope says {list(shape)}"
                return {}, "wrong_shape", detail
            outputs[name] = from_storage(array)
        return outputs, "", ""


def _digest(array: Any) -> str:
    data = np.ascontiguousarray(array)
    (found := hashlib.sha256(f"{data.dtype}{data.shape}".encode())).update(data.reshape(-1).view(np.uint8).data)
    return found.hexdigest()[:16]
