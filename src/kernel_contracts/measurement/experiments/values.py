"""Values against the oracle: inputs drawn from families, every output beside its derived bound.

Where the contract says `freivalds`, products too large for that are verified with secret vectors first, and the oracle
decides on the part that these point to. Wrong answers are looked at a second time, and relations between the answers
to kindred inputs are measured, so that a kernel that remembers or ignores is told as such.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernel_contracts.contracts.evidence import Case, Observation
from kernel_contracts.measurement import kinship, verified
from kernel_contracts.measurement.experiments.base import Asked, Measured
from kernel_contracts.measurement.second_look import second_look
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array


class Values(Measured):
    """The experiment of every class that is decided by comparing values."""

    name = "values"

    def planned(self, asked: Asked) -> list[Case]:
        cases = super().planned(asked)
        return cases + verified.planned(asked.contract, asked.bound, asked.seed, len(cases), asked.samples)

    def measure(self, session: Session, case: Case) -> Observation:
        if verified.is_verified(case) or kinship.is_kin(case):
            return super().measure(session, case)
        seen = session.measure(case)  # the time that making the inputs takes is part of its record
        return second_look(session, case, session.inputs(case), seen) if seen.violating else seen

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        if verified.is_verified(case):
            return verified.measure_on(session, case, inputs)
        if kinship.is_kin(case):
            return kinship.measured(session, case, inputs)
        return second_look(session, case, inputs, super().measure_on(session, case, inputs))


EXPERIMENT = Values()
