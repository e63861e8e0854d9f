"""Operations on ranks in NumPy, around a ring: each rank talks to its two neighbours, a chunk of a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernel_contracts.stacks.natives.numpy._arrays import Array, wide

Comm = Any


def all_reduce(rank: int, world: int, x: Array, comm: Comm, buckets: int = 1, overlap: bool = False) -> Array:
    total = _accumulator(x).reshape(-1)
    pieces = [np.array_split(part, world) for part in np.array_split(total, buckets)]
    _drive([_reduce(comm, chunks, tag, 1) for tag, chunks in enumerate(pieces)], overlap)
    _drive([_gather(comm, chunks, tag, 1) for tag, chunks in enumerate(pieces)], overlap)
    return np.asarray(total.reshape(x.shape).astype(x.dtype))


def all_reduce_max(rank: int, world: int, x: Array, comm: Comm) -> Array:
    largest = np.array(x)
    everybodys = all_gather(rank, world, x, comm).reshape(world, *x.shape)
    for other in everybodys:
        largest = np.maximum(largest, other)
    return largest


def reduce_scatter(rank: int, world: int, x: Array, comm: Comm, buckets: int = 1, overlap: bool = False) -> Array:
    total = _accumulator(x).reshape(world, -1)
    pieces = [list(part) for part in np.array_split(total, buckets, axis=1)]
    _drive([_reduce(comm, chunks, tag, 0) for tag, chunks in enumerate(pieces)], overlap)
    return np.asarray(total[rank].astype(x.dtype))


def all_gather(rank: int, world: int, x: Array, comm: Comm, buckets: int = 1, overlap: bool = False) -> Array:
    out = np.empty((world, x.size), x.dtype)
    out[rank] = x.reshape(-1)
    pieces = [list(part) for part in np.array_split(out, buckets, axis=1)]
    _drive([_gather(comm, chunks, tag, 0) for tag, chunks in enumerate(pieces)], overlap)
    return out.reshape(-1)


def broadcast(
    rank: int, world: int, x: Array, comm: Comm, root: int = 0, buckets: int = 1, overlap: bool = False
) -> Array:
    """Along a tree: with each step twice as many ranks have it."""
    y = x.copy() if rank == root else np.empty_like(x)
    place, reach = (rank - root) % world, 1
    while reach < world:
        if place < reach and place + reach < world:
            comm.send(y, (rank + reach) % world)
        elif reach <= place < 2 * reach:
            comm.recv((rank - reach) % world, out=y)
        reach *= 2
    return y


def _accumulator(x: Array) -> Array:
    """A copy to add up in: float32 at least, integers as they are."""
    return np.array(x if x.dtype.kind in "iu" else wide(x))


def _reduce(comm: Comm, chunks: Sequence[Array], tag: int, ahead: int) -> Iterator[None]:
    """Adds up chunk after chunk around the ring; the rank's own sum ends in chunk `rank + ahead`."""
    rank, world = comm.rank + ahead - 1, comm.world
    for step in range(world - 1):
        mine, into = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        arriving = comm.irecv((comm.rank - 1) % world, out=np.empty_like(into), tag=tag)
        sending = comm.isend(mine, (comm.rank + 1) % world, tag=tag)
        yield
        into += arriving.wait()
        sending.wait()


def _gather(comm: Comm, chunks: Sequence[Array], tag: int, ahead: int) -> Iterator[None]:
    """Passes every chunk around the ring; each rank begins with chunk `rank + ahead`."""
    rank, world = comm.rank + ahead, comm.world
    for step in range(world - 1):
        arriving = comm.irecv((comm.rank - 1) % world, out=chunks[(rank - step - 1) % world], tag=tag)
        sending = comm.isend(chunks[(rank - step) % world], (comm.rank + 1) % world, tag=tag)
        yield
        arriving.wait()
        sending.wait()


def _drive(pieces: Sequence[Iterator[None]], overlap: bool) -> None:
    """Brings every piece to its end: one after another, or with `overlap` a step of each in turn."""
    if not overlap:
        for piece in pieces:
            for _ in piece:
                pass
        return
    running = list(pieces)
    while running:
        running = [piece for piece in running if next(piece, _END) is not _END]


_END = object()
