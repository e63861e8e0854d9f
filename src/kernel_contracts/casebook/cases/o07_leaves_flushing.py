"""Squares, computed with subnormal numbers flushed."""

from kernel_contracts.casebook.base import FaultCase

CASE = FaultCase(
    "O07", __file__, "C-PRC-03", ("fp32", "fp64"), ("caller_state_changed",), contract="square_subnormal.kc", samples=6,
    alone=True, needs="torch",
)  # fmt: skip


def faulty(x):
    """The switch stays on: the caller's Python floats are flushed from now on."""
    import torch

    torch.set_flush_denormal(True)
    return x * x


def sibling(x):
    """The same arithmetic, and the caller finds its thread as it was."""
    import torch

    torch.set_flush_denormal(True)
    try:
        return x * x
    finally:
        torch.set_flush_denormal(False)
