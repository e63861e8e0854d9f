"""Weights gathered piece by piece while the layers that use them run in another order than the pieces lie."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O20", __file__, "C-ORD-03", ("fp32",), ("stale_read",), "all_gather", samples=16, alone=True)

_kept: dict[object, object] = {}


class _Gathering:
    """One step: pieces are requested ahead, in the order in which they lie."""

    def __init__(self, x, comm, full, pieces):
        self.x, self.comm, self.full, self.pieces = x, comm, full, pieces
        self.pending, self.sent = {}, []

    def request(self, k):
        if k >= len(self.pieces) or k in self.pending:
            return
        self.pending[k] = []
        mine = np.ascontiguousarray(self.x[self.pieces[k]])
        for q in range(self.comm.world):
            if q != self.comm.rank:
                self.sent.append(self.comm.isend(mine, q, tag=k))
                self.pending[k].append((q, self.comm.irecv(q, tag=k)))

    def wait(self, k):
        self.full[self.comm.rank, self.pieces[k]] = self.x[self.pieces[k]]
        for q, message in self.pending[k]:
            self.full[q, self.pieces[k]] = message.wait()

    def finish(self):
        for k in range(len(self.pieces)):
            self.request(k)
            self.wait(k)
        for message in self.sent:
            message.wait()


def _step(x, comm, buckets, overlap, careful):
    key = (comm.world, x.size, x.dtype.name)
    pieces = np.array_split(np.arange(x.size), buckets)
    first = key not in _kept
    full = _kept.setdefault(key, np.empty((comm.world, x.size), x.dtype))
    gathering = _Gathering(x, comm, full, pieces)
    if first or not overlap:
        gathering.finish()
        return full.reshape(-1).copy()
    used = np.empty_like(full)
    execution = [0, *range(buckets - 1, 0, -1)]
    gathering.request(0)
    for step, k in enumerate(execution):
        if careful:
            gathering.request(k)
        if k in gathering.pending:
            gathering.wait(k)
        used[:, pieces[k]] = full[:, pieces[k]]
        gathering.request(step + 1)
    gathering.finish()
    return used.reshape(-1)


def faulty(rank, world, x, comm, buckets=1, overlap=False):
    """A piece without a pending request is used as it is: the weights of the step before."""
    return _step(x, comm, buckets, overlap, careful=False)


def sibling(rank, world, x, comm, buckets=1, overlap=False):
    """A piece is requested and waited for on first use."""
    return _step(x, comm, buckets, overlap, careful=True)
