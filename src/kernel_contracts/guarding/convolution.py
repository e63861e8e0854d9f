"""Convolutions and their gradients: each is a product, whose first look is a convolution of one channel.

Three bilinear maps do all of it. `forward` sums x over windows, `adjoint` is the gradient of its input and also the
transposed convolution, `weight` the gradient of its weights. With the channels of the result weighted by a secret
vector each becomes the same map with one channel, which costs that share of the original. A second look writes the
map as windows times kernels and leaves it to `check_product`. The gradient of a bias is not verified.

For the processor: elsewhere libraries choose algorithms (Winograd, FFT) whose errors no bound for sums covers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.guarding.arithmetic import formats
from kernel_contracts.guarding.geometry import Geometry, Kind, geometry
from kernel_contracts.guarding.kit import UNSEEN, Call, Kit, Unseen
from kernel_contracts.guarding.spread import MEANS, spread
from kernel_contracts.numerics.freivalds.arrays import host
from kernel_contracts.numerics.freivalds.checksums import check_convolution, windows
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.verdict import ProductCheck


@dataclass(frozen=True, slots=True)
class Convolution:
    """result = map(left, right) + bias."""

    kind: Kind
    left: Any
    right: Any
    result: Any
    bias: Any
    geometry: Geometry
    index: int = 0
    """Which result of the operation this is."""
    partial: bool = False

    @property
    def operation(self) -> str:
        return {"forward": "convolution", "adjoint": "convolution_transposed", "weight": "convolution_weight"}[
            self.kind
        ]

    @property
    def work(self) -> float:
        return float(sum(x.numel() for x in self.tensors))

    @property
    def flops(self) -> float:
        """Two for each element of a window, of the side that has windows."""
        side = self.result if self.kind == "forward" else self.left
        weights = self.result if self.kind == "weight" else self.right
        outputs = int(np.prod(side.shape[2:])) * side.shape[0]
        return float(2 * outputs * weights.numel())

    @property
    def tensors(self) -> tuple[Any, ...]:
        return (self.left, self.right, *(() if self.bias is None else (self.bias,)), self.result)

    @property
    def terms(self) -> int:
        """Length of the sums."""
        if self.kind == "weight":
            return int(self.left.shape[0] * np.prod(self.left.shape[2:]))
        size = int(np.prod(self.geometry.kernel))
        channels = self.left.shape[1] // self.geometry.groups
        return int(channels * size)

    @property
    def columns(self) -> int:
        """Channels of the result in each group: what the secret vector runs over."""
        axis = 0 if self.kind == "weight" else 1
        return int(self.result.shape[axis] // self.geometry.groups)

    def glance(self, kit: Kit, *, fresh: bool = False) -> tuple[Any, tuple[Any, ...]]:
        thin = kit.thin
        left, right, result = (thin.wide(x) for x in (self.left, self.right, self.result))
        double = formats()[left.dtype] == "fp64"
        r = thin.secret(self.columns, double)
        expected, found = self._expected(thin, left, right, r), self._projected(thin, result, r)
        site = (self.operation, left.shape, right.shape)
        q = self._squares(thin, left, right, even=not fresh and site not in kit.uneven)
        name, own = formats()[self.result.dtype], "fp64" if double else "fp32"
        z, residual = thin.exact(expected), thin.exact(found)
        s = spread(
            int(np.prod(z.shape)), self.terms, self.columns, 1.0, self.bias is not None, self._narrow or own, name,
            kit.declared(self).operands, own, kit.false_alarm,
        )  # fmt: skip
        limit = thin.at_least(z * z - (4 * MEANS) * q, 0.0)
        limit *= s.norms
        limit += (s.squares + MEANS * s.norms) * q + s.constant
        if self.bias is not None:
            b = thin.wide(self.bias).reshape(self.geometry.groups, self.columns)
            z = z + self._by_group(thin.exact(thin.times(b, r)), z)
            limit += s.added * self._by_group(thin.squares(b), z)
        flag = thin.beyond(z - residual, limit)
        if fresh and flag is False:
            kit.uneven.add(site)
        return flag, (r, expected, found)

    @property
    def _narrow(self) -> str:
        """The format in which partial sums may be kept: some of PyTorch's kernels add up fp16 and bf16 as they are."""
        name = formats()[self.result.dtype]
        return name if name in ("fp16", "bf16") else ""

    @property
    def a(self) -> Any:
        """What PyTorch's settings for products are asked about."""
        return self.left

    def _by_group(self, x: Any, like: Any) -> Any:
        """One number for each group, beside the groups of z."""
        return x.reshape(-1, *([1] * (len(like.shape) - 2)))

    def _expected(self, thin: Any, left: Any, right: Any, r: Any) -> Any:
        """The map of one channel: (N, groups, ...), or (groups, channels, kernel) for weights."""
        g, shape = self.geometry.groups, self.result.shape[2:]
        if self.kind == "weight":
            return thin.native(self.geometry.narrow("weight", self._summed(left, r, g), right, shape))
        if self.kind == "forward":
            one = (right.unflatten(0, (g, -1)) * r.view(1, -1, *([1] * (right.dim() - 1)))).sum(1)
        else:
            one = (right * r.view(1, -1, *([1] * (right.dim() - 2)))).sum(1, keepdim=True)
        return thin.native(self.geometry.narrow(self.kind, left, one, shape))

    @staticmethod
    def _summed(x: Any, r: Any, groups: int) -> Any:
        """Channels of each group weighted: (N, C, ...) to (N, groups, ...)."""
        flat = x.flatten(2).unflatten(1, (groups, -1))
        return (r @ flat).view(x.shape[0], groups, *x.shape[2:])

    def _projected(self, thin: Any, result: Any, r: Any) -> Any:
        """The result with its channels weighted, in the shape of `_expected`."""
        g = self.geometry.groups
        if self.kind == "weight":
            flat = result.flatten(1).unflatten(0, (g, -1)).transpose(1, 2)
            return thin.times(flat, r).reshape(g, *result.shape[1:])
        flat = result.flatten(2).unflatten(1, (g, -1)).transpose(2, 3)
        return thin.times(flat, r).reshape(result.shape[0], g, *result.shape[2:])

    def _squares(self, thin: Any, left: Any, right: Any, *, even: bool) -> Any:
        """Q: the energy of each sum's window times the mean energy of what meets it."""
        g, k = self.geometry.groups, self.terms
        if self.kind == "weight":
            energy, wide = _energies(left, g).sum(0) / k, right
        else:
            # Weights are (out, in / groups) for both maps; the adjoint's sums run over `out`.
            energy, wide = _energies(right.unsqueeze(0).flatten(1, 2), g)[0] / k, left
        if even:
            q = _energies(wide, g) * (k * g / (wide[0].numel()))
            q = (q.mean(0) if self.kind == "weight" else q) * energy
            return thin.exact(thin.native(q.reshape(*q.shape, *([1] * (self.result.dim() - q.dim())))))
        squares, shape = wide.square(), self.result.shape[2:]
        if self.kind == "weight":
            ones = left.new_ones((left.shape[0], g, *left.shape[2:]))
            q = self.geometry.narrow("weight", ones, squares, shape)
        else:
            inner = right.shape[1] if self.kind == "forward" else 1
            outer = g if self.kind == "forward" else right.shape[0]
            q = self.geometry.narrow(self.kind, squares, right.new_ones((outer, inner, *self.geometry.kernel)), shape)
        lead = 1 if self.kind == "weight" else 2
        return thin.exact(thin.native(q * energy.view(-1, *([1] * (q.dim() - lead)))))

    def unchanged(self, kit: Kit, seen: tuple[Any, ...]) -> bool:
        r, expected, found = seen
        left, right, result = (kit.thin.wide(x) for x in (self.left, self.right, self.result))
        same = kit.thin.same
        return bool(same(self._expected(kit.thin, left, right, r), expected)) and bool(
            same(self._projected(kit.thin, result, r), found)
        )

    def examine(self, kit: Kit, seed: int) -> ProductCheck:
        return self._check(self.result, kit, seed)

    def _check(self, result: Any, kit: Kit, seed: int) -> ProductCheck:
        g, operands = self.geometry, kit.declared(self).operands
        how: dict[str, Any] = {"false_alarm": kit.false_alarm, "seed": seed}
        how |= {"operands": operands, "accumulate": self._narrow}
        left, right = host(self.left), host(self.right)
        if self.kind == "forward":
            how |= {"stride": g.stride, "padding": g.padding, "dilation": g.dilation, "groups": g.groups}
            return check_convolution(left, right, result, bias=self.bias, **how)
        if self.kind == "adjoint":
            wide = g.spaced(left, result.shape[2:])
            kernels = right.reshape(g.groups, -1, *right.shape[1:]).swapaxes(1, 2)
            kernels = np.flip(kernels.reshape(-1, *kernels.shape[2:]), tuple(range(2, right.ndim)))
            return check_convolution(wide, kernels, result, dilation=g.dilation, groups=g.groups, bias=self.bias, **how)
        a = windows(right, g.kernel, g.stride, g.padding, g.dilation)  # (N, positions, C, kernel)
        n, p = a.shape[:2]
        b = a.reshape(n, p, g.groups, -1).transpose(2, 0, 1, 3).reshape(g.groups, n * p, -1)
        first = left.reshape(n, g.groups, -1, p).transpose(1, 2, 0, 3).reshape(g.groups, -1, n * p)
        return check_product(first, b, host(result).reshape(g.groups, self.columns, -1), **how)

    def repair(self, kit: Kit, seed: int, again: Callable[[], Any]) -> tuple[tuple[int, ...], ...]:
        """The whole result replaced by that of the same call done once more, if that one conforms."""
        fresh = again()
        fresh = fresh[self.index] if isinstance(fresh, tuple | list) else fresh
        before = self._check(self.result, kit, seed)
        if not self._check(fresh, kit, seed).ok:
            return ()
        self.result.copy_(fresh)
        return tuple((*f.batch, f.row) for f in before.faults) or ((0,),)


