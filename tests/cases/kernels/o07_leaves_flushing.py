"""Squares, computed with subnormal numbers flushed."""

import torch


def faulty(x):
    """The switch stays on: the caller's Python floats are flushed from now on."""
    torch.set_flush_denormal(True)
    return x * x


def sibling(x):
    """The same arithmetic, and the caller finds its thread as it was."""
    torch.set_flush_denormal(True)
    try:
        return x * x
    finally:
        torch.set_flush_denormal(False)
