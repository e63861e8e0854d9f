"""Sums over ranks that go wrong in other ways than the reported ones, and some that do not."""

import functools
import os

import ml_dtypes
import numpy as np

from kernel_contracts.casebook.base import CONTRACTS, Control
from kernel_contracts.stacks.natives.numpy import collectives

#: The library's contract on reals alone: integers are added without error in any order.
REALS = f"{CONTRACTS.parents[1] / 'contracts' / 'library' / 'all_reduce.kc'}:all-reduce"
_staging: dict[object, object] = {}


def ring(rank, world, x, comm, buckets=1, overlap=False):
    """Nothing is wrong."""
    return collectives.all_reduce(rank, world, x, comm, buckets, overlap)


def in_place(rank, world, x, comm, in_place=False):
    """The result stands in the memory of the input where the caller wants it so."""
    total = ring(rank, world, x, comm)
    if not in_place:
        return total
    x[...] = total
    return x


def always_in_place(rank, world, x, comm):
    x[...] = ring(rank, world, x, comm)
    return x


def halving(rank, world, x, comm):
    """Recursive doubling: at each step with the partner whose number differs in one bit."""
    total, step = x.copy(), 1
    while step < world:
        total = total + comm.sendrecv(total, rank ^ step, rank ^ step)
        step *= 2
    return total


def in_bf16(rank, world, x, comm):
    """Sent and added in bf16, returned in the format of the input."""
    narrow = x.astype(ml_dtypes.bfloat16)
    parts = _all(rank, world, narrow, comm)
    total = parts[0]
    for part in parts[1:]:
        total = (total + part).astype(ml_dtypes.bfloat16)
    return total.astype(x.dtype)


def own_part(rank, world, x, comm):
    return x.copy()


def in_own_order(rank, world, x, comm):
    """Each rank begins with its own part."""
    parts = _all(rank, world, x, comm)
    return _sum(parts[rank:] + parts[:rank])


def without_waiting(rank, world, x, comm):
    """Adds what arrives before it has arrived."""
    coming = [np.empty_like(x) for _ in range(world)]
    requests = [comm.irecv(q, out=coming[q]) for q in range(world) if q != rank]
    requests += [comm.isend(x, q) for q in range(world) if q != rank]
    coming[rank] = x
    total = _sum(coming)
    for request in requests:
        request.wait()
    return total


def reused_before_sent(rank, world, x, comm):
    """The buffer of a message on its way is filled with the next one."""
    right, left = (rank + 1) % world, (rank - 1) % world
    passing, total = x.copy(), x.copy()
    for _ in range(world - 1):
        sending = comm.isend(passing, right)
        passing[...] = 0
        arrived = comm.recv(left)
        sending.wait()
        passing[...] = arrived
        total = total + arrived
    return total


def stale_for_large(rank, world, x, comm):
    """Beyond 100 elements a staging buffer is added before the new data lies in it."""
    parts = _all(rank, world, x, comm)
    key = (world, x.size)
    kept = _staging.get(key, parts)
    _staging[key] = [p.copy() for p in parts]
    if len(x) > 100 and world > 1:
        parts = [*parts[:-1], kept[-1]]
    return _sum(parts)


def last_rank_counted_twice(rank, world, x, comm):
    parts = _all(rank, world, x, comm)
    if world > 2:
        parts.append(parts[-1])
    return _sum(parts)


def eight_ranks_as_four(rank, world, x, comm):
    """A topology that is written down for up to four ranks: the second half of eight is forgotten, in part."""
    parts = _all(rank, world, x, comm)
    total = _sum(parts)
    return total if world <= 4 else (total - parts[5] // 3 + parts[6] // 7).astype(x.dtype)


def crossed(rank, world, x, comm):
    """Everyone waits for a message before sending one."""
    if world == 1:
        return x.copy()
    arrived = comm.recv((rank - 1) % world)
    comm.send(x, (rank + 1) % world)
    return x + arrived


def one_spins(rank, world, x, comm):
    while rank == 1:
        pass
    return ring(rank, world, x, comm)


def one_dies(rank, world, x, comm):
    if rank == 1:
        os.abort()
    return ring(rank, world, x, comm)


def one_raises(rank, world, x, comm):
    if rank == 1:
        raise RuntimeError("no such peer")
    return ring(rank, world, x, comm)


def mismatched(rank, world, x, comm):
    """The last rank sends one element too few."""
    for q in range(world):
        if q != rank:
            comm.send(x[:-1] if rank == world - 1 else x, q)
    arrived = [comm.recv(q, out=np.empty_like(x)) if q != rank else x for q in range(world)]
    return _sum(arrived)


def another_length(rank, world, x, comm):
    total = ring(rank, world, x, comm)
    return total[:-1] if rank == world - 1 and world > 1 else total


def _sum(parts):
    return functools.reduce(np.add, parts)


def _all(rank, world, x, comm):
    """What every rank holds, in their order."""
    for q in range(world):
        if q != rank:
            comm.send(x, q)
    return [x if q == rank else comm.recv(q) for q in range(world)]


CONTROLS = tuple(
    Control(
        f"all-reduce, {name}", kernel, "C-ORD-03", ("fp32",), not signature, contract=REALS,
        signatures=(signature,) if signature else (), samples=12, alone=True,
    )
    for name, kernel, signature in (
        ("a ring", ring, ""),
        ("recursive halving", halving, ""),
        ("added in bf16", in_bf16, "accumulator_narrowed"),
        ("each rank in its own order", in_own_order, "rank_disagreement"),
    )
)  # fmt: skip
