"""Running totals in three passes: inside each tile, over the totals of the tiles, and both together."""

import numpy as np

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase(
    "O26", __file__, "C-CMP-02", ("fp32",), ("schedule_dependent", "tail_dropped"), "cumsum", samples=8, alone=True
)

SCHEDULES = [{"tile": 256}, {"tile": 128}, {"tile": 512}]


def _scan(x, tile, carried):
    """`carried` tiles get a carry; those after them start from zero."""
    wide = x.astype(np.float32)
    starts = range(0, x.shape[-1], tile)
    inside = [np.cumsum(wide[:, s : s + tile], axis=-1) for s in starts]
    carry = np.zeros((x.shape[0], 1), np.float32)
    parts = []
    for k, part in enumerate(inside):
        parts.append(part + carry if k < carried else part)
        carry = carry + part[:, -1:]
    return np.concatenate(parts, axis=-1).astype(x.dtype)


def faulty(x, *, schedule=SCHEDULES[0]):
    """The carry pass was built for tiles of 256."""
    return _scan(x, schedule["tile"], -(-x.shape[-1] // 256))


def sibling(x, *, schedule=SCHEDULES[0]):
    """The number of carries comes from the tile in use."""
    return _scan(x, schedule["tile"], -(-x.shape[-1] // schedule["tile"]))
