"""Values against the oracle, and the order in which the kernel adds, where its operation is a plain sum.

The order decides nothing: a deeper tree than the declared one whose results stay within the declared bound conforms.
It says what the kernel does, beside what is declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernel_contracts.contracts.evidence import Observation, Outcome
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.experiments.values import Values
from kernel_contracts.measurement.orders import name_of
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.sums import ADAPTERS, reveal_order
from kernel_contracts.measurement.tree import NoTreeError

TERMS = 128
"""Terms whose order is revealed: more than a block of any kernel that is known to add in blocks of up to 64."""


class Orders(Values):
    """The experiment of the class on summation orders."""

    name = "orders"

    def finish(self, session: Session, observations: Sequence[Observation]) -> list[Observation]:
        seen = list(observations)
        wanted = session.contract.operation in ADAPTERS and isinstance(session.kernel, Kernel)
        ended = any(o.outcome is not Outcome.RETURNED or o.defect for o in seen)
        if not wanted or ended or not seen:
            return seen  # our own kernels take another order at each call, and a broken one is not asked again
        return [*seen[:-1], _with_order(session, seen[-1])]


def _with_order(session: Session, last: Observation) -> Observation:
    fmt = next(iter(session.bound.inputs.values()))
    declared = float(session.bound.context.depth(TERMS))
    readings = {**last.readings, "order_terms": float(TERMS), "declared_depth": declared}
    try:
        found = reveal_order(session.kernel, session.contract.operation, TERMS, fmt)
    except NoTreeError:
        return replace(last, facts={**last.facts, "order": "none"}, readings=readings)
    except ArithmeticScopeError:
        return last  # the format cannot show it
    name = name_of(found.tree) or "an order without a name"
    sure = "" if found.confirmed else ", not confirmed on random numbers"
    readings["depth"] = float(found.tree.depth)
    steps = " ".join("+".join(map(str, parts)) for parts in found.tree.steps)
    facts = {**last.facts, "order": f"{name}{sure}", "order_tree": steps}
    return replace(last, facts=facts, readings=readings)


EXPERIMENT = Orders()
