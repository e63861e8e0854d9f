"""What a contract class is: it says what to measure and what the evidence means. No array library in here.

Adding a class is adding a module with one `CLASS`; `plan` and `judge` are pure, so a class is tested in milliseconds
on evidence made by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kernel_contracts.contracts.evidence import Finding, Layout, Observation
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem


@dataclass(frozen=True, slots=True)
class Plan:
    """Measurements wanted: every shape with some input, every input with some shapes, `samples` in all."""

    inputs: tuple[MeasureItem, ...]
    shapes: tuple[MeasureItem, ...]
    samples: int
    layouts: tuple[Layout, ...] = (Layout.CONTIGUOUS,)
    sweeps: tuple[tuple[str, tuple[int, ...]], ...] = ()
    vary_scalars: bool = True
    """Draw parameters away from their defaults too, so that a hard-coded one shows."""
    experiment: str = "values"
    """How it is measured: the name of one of the experiments of `measurement/experiments`."""


class ContractClass(Protocol):
    """One of the twelve classes."""

    id: str
    title: str
    family: str
    claim: str
    """What a conforming kernel does, in one sentence."""
    mutants: tuple[str, ...]
    """Faults this class must catch: its mutation score is taken over these."""
    faults: tuple[str, ...]
    """The same for faults at the call, which no change of a program expresses."""
    extra_inputs: tuple[MeasureItem, ...]
    """Measured whatever a contract lists."""

    def plan(self, contract: Contract, bound: Bound) -> Plan: ...

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding: ...


@dataclass(frozen=True, slots=True)
class ValueClass:
    """A class decided by comparing values with the oracle: what differs is what it measures and looks for."""

    id: str
    title: str
    family: str
    claim: str
    mutants: tuple[str, ...]
    extra_inputs: tuple[MeasureItem, ...] = ()
    """Measured whatever the contract lists."""
    extra_shapes: tuple[MeasureItem, ...] = ()
    layouts: tuple[Layout, ...] = field(default=(Layout.CONTIGUOUS,))
    experiment: str = "values"
    faults: tuple[str, ...] = ()

    def plan(self, contract: Contract, bound: Bound) -> Plan:
        """The contract's own protocol, completed by what the class cannot do without."""
        return protocol(contract, self.experiment, self.extra_inputs, self.extra_shapes, self.layouts)

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        from kernel_contracts.classes.judging import judge_values

        return judge_values(contract, bound, observations)


def protocol(
    contract: Contract,
    experiment: str,
    inputs: tuple[MeasureItem, ...] = (),
    shapes: tuple[MeasureItem, ...] = (),
    layouts: tuple[Layout, ...] = (Layout.CONTIGUOUS,),
) -> Plan:
    """What the contract lists under `measure`, and those inputs and shapes beside it that it does not name."""
    measure = contract.measure
    sweeps = tuple((k, tuple(v)) for k, v in measure.sweeps.items())
    return Plan(
        _merged(measure.inputs, inputs), _merged(measure.shapes, shapes), measure.samples, layouts, sweeps,
        experiment=experiment,
    )  # fmt: skip


def _merged(first: tuple[MeasureItem, ...], second: tuple[MeasureItem, ...]) -> tuple[MeasureItem, ...]:
    names = {item.name for item in first}
    return first + tuple(item for item in second if item.name not in names)
