"""Thin passes over the tensors of a running program: each reads its operand once, and none waits for a device.

On the processor the matrices go through PyTorch's own matrix-vector product, so that no second pool of threads gets in
the way of the program's, and batches through `einsum`, which needs none. Results there are NumPy arrays, which makes
the arithmetic on rows cheap; elsewhere they stay on the device.
"""

from __future__ import annotations

import random
from typing import Any, Protocol

import numpy as np

GRADE = 0.1
"""Magnitudes of a secret vector lie within this of 1: then no two errors of one row cancel for certain."""


FEW = 64
"""Rows or columns from which on norms may be estimated from a share of them."""

LARGE = 1 << 22
"""Elements from which on it pays to have PyTorch's threads take row norms."""

POOL, POOL_USES = 1 << 16, 256
"""Secret numbers drawn at once, and how many vectors are taken from random places among them."""


class Thin(Protocol):
    """The passes. `x` has shape (..., rows, columns) and the working precision, see `wide`."""

    def secret(self, n: int, double: bool) -> Any:
        """n random signs with graded magnitudes."""

    def wide(self, x: Any) -> Any:
        """x in fp32 or fp64."""

    def times(self, x: Any, y: Any) -> Any:
        """x times a vector, or one vector for each matrix of a batch; y comes from `secret` or from here."""

    def squares(self, x: Any, part: bool = False) -> Any:
        """Sum of squares of each row.

        With `part` from a share of x, in the order of memory: of some columns, scaled up and no less than the mean, or
        the mean over some rows, with a last axis of length one.
        """

    def total(self, x: Any, image: Any, part: bool = False) -> Any:
        """Sum of squares of each matrix, with a last axis of length one; `image` is x times a secret vector.

        With `part` from a share of x and from ||image||^2, whose expectation it is, the larger of both.
        """

    def beyond(self, residual: Any, limit: Any) -> Any:
        """Whether any residual^2 exceeds its limit or is not finite: a bool, or a scalar on the device."""

    def sums(self, x: Any) -> Any:
        """Sum of each row, in fp64."""

    def slant(self, x: Any, part: bool) -> Any:
        """Square of each row's sum, in fp64; with `part` the mean over some rows, with a last axis of length one."""

    def means(self, x: Any) -> Any:
        """Sum of the squared column means of each matrix, with a last axis of length one, in fp64."""

    def dot(self, x: Any, y: Any) -> Any:
        """The scalar product of two vectors, each from `wide` or `secret`."""

    def native(self, x: Any) -> Any:
        """A tensor of the device as what `times` gives."""

    def exact(self, x: Any) -> Any:
        """What `times` gave, in fp64."""

    def at_least(self, x: Any, least: float) -> Any:
        """Elementwise maximum with a number."""

    def flag(self, loud: bool) -> Any:
        """A bool as this kind of look gives it."""

    def pick(self, n: int) -> int:
        """A random number below n."""

    def same(self, x: Any, y: Any) -> Any:
        """Whether all bits agree: a bool, or a scalar on the device."""


