"""A sum over ranks at a leader, which sends the result to all."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase("O21", __file__, "C-ORD-03", ("fp32",), ("send_buffer_mutated",), "all_reduce", samples=16, alone=True)


def _at_leader(rank, world, comm, total, x):
    if rank == 0:
        for q in range(1, world):
            total += comm.recv(q)
        for q in range(1, world):
            comm.send(total, q)
        return total.copy()
    comm.send(x, 0)
    return comm.recv(0)


def faulty(rank, world, x, comm):
    """The leader adds up in its send buffer, which belongs to its caller."""
    return _at_leader(rank, world, comm, x, x)


def sibling(rank, world, x, comm):
    """In memory of its own."""
    return _at_leader(rank, world, comm, np.array(x), x)
