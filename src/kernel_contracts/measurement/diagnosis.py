"""Which failures are worth a diagnosis, and the diagnosis: the known faults that reproduce a wrong answer.

Trying every fault costs many evaluations of the reference, so only the first failures of an input family are tried,
and later ones that are far worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernel_contracts.contracts.evidence import Observation
from kernel_contracts.contracts.model import Bound
from kernel_contracts.measurement.cases import item_of
from kernel_contracts.measurement.hypotheses import explain
from kernel_contracts.measurement.known import Known
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance

#: At most this many failures of one input family are diagnosed, and as many again when they are far worse.
_DIAGNOSED = 2
_FAR_WORSE = 10.0


class Diagnoser:
    """Remembers what has been diagnosed. `mutants` are the faults tried as explanations of a failure."""

    def __init__(self, bound: Bound, mutants: Sequence[str], known: Known | None = None) -> None:
        self.bound, self.mutants, self.known = bound, tuple(mutants), known
        self._ratios: dict[str, list[float]] = {}

    def diagnosed(
        self,
        observation: Observation,
        instance: Instance,
        outputs: Mapping[str, Array],
        centers: Mapping[str, Array],
        tolerances: Mapping[str, Array],
    ) -> Observation:
        """The observation with the share of its error that each fault leaves unexplained, where it is worth while."""
        if not observation.violating or not self.mutants or not all(n in centers for n in outputs):
            return observation
        before = self._ratios.setdefault(item_of(observation.case).name, [])
        far_worse = len(before) < 2 * _DIAGNOSED and observation.ratio > _FAR_WORSE * max(before, default=0.0)
        if len(before) >= _DIAGNOSED and not far_worse:
            return observation
        before.append(observation.ratio)
        plain = replace(instance, program=self.bound.program)
        found = explain(self.bound, plain, outputs, centers, self.mutants, tolerances, known=self.known)
        return replace(observation, hypotheses=found)
