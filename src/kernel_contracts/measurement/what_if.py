"""A wrong answer beside looser contracts: how far it is off where sums may have any order, or numbers be flushed.

That names a fault and excuses none: the verdict came from the contract as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kernel_contracts.measurement.oracle import Truth
from kernel_contracts.numerics.bounded import Array, BoundContext
from kernel_contracts.numerics.interpret import Instance

if TYPE_CHECKING:
    from kernel_contracts.measurement.session import Session


def what_if(session: Session, instance: Instance, truth: Truth, outputs: Mapping[str, Array]) -> dict[str, float]:
    """The largest |y - y*| over what each looser contract permits: `any_order_ratio` and `flushing_ratio`."""
    context, found = session.bound.context, {}
    if context.summation != "any":
        found["any_order_ratio"] = _under(replace(context, summation="any"), session, instance, truth, outputs)
    if not context.flush:
        found["flushing_ratio"] = _under(replace(context, flush=True), session, instance, truth, outputs)
    return found


def _under(
    context: BoundContext, session: Session, instance: Instance, truth: Truth, outputs: Mapping[str, Array]
) -> float:
    looser = replace(session.bound, context=context)
    other = type(session)(session.contract, looser, session.kernel, session.ladder)
    admitted = other.admitted(instance, other.bounded(instance), truth, outputs)
    return max((float(j.acceptance.ratios(j.candidate).max(initial=0.0)) for j in admitted), default=0.0)
