"""Operations on ranks in PyTorch: torch.distributed over gloo, on this machine alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from kernel_contracts.stacks.natives.torch._arrays import Tensor, wide

Comm = Any

_JOINED: dict[str, dict[tuple[int, int], Any]] = {}
"""The groups that this process is in, by the directory that they met in, their size and the rank in them."""


def all_reduce(rank: int, world: int, x: Tensor, comm: Comm, buckets: int = 1, overlap: bool = False) -> Tensor:
    """In float32 at least: gloo itself adds bf16 and fp16 step by step in their own format."""
    group = _group(comm)
    total = _accumulator(x).reshape(-1)
    _each(lambda part: group.allreduce([part]), _parts(total, buckets), overlap)
    return total.reshape(x.shape).to(x.dtype)


def all_reduce_max(rank: int, world: int, x: Tensor, comm: Comm) -> Tensor:
    from torch import distributed

    largest, how = x.clone(), distributed.AllreduceOptions()
    how.reduceOp = distributed.ReduceOp.MAX
    _group(comm).allreduce([largest], how).wait()
    return largest


def reduce_scatter(rank: int, world: int, x: Tensor, comm: Comm, buckets: int = 1, overlap: bool = False) -> Tensor:
    import torch

    group = _group(comm)
    total = _accumulator(x).reshape(world, -1)
    parts = [part.contiguous() for part in total.tensor_split(buckets, dim=1) if part.numel()]
    mine = [torch.empty_like(part[0]) for part in parts]
    _each(lambda k: group.reduce_scatter(mine[k], list(parts[k])), range(len(parts)), overlap)
    return torch.cat([*mine, total[rank, :0]]).to(x.dtype)


def all_gather(rank: int, world: int, x: Tensor, comm: Comm, buckets: int = 1, overlap: bool = False) -> Tensor:
    import torch

    group = _group(comm)
    mine = _parts(x.contiguous().reshape(-1), buckets)
    parts = [[torch.empty_like(part) for _ in range(world)] for part in mine]
    _each(lambda k: group.allgather([parts[k]], [mine[k]]), range(len(parts)), overlap)
    return torch.cat([piece[q] for q in range(world) for piece in parts] or [x])


def broadcast(
    rank: int, world: int, x: Tensor, comm: Comm, root: int = 0, buckets: int = 1, overlap: bool = False
) -> Tensor:
    group = _group(comm)
    y = x.clone().reshape(-1)
    _each(lambda part: group.broadcast(part, root), _parts(y, buckets), overlap)
    return y.reshape(x.shape)


def _accumulator(x: Tensor) -> Tensor:
    """A copy to add up in: float32 at least, integers as they are."""
    return (wide(x) if x.is_floating_point() else x).clone()


def _parts(x: Tensor, buckets: int) -> list[Tensor]:
    return [part for part in x.tensor_split(buckets) if part.numel()]


def _each(begin: Callable[[Any], Any], pieces: Iterable[Any], overlap: bool) -> None:
    """Begins the work on every piece; with `overlap` all of them before the first is waited for."""
    begun = []
    for piece in pieces:
        begun.append(begin(piece))
        if not overlap:
            begun[-1].wait()
    for work in begun if overlap else ():
        work.wait()


def _group(comm: Comm) -> Any:
    """A gloo group of just these ranks, kept as long as they meet in the same directory.

    Groups of every size live side by side: torch.distributed's default group is one, and leaving it for another breaks
    the connections of the ranks that stay behind.
    """
    import torch.distributed as dist

    groups = _JOINED.setdefault(comm.directory, {})
    key = (comm.world, comm.rank)
    if key not in groups:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        store = dist.FileStore(f"{comm.directory}/gloo.{comm.world}", comm.world)
        groups[key] = dist.ProcessGroupGloo(store, comm.rank, comm.world, timedelta(seconds=60))
    return groups[key]
