"""Rows recomputed exactly and compared with the worst case of honest arithmetic, where no product is at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.numerics.freivalds.verdict import Fault

Array = NDArray[np.float64]
Place = tuple[int, ...]
"""Number of the result, place in the batch, row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a result: what is there, what belongs there, and by how much an honest kernel may miss it."""

    what: str
    place: Place
    got: Array
    truth: Array
    bound: Array

    @property
    def wrong(self) -> NDArray[np.intp]:
        """Columns beyond their bound."""
        with np.errstate(invalid="ignore"):
            return np.flatnonzero(~(np.abs(self.got - self.truth) <= self.bound))

    def fault(self) -> Fault:
        wrong = self.wrong
        with np.errstate(invalid="ignore"):
            j = int(wrong[np.argmax(np.nan_to_num(np.abs(self.got - self.truth)[wrong], nan=np.inf))])
        got, truth, bound = float(self.got[j]), float(self.truth[j]), float(self.bound[j])
        name = "wrong_value" if np.isfinite(got) else "not_finite"
        batch, row = self.place[1:-1], self.place[-1]
        detail = (
            f"{self.what}{list(batch)}, row {row}, column {j}: {got:.9g} for {truth:.9g}, honest within {bound:.2g}"
        )
        return Fault(name, detail, batch, row, j, int(wrong.size), got, truth, bound)


@dataclass(frozen=True, slots=True)
class RowsCheck:
    """What exact rows say about an operation."""

    faults: tuple[Fault, ...]
    examined: int

    @property
    def ok(self) -> bool:
        return not self.faults

    @property
    def name(self) -> str:
        """The kind of fault; empty where there is none."""
        return self.faults[0].name if self.faults else ""

    def as_json(self) -> dict[str, Any]:
        """Strict JSON data; special numbers are strings."""
        return {"ok": self.ok, "examined": self.examined, "faults": [_plain(asdict(f)) for f in self.faults]}

    def __str__(self) -> str:
        if self.ok:
            return f"{self.examined} rows recomputed conform"
        more = f" (and {len(self.faults) - 1} more rows)" if len(self.faults) > 1 else ""
        return f"{self.faults[0].name}: {self.faults[0].detail}{more}"


def judged(rows: list[Row]) -> RowsCheck:
    """The verdict on rows."""
    return RowsCheck(tuple(row.fault() for row in rows if row.wrong.size), len(rows))


def redone(
    results: tuple[Any, ...], again: Callable[[], Any], wrong: Callable[[], list[Row]]
) -> tuple[tuple[int, ...], ...]:
    """Rows that are wrong replaced by those of the operation done once more; none where they then are wrong still.

    `wrong` recomputes the rows that were looked at.
    """
    bad = [row.place for row in wrong() if row.wrong.size]
    fresh = again()
    fresh = fresh if isinstance(fresh, tuple | list) else (fresh,)
    before = [results[p[0]][p[1:]].clone() for p in bad]
    for p in bad:
        results[p[0]][p[1:]] = fresh[p[0]][p[1:]]
    if any(row.wrong.size for row in wrong()):
        for p, old in zip(bad, before, strict=True):
            results[p[0]][p[1:]] = old
        return ()
    return tuple(p[1:] for p in bad)


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {
        k: (("nan" if v != v else "inf" if v > 0 else "-inf") if isinstance(v, float) and not np.isfinite(v) else v)
        for k, v in record.items()
    }
