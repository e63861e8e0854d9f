"""Values against the oracle: inputs drawn from families, every output beside its derived bound."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Case, Observation
from kernel_contracts.measurement.experiments.base import Measured
from kernel_contracts.measurement.session import Session


class Values(Measured):
    """The experiment of every class that is decided by comparing values."""

    name = "values"

    def measure(self, session: Session, case: Case) -> Observation:
        return session.measure(case)  # the time that making the inputs takes is part of its record


EXPERIMENT = Values()
