"""Updates written into cells."""

import random

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O17", __file__, "C-ORD-02", ("fp32",), ("run_dependent",), "scatter", samples=3, alone=True)

_arrival = random.SystemRandom()


def faulty(base, updates, index):
    """Written when they arrive: of several writes to one cell any may stay."""
    order = list(range(len(updates)))
    _arrival.shuffle(order)
    return sibling(base, updates[order], index[order])


def sibling(base, updates, index):
    """Written in order: the last one stays."""
    y = base.copy()
    for t in range(len(updates)):
        y[index[t]] = updates[t]
    return y
