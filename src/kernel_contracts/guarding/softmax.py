"""Softmax by its invariant: weights of a row sum to one. A second look compares every weight of a row with the scores.

A computed weight errs relatively by at most u (2 |t| + 2 T + 4 e + n + 5), t its exponent, T the mean of |t| under the
weights and e the ulp of an exponential (see `checksums.check_softmax`). Weighted and summed over a row, and with
T <= 1 + ln n (T is the entropy less the logarithm of a sum that is 1 or more), the sum is within
u (4 ln n + 4 e + n + 9) of one; adding it up errs by n u more, and rounding of narrow weights by half a spacing each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.formats import FORMATS
from kernel_contracts.guarding.arithmetic import formats
from kernel_contracts.guarding.attention import EXP_ULP
from kernel_contracts.guarding.kit import UNSEEN, Call, Kit, Unseen
from kernel_contracts.guarding.rows import Place, Row, RowsCheck, judged, redone

LOOKED_AT = 12
"""Rows that a second look recomputes."""


@dataclass(slots=True)
class Softmax:
    """out = softmax of scores along the last axis."""

    scores: Any
    out: Any
    operation: str = "softmax"
    partial: bool = False

    @property
    def work(self) -> float:
        return float(self.out.numel())

    @property
    def flops(self) -> float:
        return 0.0

    @property
    def tensors(self) -> tuple[Any, ...]:
        return (self.scores, self.out)

    @property
    def result(self) -> Any:
        return self.out

    @property
    def _u(self) -> float:
        return FORMATS["fp64" if formats()[self.out.dtype] == "fp64" else "fp32"].u

    @property
    def limit(self) -> float:
        """How far the sum of an honest row may be from one."""
        n, out = self.out.shape[-1], FORMATS[formats()[self.out.dtype]]
        own = float(self._u) * (4 * math.log(n) + 4 * EXP_ULP + 2 * n + 9) + n * out.least_normal
        return float(own if out.precision >= 24 else own + out.u)

    def glance(self, kit: Kit, *, fresh: bool = False) -> tuple[Any, Any]:
        sums = self._sums(kit)
        return kit.thin.beyond(kit.thin.exact(sums) - 1.0, self.limit**2), sums

    def _sums(self, kit: Kit) -> Any:
        out = kit.thin.wide(self.out)
        return kit.thin.times(out, out.new_ones(out.shape[-1]))

    def unchanged(self, kit: Kit, seen: Any) -> bool:
        return bool(kit.thin.same(self._sums(kit), seen))

    def examine(self, kit: Kit, seed: int) -> RowsCheck:
        return judged(self._rows())

    def repair(self, kit: Kit, seed: int, again: Callable[[], Any]) -> tuple[Place, ...]:
        return redone((self.out,), again, self._rows)

    def _rows(self) -> list[Row]:
        """The rows whose sums are farthest from one, where scores are finite."""
        off = (self.out.detach().double().sum(-1) - 1).abs().nan_to_num(nan=math.inf)
        first = off.flatten().topk(min(LOOKED_AT, off.numel())).indices.tolist()
        places = [tuple(int(i) for i in np.unravel_index(index, tuple(off.shape))) for index in first]
        return [row for place in places if (row := self._row(place)) is not None]

    def _row(self, place: Place) -> Row | None:
        s, got = (x[place].detach().double().cpu().numpy() for x in (self.scores, self.out))
        if np.isnan(s).any() or np.isposinf(s).any() or not np.isfinite(s).any():
            return None
        t, u = s - s.max(), self._u
        truth = np.exp(t)
        truth /= truth.sum()
        far = np.where(truth > 0, -t, 0.0)
        relative = u * (2 * far + 2 * float(truth @ far) + 4 * EXP_ULP + s.size + 5)
        out = FORMATS[formats()[self.out.dtype]]
        bound = truth * relative + 2 * out.u * truth + max(out.least_normal, FORMATS["fp32"].least_normal)
        return Row("softmax ", (0, *place), got, truth, bound)


def understand(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Call | Unseen | None:
    """A softmax along the last axis."""
    x, dim = args[0], int(args[1])
    if x.numel() == 0 or x.dim() == 0:
        return None
    if dim % x.dim() != x.dim() - 1 or x.dtype not in formats() or out.dtype not in formats():
        return UNSEEN
    return Softmax(x, out)
