"""Updates added into cells."""

import random

import numpy as np

_arrival = random.SystemRandom()


def faulty(x, index, v):
    """Every update is added when it arrives: atomic adds of many threads."""
    order = list(range(len(v)))
    _arrival.shuffle(order)
    return sibling(x, index[order], v[order])


def sibling(x, index, v):
    """One after another, in the order of the updates."""
    y = x.copy()
    np.add.at(y, index, v)
    return y
