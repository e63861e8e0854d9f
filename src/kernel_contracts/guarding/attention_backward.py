"""The gradient of fused attention: some rows of each of the three results, recomputed exactly; and no NaN elsewhere.

With P = exp(S - lse) from the stored lse, D = dO V^T and delta = rowsum(dO o O) from the stored O: dV = P^T dO,
dS = P o (D - delta), dQ = scale dS K, dK = scale dS^T Q. Bounds are worst cases, as in `attention`. What is not
verified: finite errors in other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_contracts.formats import FORMATS
from kernel_contracts.guarding.attention import BLOCK, EXP_ULP, VIOLATORS, Array, Inputs, array, draw, given
from kernel_contracts.guarding.kit import UNSEEN, Call, Kit, Unseen
from kernel_contracts.guarding.rows import Place, Row, RowsCheck, judged, redone

_NAMES = ("gradient of q ", "gradient of k ", "gradient of v ")


@dataclass(slots=True)
class AttentionBackward:
    """The gradients of q, k and v."""

    inputs: Inputs
    grad: Any
    out: Any
    lse: Any
    results: tuple[Any, Any, Any]
    places: list[Place] = field(default_factory=list)
    """Result, batch, head, row."""
    operation: str = "attention_backward"
    partial: bool = True

    @property
    def work(self) -> float:
        return float(sum(x.numel() for x in self.tensors))

    @property
    def flops(self) -> float:
        return float(10 * self.inputs.q.numel() * self.inputs.k.shape[2])

    @property
    def tensors(self) -> tuple[Any, ...]:
        return (self.grad, self.inputs.q, self.inputs.k, self.inputs.v, self.out, self.lse, *self.results)

    @property
    def result(self) -> Any:
        return self.results[0]

    def glance(self, kit: Kit, *, fresh: bool = False) -> tuple[Any, Any]:
        if not self.places:
            self.places = [(n, *place) for n, x in enumerate(self.results) for place in draw(kit, x, 1)]
        rows = self._rows()
        loud = any(row.wrong.size for row in rows) or not all(np.isfinite(x.sum().item()) for x in self.results)
        return kit.thin.flag(loud), [row.got for row in rows]

    def unchanged(self, kit: Kit, seen: Any) -> bool:
        return all(np.array_equal(x, row.got, equal_nan=True) for x, row in zip(seen, self._rows(), strict=True))

    def examine(self, kit: Kit, seed: int) -> RowsCheck:
        for n, x in enumerate(self.results):
            odd = np.argwhere(~np.isfinite(x.detach().float().sum(-1).numpy()))[:VIOLATORS]
            self.places = list(dict.fromkeys([*self.places, *((n, *(int(i) for i in place)) for place in odd)]))
        return judged(self._rows())

    def repair(self, kit: Kit, seed: int, again: Callable[[], Any]) -> tuple[Place, ...]:
        return redone(self.results, again, self._rows)

    def _rows(self) -> list[Row]:
        found = [self._row(place) for place in self.places]
        return [row for row in found if row is not None]

    def _row(self, place: Place) -> Row | None:
        which, b, h, i = place
        one, every = slice(i, i + 1), slice(None)
        parts = self._parts(b, h, *((one, every) if which == 0 else (every, one)))
        if parts is None:
            return None
        p, p_error, ds, ds_error = parts
        x, scale = self.inputs, abs(self.inputs.scale)
        if which == 0:
            weights, errors, other, factor = ds[0], ds_error[0], x.keys(b, h)[0], x.scale
        elif which == 1:
            weights, errors, other, factor = ds[:, 0], ds_error[:, 0], array(x.q[b, h]), x.scale
        else:
            weights, errors, other, factor, scale = p[:, 0], p_error[:, 0], array(self.grad[b, h]), 1.0, 1.0
        truth = factor * (weights @ other)
        size = np.abs(weights) @ np.abs(other)
        terms = weights.size
        # Narrow kernels may round what they add for each block, and operands before they multiply.
        blocks = -(-terms // BLOCK) + 1
        loose = (terms + 6) * x.u + x.cut + (blocks + 1) * FORMATS[x.format].u
        bound = scale * (errors @ np.abs(other) + loose * size) + FORMATS[x.format].least_normal
        got = array(self.results[which][b, h, i])
        return Row(_NAMES[which], place, got, truth, bound)

    def _parts(self, b: int, h: int, rows: slice, columns: slice) -> tuple[Array, Array, Array, Array] | None:
        """P and dS with how far honest ones may be from them; None where something is not finite."""
        x = self.inputs
        s, e_s = x.scores(b, h, rows, columns)
        v, grad, out = x.keys(b, h)[1][columns], array(self.grad[b, h])[rows], array(self.out[b, h])[rows]
        lse = array(self.lse[b, h])[rows][:, None]
        if np.isnan(s).any() or not all(np.isfinite(y).all() for y in (v, grad, out, lse)):
            return None
        p = np.exp(s - lse)
        size = np.where(p > 0, np.abs(np.where(np.isfinite(s), s, 0.0)) + np.abs(lse), 0.0)
        relative = np.expm1(e_s + 2 * x.u * size + 2 * EXP_ULP * x.u)
        p_error = p * (relative + x.cut) + FORMATS["fp32"].least_normal
        n = (grad.shape[-1] + 3) * x.u
        n = n / (1 - n)
        d, delta = grad @ v.T, np.sum(grad * out, axis=1)[:, None]
        d_error = n * np.abs(grad) @ np.abs(v).T
        delta_error = n * np.sum(np.abs(grad * out), axis=1)[:, None]
        inside = np.abs(d - delta)
        wrong = d_error + delta_error + 3 * x.u * (np.abs(d) + np.abs(delta)) + x.cut * inside
        ds_error = p_error * (inside + wrong) + p * wrong
        return p, p_error, p * (d - delta), ds_error


def understand(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Call | Unseen:
    """The gradient that PyTorch's fused kernel for processors computed."""
    grad, q, k, v, result, lse = args[:6]
    inputs = given((q, k, v, *args[6:]), kwargs, 3, 4)
    if inputs is None or q.shape[1] != k.shape[1]:
        return UNSEEN
    return AttentionBackward(inputs, grad, result, lse, (out[0], out[1], out[2]))
