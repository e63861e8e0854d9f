"""Squares in a module whose loading switches flushing on, as start-up code of fast mathematics does."""

import torch

torch.set_flush_denormal(True)


def faulty(x):
    return x * x
