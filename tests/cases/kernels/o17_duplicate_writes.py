"""Updates written into cells."""

import random

_arrival = random.SystemRandom()


def faulty(x, index, v):
    """Written when they arrive: of several writes to one cell any may stay."""
    order = list(range(len(v)))
    _arrival.shuffle(order)
    return sibling(x, index[order], v[order])


def sibling(x, index, v):
    """Written in order: the last one stays."""
    y = x.copy()
    for t in range(len(v)):
        y[index[t]] = v[t]
    return y
