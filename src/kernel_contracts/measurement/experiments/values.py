"""Values against the oracle: inputs drawn from families, every output beside its derived bound.

Where the contract says `freivalds`, products too large for that are verified with secret vectors first, and the oracle
decides on the part that these point to.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernel_contracts.contracts.evidence import Case, Observation
from kernel_contracts.measurement import verified
from kernel_contracts.measurement.experiments.base import Asked, Measured
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array


class Values(Measured):
    """The experiment of every class that is decided by comparing values."""

    name = "values"

    def planned(self, asked: Asked) -> list[Case]:
        cases = super().planned(asked)
        return cases + verified.planned(asked.contract, asked.bound, asked.seed, len(cases), asked.samples)

    def measure(self, session: Session, case: Case) -> Observation:
        if verified.is_verified(case):
            return super().measure(session, case)
        return session.measure(case)  # the time that making the inputs takes is part of its record

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        if verified.is_verified(case):
            return verified.measure_on(session, case, inputs)
        return super().measure_on(session, case, inputs)


EXPERIMENT = Values()
