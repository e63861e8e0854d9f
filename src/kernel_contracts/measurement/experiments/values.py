"""Values against the oracle: inputs drawn from families, every output beside its derived bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel_contracts.classes.base import Plan
from kernel_contracts.contracts.evidence import Case, Observation
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.measurement.cases import plan_cases
from kernel_contracts.measurement.experiments.base import Measured
from kernel_contracts.measurement.session import Session


class Values(Measured):
    """The experiment of every class that is decided by comparing values."""

    name = "values"

    def cases(
        self,
        contract: Contract,
        bound: Bound,
        plan: Plan,
        *,
        seed: int,
        samples: int | None = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> list[Case]:
        return plan_cases(contract, bound, plan, seed=seed, samples=samples, fixed=fixed)

    def measure(self, session: Session, case: Case) -> Observation:
        return session.measure(case)  # the time that making the inputs takes is part of its record


EXPERIMENT = Values()
