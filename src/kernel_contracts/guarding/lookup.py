"""A look-up in a table copies rows: what is there must be, bit for bit, what another way of copying gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.guarding.kit import UNSEEN, Call, Kit, Unseen
from kernel_contracts.guarding.rows import Place, Row, RowsCheck, judged, redone

LOOKED_AT = 12
"""Wrong rows that are told."""


@dataclass(slots=True)
class Lookup:
    """out = table[index]."""

    table: Any
    index: Any
    out: Any
    operation: str = "embedding"
    partial: bool = False

    @property
    def work(self) -> float:
        return float(2 * self.out.numel())

    @property
    def flops(self) -> float:
        return 0.0

    @property
    def tensors(self) -> tuple[Any, ...]:
        return (self.table, self.index, self.out)

    @property
    def result(self) -> Any:
        return self.out

    def glance(self, kit: Kit, *, fresh: bool = False) -> tuple[Any, Any]:
        flag = (self._bits(self.out) == self._copied()).all().logical_not()
        return (bool(flag) if flag.device.type == "cpu" and kit.thin.flag(True) is True else flag), ()

    def unchanged(self, kit: Kit, seen: Any) -> bool:
        return True  # PyTorch's counts alone: no second table is kept

    def examine(self, kit: Kit, seed: int) -> RowsCheck:
        return judged(self._rows())

    def repair(self, kit: Kit, seed: int, again: Callable[[], Any]) -> tuple[Place, ...]:
        return redone((self.out,), again, self._rows)

    def _copied(self) -> Any:
        """Rows of the table's bits, taken by index expressions rather than by `embedding`."""
        return self._bits(self.table)[self.index]

    @staticmethod
    def _bits(x: Any) -> Any:
        import torch

        kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        return x.detach().view(kinds[x.element_size()])

    def _rows(self) -> list[Row]:
        wrong = (self._bits(self.out) != self._copied()).any(-1).cpu().numpy()
        found = []
        for place in np.argwhere(wrong)[:LOOKED_AT]:
            where = tuple(int(i) for i in place)
            got, truth = (x.detach().double().cpu().numpy() for x in (self.out[where], self.table[self.index[where]]))
            differs = (self._bits(self.out[where]) != self._bits(self.table[self.index[where]])).cpu().numpy()
            # Bits decide: where values are equal, as of zeros, the bound says so.
            found.append(Row("embedding ", (0, *where), got, truth, np.where(differs, -1.0, 0.0)))
        return found


def understand(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Call | Unseen | None:
    """A look-up that keeps the bits of a real table."""
    table, index = args[0], args[1]
    if out.numel() == 0:
        return None
    return Lookup(table, index, out) if table.dtype.is_floating_point and table.dim() == 2 else UNSEEN
