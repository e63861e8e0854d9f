"""How the windows of a convolution lie, and its three bilinear maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

Kind = Literal["forward", "adjoint", "weight"]


@dataclass(frozen=True, slots=True)
class Geometry:
    """How windows lie; `kernel` are their extents."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    kernel: tuple[int, ...]

    def apply(self, kind: Kind, left: Any, right: Any, shape: Sequence[int]) -> Any:
        """The map. Left and right are x and w, g and w, or g and x; `shape` are the extents of the result."""
        import torch

        zero = [0] * len(self.stride)
        how = (list(self.stride), list(self.padding), list(self.dilation))
        convolution = torch.ops.aten.convolution.default
        if kind == "forward":
            return convolution(left, right, None, *how, False, zero, self.groups)
        if kind == "adjoint":
            return convolution(left, right, None, *how, True, self.rest(left.shape[2:], shape), self.groups)
        dummy = right.new_empty((left.shape[1], right.shape[1] // self.groups, *shape))
        backward = torch.ops.aten.convolution_backward.default
        return backward(left, right, dummy, None, *how, False, zero, self.groups, [False, True, False])[1]

    def narrow(self, kind: Kind, left: Any, right: Any, shape: Sequence[int]) -> Any:
        """The same map where it has one channel for each group.

        Without groups it is a product with as many columns as a window has elements, which reads its operand once,
        and shifted sums of those columns: several times faster than a convolution of one channel.
        """
        if self.groups > 1:
            return self.apply(kind, left, right, shape)
        if kind == "weight":
            small, large = left.shape[2:], right.shape[2:]
            moved = left.new_zeros((left.shape[0], int(np.prod(self.kernel)), *self._padded(large)))
            for index, where in enumerate(self._windows(small)):
                moved[(slice(None), index, *where)] = left[:, 0]
            moved = moved[(..., *self._inside(large))].flatten(2)
            return (moved @ right.flatten(2).transpose(1, 2)).sum(0).t().reshape(1, -1, *self.kernel)
        kernels = right.flatten(2)[0] if kind == "forward" else right.flatten(1)
        maps = (kernels.t() @ left.flatten(2)).unflatten(2, left.shape[2:])
        if kind == "adjoint":
            total = left.new_zeros((left.shape[0], *self._padded(shape)))
            for index, where in enumerate(self._windows(left.shape[2:])):
                total[(slice(None), *where)] += maps[:, index]
            return total[(slice(None), *self._inside(shape))].unsqueeze(1)
        if any(self.padding):
            wide = maps.new_zeros((*maps.shape[:2], *self._padded(left.shape[2:])))
            wide[(..., *self._inside(left.shape[2:]))] = maps
            maps = wide
        total = left.new_zeros((left.shape[0], *shape))
        for index, where in enumerate(self._windows(shape)):
            total += maps[(slice(None), index, *where)]
        return total.unsqueeze(1)

    def _padded(self, large: Sequence[int]) -> list[int]:
        return [n + 2 * p for n, p in zip(large, self.padding, strict=True)]

    def _inside(self, large: Sequence[int]) -> list[slice]:
        return [slice(p, p + n) for n, p in zip(large, self.padding, strict=True)]

    def _windows(self, small: Sequence[int]) -> Iterator[list[slice]]:
        """For each element of a window, the places on the padded side that it meets."""
        for offsets in product(*(range(k) for k in self.kernel)):
            parts = zip(offsets, self.dilation, self.stride, small, strict=True)
            yield [slice(o * d, o * d + (m - 1) * s + 1, s) for o, d, s, m in parts]

    def rest(self, small: Sequence[int], large: Sequence[int]) -> list[int]:
        """Elements of the larger side that no full window reaches."""
        parts = zip(small, large, self.stride, self.padding, self.dilation, self.kernel, strict=True)
        return [n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for m, n, s, p, d, k in parts]

    def spaced(self, x: Any, shape: Sequence[int]) -> Any:
        """x with zeros between its elements and around them: the adjoint is then a convolution without strides."""
        inner = [(m - 1) * s + 1 for m, s in zip(x.shape[2:], self.stride, strict=True)]
        reach = [d * (k - 1) for d, k in zip(self.dilation, self.kernel, strict=True)]
        out = np.zeros((*x.shape[:2], *(n + r for n, r in zip(shape, reach, strict=True))), x.dtype)
        left = [r - p for r, p in zip(reach, self.padding, strict=True)]
        apart = np.zeros((*x.shape[:2], *inner), x.dtype)
        apart[(slice(None), slice(None), *(slice(None, None, s) for s in self.stride))] = x
        to, source = [slice(None)] * 2, [slice(None)] * 2
        for start, m, n in zip(left, inner, out.shape[2:], strict=True):
            to.append(slice(max(start, 0), min(start + m, n)))
            source.append(slice(max(-start, 0), max(-start, 0) + min(start + m, n) - max(start, 0)))
        out[tuple(to)] = apart[tuple(source)]
        return out


def geometry(stride: Any, padding: Any, dilation: Any, groups: int, weight: Any) -> Geometry:
    """From the arguments that PyTorch gives: one number stands for all axes."""
    axes = weight.dim() - 2

    def each(v: Any) -> tuple[int, ...]:
        return tuple(int(n) for n in (v if len(v) == axes else list(v) * axes))

    return Geometry(each(stride), each(padding), each(dilation), int(groups), tuple(int(n) for n in weight.shape[2:]))
