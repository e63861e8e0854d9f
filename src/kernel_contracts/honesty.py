"""What is tried after the planned cases: whether the answers follow the inputs, call after call.

Requirement: adds evidence where something is wrong and nothing where all is well, so that a verdict of `conforms` rests
on the planned cases alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernel_contracts.classes.judging import fails
from kernel_contracts.contracts.evidence import Observation, Outcome
from kernel_contracts.measurement.experiments import Experiment
from kernel_contracts.measurement.kinship import ANY_ANSWER, kin_of
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.session import Session

_TRIVIAL = "the answer to one draw of inputs is within the bound for another one: the contract asks little of a kernel"


def audited(
    session: Session, experiment: Experiment, seen: Sequence[Observation]
) -> tuple[list[Observation], tuple[str, ...]]:
    """Failing observations beyond the planned ones, and notes. Nothing for a kernel without a process of its own."""
    answers = any(o.outcome is Outcome.RETURNED and not o.skipped for o in seen)
    if experiment.name != "values" or not isinstance(session.kernel, Kernel) or not answers:
        return [], ()
    found = [experiment.measure(session, case) for case in kin_of(session, seen)]
    session.others.close()
    failing = [o for o in found if fails(o) and not o.skipped and (o.oracle_ok or o.mutated)]
    trivial = any(o.readings.get(ANY_ANSWER) for o in found)
    return failing, (_TRIVIAL,) if trivial else ()
