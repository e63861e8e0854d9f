"""Repetition: one case called again along every axis that the contract names, all pairs of answers compared.

The facts of an observation say for each axis `same` or what differed; the readings count answers and measure their
spread. A difference across an axis that the promise covers is a defect of that observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernel_contracts.contracts.determinism import promise_of
from kernel_contracts.contracts.evidence import Case, Observation
from kernel_contracts.measurement.experiments.base import Measured
from kernel_contracts.measurement.repeating import CHOSEN, Repeats, answers, differing, repeat, spread
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.ties import winner
from kernel_contracts.numerics.bounded import Array

DEFECTS: Mapping[str, str] = {
    "runs": "run_dependent",
    "processes": "run_dependent",
    "load": "load_dependent",
    "threads": "thread_dependent",
    "alignment": "alignment_dependent",
    "layouts": "alignment_dependent",
    "batch": "batch_dependent",
}
"""What a difference across each axis is called."""
_JUDGED = 8
"""Distinct answers of one case that are held against the oracle."""


class Repetition(Measured):
    """The experiment of the determinism class."""

    name = "repeats"

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        promise = promise_of(session.contract)
        found = repeat(session, case, inputs, promise.axes)
        if not found.first or found.failed is not None:
            return found.failed or found.base
        seen = self._values(session, found, inputs, every=promise.level == "bounded")
        differs = dict(differing(found))
        hidden = () if found.steady else CHOSEN
        told = [a for a in (*promise.axes, *differs) if a in differs or a not in (*found.missing, *hidden)]
        facts = {a: differs.get(a, "same") for a in told}
        if "ties" in session.contract.policies:
            facts["ties"] = winner(session, case, inputs, found.first)
        several = answers(found)
        readings = {**seen.readings, "answers": float(len(several)), "spread": spread(several)}
        seen = replace(seen, facts=facts, readings=readings)
        broken = [a for a in DEFECTS if a in differs and promise.binding(a)]
        if broken:
            seen = replace(seen, defect=DEFECTS[broken[0]], detail=differs[broken[0]])
        return seen

    def _values(self, session: Session, found: Repeats, inputs: Mapping[str, Array], *, every: bool) -> Observation:
        """The first answer against the oracle; with `every`, the worst of all distinct ones."""
        if not session.bound.claims:
            return found.base
        judged = answers(found)[:_JUDGED] if every else [found.first]
        return max((session.compared(found.base, inputs, a) for a in judged), key=lambda o: (o.violating, o.ratio))

    def finish(self, session: Session, observations: Sequence[Observation]) -> list[Observation]:
        session.others.close()
        return list(observations)


EXPERIMENT = Repetition()
