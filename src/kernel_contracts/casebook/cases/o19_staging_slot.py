"""A sum over ranks by exchange, a few chunks staged at a time."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O19", __file__, "C-ORD-03", ("fp32",), ("early_read",), "all_reduce", samples=16, alone=True)

SLOTS, CHUNK = 2, 32


def _exchange(rank, world, x, comm, early):
    chunks = [x[k : k + CHUNK] for k in range(0, len(x), CHUNK)]
    slots = [np.resize(chunk, CHUNK) for chunk in chunks[:SLOTS]]
    total = np.empty_like(x)
    for c, own in enumerate(chunks):
        slot = slots[c % SLOTS]
        peers = [q for q in range(world) if q != rank]
        for q in peers:
            comm.send(slot[: len(own)], q)
        arrived = {q: comm.recv(q) for q in peers}  # every peer has sent its own, so it has taken ours
        if early:
            _refill(slots, chunks, c)
        parts = [slot[: len(own)] if q == rank else arrived[q] for q in range(world)]
        total[c * CHUNK : c * CHUNK + len(own)] = np.add.accumulate(parts)[-1]
        if not early:
            _refill(slots, chunks, c)
    return total


def _refill(slots, chunks, c):
    if c + SLOTS < len(chunks):
        coming = chunks[c + SLOTS]
        slots[c % SLOTS][: len(coming)] = coming


def faulty(rank, world, x, comm):
    """The slot is refilled as soon as the peers have the chunk, before the own one has been added."""
    return _exchange(rank, world, x, comm, early=True)


def sibling(rank, world, x, comm):
    """The slot is refilled after the addition."""
    return _exchange(rank, world, x, comm, early=False)
