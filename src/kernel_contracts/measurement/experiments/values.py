"""Values against the oracle: inputs drawn from families, every output beside its derived bound."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_contracts.contracts.evidence import Case, Observation
from kernel_contracts.measurement import kinship
from kernel_contracts.measurement.experiments.base import Measured
from kernel_contracts.measurement.second_look import second_look
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array


class Values(Measured):
    """The experiment of every class that is decided by comparing values."""

    name = "values"

    def measure(self, session: Session, case: Case) -> Observation:
        if kinship.is_kin(case):
            return super().measure(session, case)
        seen = session.measure(case)  # the time that making the inputs takes is part of its record
        return second_look(session, case, session.inputs(case), seen) if seen.violating else seen

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        if kinship.is_kin(case):
            return kinship.measured(session, case, inputs)
        return second_look(session, case, inputs, session.measure_on(case, inputs))


EXPERIMENT = Values()