def _energies(x: Any, groups: int) -> Any:
    """Sums of squares of the channels of each group of each image: (N, groups)."""
    import torch

    return torch.linalg.vector_norm(x.reshape(x.shape[0], groups, -1), dim=2).square()


def _verifiable(*tensors: Any) -> bool:
    return all(x.device.type == "cpu" and x.dtype in formats() and x.numel() and x.dim() > 2 for x in tensors)


def understand(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Call | Unseen | None:
    """The convolution, transposed or not, that was computed."""
    x, w, bias, stride, padding, dilation, transposed, _, groups = args
    if not _verifiable(x, w, out):
        return UNSEEN if out.numel() else None
    kind: Kind = "adjoint" if transposed else "forward"
    return Convolution(kind, x, w, out, bias, geometry(stride, padding, dilation, groups, w))


def understand_backward(
    name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any
) -> tuple[Call, ...] | Unseen | None:
    """The gradients of input and weights, as far as they were asked for."""
    grad, x, w, _, stride, padding, dilation, transposed, _, groups, mask = args
    results = [y for y, wanted in zip(out[:2], mask[:2], strict=True) if wanted]
    if not results:
        return None
    if not _verifiable(grad, x, w, *results):
        return UNSEEN
    lies = geometry(stride, padding, dilation, groups, w)
    spare = lies.rest(x.shape[2:], grad.shape[2:]) if transposed else []
    if any(n >= s for n, s in zip(spare, lies.stride, strict=False)):
        return UNSEEN  # the output is so much padded that more windows fit into it than there were inputs
    calls: list[Call] = []
    if mask[0]:
        calls.append(Convolution("forward" if transposed else "adjoint", grad, w, out[0], None, lies))
    if mask[1]:
        left, right = (x, grad) if transposed else (grad, x)
        calls.append(Convolution("weight", left, right, out[1], None, lies, 1))
    return tuple(calls)
