"""Updates added into cells."""

import random

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O16", __file__, "C-ORD-02", ("fp32",), ("run_dependent",), "scatter_add", samples=3, alone=True)

_arrival = random.SystemRandom()


def faulty(base, updates, index):
    """Every update is added when it arrives: atomic adds of many threads."""
    order = list(range(len(updates)))
    _arrival.shuffle(order)
    return sibling(base, updates[order], index[order])


def sibling(base, updates, index):
    """One after another, in the order of the updates."""
    y = base.copy()
    np.add.at(y, index, updates)
    return y
