"""Inputs that differ in one respect, one call after the other in the same memory: does the answer follow?

A wrong answer that is, bit for bit, the right one to the call before is a kept one. Whether the kernel keeps answers or
makes them up is decided in a process that never saw the call before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernel_contracts.classes.judging import fails
from kernel_contracts.contracts.evidence import Case, Layout, Observation, Outcome
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import Look
from kernel_contracts.measurement.cases import item_of
from kernel_contracts.measurement.inputs.kin import ANEW, ONE_ELEMENT, ONE_TENSOR, ONE_ZERO
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.repeating import bits
from kernel_contracts.measurement.second_look import LINGER, alone, looked_at, second_look, written_late
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.tampering import told
from kernel_contracts.numerics.bounded import Array

Outputs = Mapping[str, Array]
NAME = "kin"
_WORK = 1 << 14
"""Product of sizes of the case whose inputs are varied: the largest up to here."""
_TENSORS = 4
"""Inputs that are changed one at a time."""
_FAR = 4.0
"""Times the bound from which on a wrong answer is no narrow miss."""
_USUAL = ("ordinary", "square", "powers")
ANY_ANSWER = "an_old_answer_passes"
"""Reading: the answer to other inputs is within the bound of these too."""


def is_kin(case: Case) -> bool:
    """Whether a case is one of a pair."""
    item = item_of(case)
    return item.name == NAME and bool(item.arguments) and item.arguments[0] != 0


def kin_of(session: Session, seen: Sequence[Observation]) -> list[Case]:
    """The pairs to measure after the planned cases: on the largest case that is small, and on one of a usual shape."""
    known = [o.case for o in seen if not o.skipped and not is_kin(o.case)]
    small = [c for c in known if 0 < c.work <= _WORK and all(c.dims.values())] or known[:1]
    if not small:
        return []
    largest = max(small, key=lambda c: c.work)
    usual = max(small, key=lambda c: (c.shape_family.startswith(_USUAL), c.work))
    tensors = [ONE_TENSOR + k for k in range(min(len(session.contract.inputs), _TENSORS))]
    wanted = [(largest, which) for which in (ANEW, *ONE_ELEMENT, *ONE_ZERO, *(tensors if len(tensors) > 1 else ()))]
    wanted += [(usual, ANEW)] if usual is not largest else []
    return [
        replace(case, id=len(seen) + k, family=f"{NAME}({which})", layout=Layout.CONTIGUOUS)
        for k, (case, which) in enumerate(wanted)
    ]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two calls: what the second one showed, and both answers."""

    seen: Observation
    answer: Outputs
    before: Outputs
    defect: str = ""
    detail: str = ""

    @property
    def repeated(self) -> bool:
        """The second answer is the first, and wrong."""
        return bool(self.answer) and self.seen.violating and bits(self.answer) == bits(self.before)


def measured(session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
    """What the second of two calls shows, with its defect where its answer is a kept one."""
    base = replace(case, family=f"{NAME}(0)")
    try:
        earlier = session.inputs(base)
    except ArithmeticScopeError as impossible:
        return Session.skipped(case, str(impossible))
    kernel = session.kernel
    pair = _pair(session, (base, earlier), (case, inputs), kernel)
    seen = pair.seen
    if pair.defect:
        return replace(seen, defect=pair.defect, detail=pair.detail)
    if not isinstance(kernel, Kernel) or not fails(seen):
        return seen
    if seen.defect == "wrong_shape":  # a kept answer of another size: two calls of one size tell more
        with session.others.once({}) as fresh:
            pair = _pair(session, (base, earlier), (case, inputs), fresh)
    if pair.repeated:
        named = _kept(session, case, inputs, pair)
        if named is not None:
            return named
    if item_of(case).arguments[0] in ONE_ZERO and pair.before and seen.violating and not seen.defect:
        plain = session.compared(replace(seen, case=base, outputs=(), hypotheses={}), earlier, pair.before)
        if not plain.violating and seen.ratio > _FAR * max(plain.ratio, 1.0):
            detail = "right on the same inputs until one element of each is zero"
            return replace(seen, defect="zero_mishandled", detail=detail)
    return second_look(session, case, inputs, seen)


def _pair(
    session: Session, first: tuple[Case, Mapping[str, Array]], second: tuple[Case, Mapping[str, Array]], kernel: object
) -> _Pair:
    assert hasattr(kernel, "call")
    defect = detail = ""
    if isinstance(kernel, Kernel) and item_of(second[0]).arguments[0] == ANEW:
        result = looked_at(session, *first, kernel, Look(linger=LINGER))
        defect, detail = told(result.state)
        if not defect and result.outcome is Outcome.RETURNED and (detail := written_late(result)):
            defect = "late_write"
    _, before, _ = session.called(*first, kernel)
    seen, answer = alone(session, *second, kernel)
    if before and answer and seen.outcome is Outcome.RETURNED and not seen.violating and _real(session, before):
        stale = session.compared(replace(seen, outputs=(), hypotheses={}), second[1], before)
        if not stale.violating:
            seen = replace(seen, readings={**seen.readings, ANY_ANSWER: 1.0})
    return _Pair(seen, answer, before, defect, detail)


def _real(session: Session, outputs: Outputs) -> bool:
    return all(session.bound.outputs[n].is_real and np.asarray(y).size > 1 for n, y in outputs.items())


def _kept(session: Session, case: Case, inputs: Mapping[str, Array], pair: _Pair) -> Observation | None:
    """The same call in a process that has seen no other."""
    with session.others.once({}) as fresh:
        if fresh is None:
            return None
        seen, answer = alone(session, case, inputs, fresh)
    if not fails(seen):
        detail = "the answer to an earlier call is given to other inputs; a new process gives the right one"
        return replace(pair.seen, defect="cached_output", detail=detail)
    anew = item_of(case).arguments[0] == ANEW
    if anew and answer and bits(answer) == bits(pair.before) and _varied(answer):
        detail = (
            "the answer does not depend on any input, in a new process either: it is rebuilt or read from elsewhere"
        )
        return replace(pair.seen, defect="seed_replay", detail=detail)
    return None


def _varied(answer: Outputs) -> bool:
    """Several different numbers."""
    numbers = np.concatenate([np.asarray(y, dtype=np.float64).ravel() for y in answer.values()] or [np.zeros(0)])
    return len(np.unique(numbers[np.isfinite(numbers)])) > 1
