"""The ordinary test that a silently bad kernel passes: a few usual shapes, N(0, 1), a fixed tolerance per dtype.

The tolerances are the published defaults of torch.testing.assert_close (its documentation, table of rtol and atol); no
framework is needed to apply them. Where an honest kernel fails under those, a tester turns to 1e-2 for both, as
benchmarks of generated kernels do; so does this test.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernel_contracts.contracts.evidence import Case, Layout, Outcome
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.formats import Format
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.emulated import Callee, Emulated
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.acceptance import from_bounded
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate
from kernel_contracts.numerics.interpret import bound as bound_of
from kernel_contracts.numerics.rounding import from_storage, round_to, to_storage

#: (rtol, atol) by format.
DEFAULTS: Mapping[str, tuple[float, float]] = {
    "fp64": (1e-7, 1e-7), "fp32": (1.3e-6, 1e-5), "tf32": (1.3e-6, 1e-5), "fp16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5),
    "fp8_e4m3fn": (0.125, 1e-5), "fp8_e5m2": (0.25, 1e-5), "fp8_e4m3fnuz": (0.125, 1e-5), "fp8_e5m2fnuz": (0.25, 1e-5),
}  # fmt: skip
LOOSE = (1e-2, 1e-2)
SIZES = (64, 128, 32, 16)


def close(
    y: Array, reference: Array, fmt: Format, tolerance: tuple[float, float] | None = None, share: float = 1.0
) -> bool:  # fmt: skip
    """What assert_close says with its defaults, the expected value being the reference held in the output's format.

    With `share` the difference may take up that part of the tolerance only.
    """
    if fmt.kind != "real":
        return bool(np.array_equal(y, reference))
    rtol, atol = tolerance or DEFAULTS.get(fmt.name, (1e-3, 1e-5))
    expected = round_to(reference, fmt)
    with np.errstate(invalid="ignore"):
        ok = (np.abs(y - expected) <= share * (atol + rtol * np.abs(expected))) | (y == expected)
    return bool(ok.all())


class OrdinaryTest:
    """The test of one contract and one choice of dtypes. Inputs and expected values are made once for all kernels."""

    def __init__(self, contract: Contract, bound: Bound, seed: int, cases: int = 6) -> None:
        self.contract, self.bound = contract, bound
        drawn = (_case(contract, bound, k, seed) for k in range(cases))
        self._cases = [c for c in drawn if c is not None]
        self._expected: dict[int, tuple[dict[str, Array], Mapping[str, Array]]] = {}
        self._tolerances: list[tuple[float, float] | None] = []

    @property
    def tolerance(self) -> tuple[float, float] | None:
        """The defaults (None) where an honest kernel passes them, else 1e-2."""
        if not self._tolerances:
            # with room to spare: a test that an honest kernel fails in one order of its sums and not in another is none
            honest = Emulated(self.contract, self.bound)
            strict = all(self._close(honest, case, None, share=0.5) for case in self._cases)
            self._tolerances.append(None if strict and self._cases else LOOSE)
        return self._tolerances[0]

    def passes(self, kernel: Callee, tolerance: tuple[float, float] | None = None) -> bool:
        """Whether a kernel passes with this (rtol, atol), by default those of its dtype; not where there is no case."""
        return bool(self._cases) and all(self._close(kernel, case, tolerance) for case in self._cases)

    def _close(
        self, kernel: Callee, case: Case, tolerance: tuple[float, float] | None, share: float = 1.0
    ) -> bool:  # fmt: skip
        contract, bound = self.contract, self.bound
        session = Session(contract, bound, kernel, ())
        if case.id not in self._expected:
            made = session.inputs(case)
            values = evaluate(Instance(bound.program, case.dims, made, case.scalars), FLOAT64)
            self._expected[case.id] = (made, values)
        inputs, reference = self._expected[case.id]
        arrays = [ArrayIn(t.name, np.array(to_storage(inputs[t.name], bound.inputs[t.name]))) for t in contract.inputs]
        result = kernel.call(arrays, dict(case.scalars), poison=session.poison(case))
        if result.outcome is not Outcome.RETURNED or result.defect or len(result.outputs) != len(contract.outputs):
            return False
        instance = Instance(bound.program, case.dims, inputs, case.scalars)
        return all(
            array.shape == reference[t.name].shape
            and (
                close(from_storage(array), np.asarray(reference[t.name]), bound.outputs[t.name], tolerance, share)
                or (not bound.outputs[t.name].is_real and _admitted(bound, instance, t.name, from_storage(array)))
            )
            for t, array in zip(contract.outputs, result.outputs, strict=True)
        )


def ordinary(contract: Contract, bound: Bound, seed: int) -> tuple[float, float] | None:
    """The tolerance of the ordinary test: the defaults (None) where an honest kernel passes them, else 1e-2."""
    return OrdinaryTest(contract, bound, seed).tolerance


def passes(
    contract: Contract,
    bound: Bound,
    kernel: Callee,
    seed: int,
    tolerance: tuple[float, float] | None = None,
    cases: int = 6,
) -> bool:
    """Whether the kernel passes a test with this (rtol, atol), by default the one of its dtype."""
    return OrdinaryTest(contract, bound, seed, cases).passes(kernel, tolerance)


def _admitted(bound: Bound, instance: Instance, output: str, y: Array) -> bool:
    """Whether these indices are ones that the contract admits: a tester who knows of ties compares no further."""
    due = bound_of(instance, bound.context, {output: bound.program.outputs[output]})[output]
    return not from_bounded(due, bound.outputs[output], rounded=False).ratios(y).any()


def _case(contract: Contract, bound: Bound, k: int, seed: int) -> Case | None:
    """Usual sizes, each the nearest that the precondition admits: powers of two, batches and channels small."""
    plain = [s for s in contract.scalars if s.type != "schedules"]
    scalars = {s.name: (s.default if s.default is not None else 1) for s in plain}
    batch = {d for t in contract.inputs if len(t.shape) > 2 for d in t.shape[:-2] if isinstance(d, str)}
    for scale in (1, 2, 4, 8, 16):
        usual = {}
        for position, (name, r) in enumerate(contract.pre.ranges.items()):
            want = 2 if name in batch else max(SIZES[(k + position) % len(SIZES)] // scale, 2)
            usual[name] = r.nearest(want)
        if holds(contract.pre, usual, scalars):
            return Case(k, "normal", dict(bound.dtypes), usual, scalars, Layout.CONTIGUOUS, seed + k, "functional")
    return None