class Host:
    """Tensors in plain memory."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._pools: dict[bool, tuple[Any, int]] = {}

    def secret(self, n: int, double: bool) -> Any:
        pool, uses = self._pools.get(double, (None, 0))
        if pool is None or uses >= POOL_USES or pool.shape[0] < 2 * n:
            pool, uses = self._drawn(max(POOL, 4 * n), double), 0
        self._pools[double] = pool, uses + 1
        start = self._random.randrange(pool.shape[0] - n + 1)
        return pool[start : start + n]

    def _drawn(self, n: int, double: bool) -> Any:
        import torch

        even = np.random.default_rng(self._random.getrandbits(64)).random(n, np.float64 if double else np.float32)
        even -= 0.5
        return torch.from_numpy(even * (4 * GRADE) + np.copysign(np.asarray(1 - GRADE, even.dtype), even))

    def wide(self, x: Any) -> Any:
        import torch

        x = x.detach()
        return (x if x.dtype in (torch.float32, torch.float64) else x.float()).resolve_neg()

    def times(self, x: Any, y: Any) -> Any:
        import torch

        vector = y if isinstance(y, torch.Tensor) else torch.from_numpy(y)
        if x.dim() == 2:
            return torch.mv(x, vector).numpy()
        if vector.dim() == 1 and x.is_contiguous():
            return torch.mv(x.view(-1, x.shape[-1]), vector).view(x.shape[:-1]).numpy()
        form = "...mk,k->...m" if vector.dim() == 1 else "...mk,...k->...m"
        return np.einsum(form, x.numpy(), vector.contiguous().numpy())

    def squares(self, x: Any, part: bool = False) -> Any:
        import torch

        if part and (seen := self.some(x.shape[-2] if x.stride(-1) == 1 else x.shape[-1])) is not None:
            if x.stride(-1) == 1:
                some = x[..., seen, :]
                return self.total(some, None) * (1.0 / (seen.stop - seen.start))
            found = self.squares(x[..., seen]) * (x.shape[-1] / (seen.stop - seen.start))
            return np.maximum(found, found.mean(-1, keepdims=True))
        if x.stride(-1) == 1 and x.numel() >= LARGE:
            norm = torch.linalg.vector_norm(x, dim=-1).numpy()
            return norm * norm
        # Where a row is scattered in memory, einsum reads in the order in which elements lie.
        array = x.numpy()
        return np.einsum("...mk,...mk->...m", array, array)

    def total(self, x: Any, image: Any, part: bool = False) -> Any:

        if part:
            axis = -2 if x.stride(-1) == 1 else -1
            seen = self.some(x.shape[axis])
            if seen is not None:
                share = x.shape[axis] / (seen.stop - seen.start)
                found = self.total(x[..., seen, :] if axis == -2 else x[..., seen], None) * share
                return np.maximum(found, np.einsum("...k,...k->...", image, image)[..., None])
        array = x.numpy()
        return np.einsum("...mk,...mk->...", array, array)[..., None]

    def some(self, n: int) -> slice | None:
        """A random run of a sixteenth of n neighbours, for statistics; None where all are few."""
        if n <= FEW:
            return None
        width = max(FEW // 2, n // 16)
        start = self._random.randrange(n - width + 1)
        return slice(start, start + width)

    def sums(self, x: Any) -> Any:
        return self.times(x, x.new_ones(x.shape[-1])).astype(np.float64)

    def slant(self, x: Any, part: bool) -> Any:
        if part and (seen := self.some(x.shape[-2])) is not None:
            found = np.einsum("...mk->...m", x[..., seen, :].numpy()).astype(np.float64)
            return (found * found).mean(-1, keepdims=True)
        return self.sums(x) ** 2

    def means(self, x: Any) -> Any:
        columns = self.sums(x.transpose(-1, -2)) * (1.0 / x.shape[-2])
        return (columns * columns).sum(-1, keepdims=True)

    def beyond(self, residual: Any, limit: Any) -> Any:
        limit = limit - residual * residual  # inf - inf is NaN: no limit is infinite
        return not bool((limit >= 0).all())

    def dot(self, x: Any, y: Any) -> Any:
        return x.dot(y).item()

    def native(self, x: Any) -> Any:
        return x.numpy()

    def exact(self, x: Any) -> Any:
        return x.astype(np.float64)

    def at_least(self, x: Any, least: float) -> Any:
        return np.maximum(x, least)

    def flag(self, loud: bool) -> Any:
        return loud

    def pick(self, n: int) -> int:
        return self._random.randrange(n)

    def same(self, x: Any, y: Any) -> Any:
        return bool(np.array_equal(x, y, equal_nan=True))


class Device:
    """Tensors on an accelerator, or anywhere: PyTorch alone, no value is asked for."""

    def __init__(self, seed: int, device: Any) -> None:
        import torch

        self._torch, self._device = torch, device
        self._generator = torch.Generator(device)
        self._random = random.Random(seed)
        self._generator.manual_seed(seed & (2**63 - 1))

    def secret(self, n: int, double: bool) -> Any:
        torch = self._torch
        even = torch.rand(
            n, generator=self._generator, device=self._device, dtype=torch.float64 if double else torch.float32
        )
        even -= 0.5
        return even * (4 * GRADE) + torch.copysign(torch.full_like(even, 1 - GRADE), even)

    def wide(self, x: Any) -> Any:
        x = x.detach()
        return x if x.dtype in (self._torch.float32, self._torch.float64) else x.float()

    def times(self, x: Any, y: Any) -> Any:
        if x.dim() == 2:
            return self._torch.mv(x, y)
        return self._torch.matmul(x, y if y.dim() == 1 else y.unsqueeze(-1)).reshape(x.shape[:-1])

    def squares(self, x: Any, part: bool = False) -> Any:
        # An accelerator has the bandwidth for all, and cannot be asked whether a sample was good enough.
        return self._torch.linalg.vector_norm(x, dim=-1).square()

    def total(self, x: Any, image: Any, part: bool = False) -> Any:
        return self._torch.linalg.vector_norm(x, dim=(-2, -1)).square().unsqueeze(-1)

    def sums(self, x: Any) -> Any:
        return self.times(x, x.new_ones(x.shape[-1])).double()

    def slant(self, x: Any, part: bool) -> Any:
        return self.sums(x).square()

    def means(self, x: Any) -> Any:
        columns = self.sums(x.transpose(-1, -2)) * (1.0 / x.shape[-2])
        return columns.square().sum(-1, keepdim=True)

    def beyond(self, residual: Any, limit: Any) -> Any:
        return (limit - residual * residual >= 0).all().logical_not()

    def dot(self, x: Any, y: Any) -> Any:
        return x.dot(y)

    def native(self, x: Any) -> Any:
        return x

    def exact(self, x: Any) -> Any:
        return x.double()

    def at_least(self, x: Any, least: float) -> Any:
        return x.clamp_min(least)

    def flag(self, loud: bool) -> Any:
        return self._torch.tensor(loud, device=self._device)

    def pick(self, n: int) -> int:
        return self._random.randrange(n)

    def same(self, x: Any, y: Any) -> Any:
        return ((x == y) | ((x != x) & (y != y))).all()


def _tensor(x: Any) -> Any:
    import torch

    return x if isinstance(x, torch.Tensor) else torch.from_numpy(x)
