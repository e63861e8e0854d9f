"""A wrong answer beside looser contracts: how far it is off where sums may have any order, or numbers be flushed.

That names a fault and excuses none: the verdict came from the contract as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kernel_contracts.measurement.known import Answer
from kernel_contracts.measurement.oracle import Truth
from kernel_contracts.numerics.bounded import Array, BoundContext
from kernel_contracts.numerics.interpret import Instance

if TYPE_CHECKING:
    from kernel_contracts.measurement.session import Session

ANY_ORDER, FLUSHING = "any_order_ratio", "flushing_ratio"


def what_if(session: Session, instance: Instance, truth: Truth, outputs: Mapping[str, Array]) -> dict[str, float]:
    """The largest |y - y*| over what each looser contract permits: `any_order_ratio` and `flushing_ratio`."""
    context, found = session.bound.context, {}
    if context.summation != "any":
        found[ANY_ORDER] = _under(ANY_ORDER, replace(context, summation="any"), session, instance, truth, outputs)
    if not context.flush:
        found[FLUSHING] = _under(FLUSHING, replace(context, flush=True), session, instance, truth, outputs)
    return found


def _under(
    name: str, context: BoundContext, session: Session, instance: Instance, truth: Truth, outputs: Mapping[str, Array]
) -> float:
    looser = replace(session.bound, context=context)
    known = session.known.looser(name) if session.known is not None else None
    other = type(session)(session.contract, looser, session.kernel, session.ladder, (), known)

    def answer(instance: Instance) -> Answer:
        return other.bounded(instance), truth

    bounded, center = answer(instance) if known is None else known.answer(instance, answer)
    admitted = other.admitted(instance, bounded, center, outputs)
    return max((float(j.acceptance.ratios(j.candidate).max(initial=0.0)) for j in admitted), default=0.0)
