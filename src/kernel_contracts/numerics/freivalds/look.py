"""The second look at one product whose screen was not clean: in float64, specials apart, suspicious rows exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.formats import FP64
from kernel_contracts.numerics.freivalds import finite, naming
from kernel_contracts.numerics.freivalds.arrays import NumPyArrays
from kernel_contracts.numerics.freivalds.examine import ExactRow, Matrices, examine
from kernel_contracts.numerics.freivalds.model import Arithmetic
from kernel_contracts.numerics.freivalds.operands import added_rows
from kernel_contracts.numerics.freivalds.screen import Addend, Screened, prepare, screen
from kernel_contracts.numerics.freivalds.vectors import Vectors, extended
from kernel_contracts.numerics.freivalds.verdict import Fault

FIRST, MORE = 8, 56
"""Rows examined: the most suspicious first; where those are all right, more of the others, drawn at random."""
SAFE = 2.0**200
"""Magnitudes up to which the squares of float64 products are far from overflow and underflow."""


@dataclass(frozen=True, slots=True)
class Task:
    """One product to look at, as NumPy arrays of their own formats."""

    a: Any
    b: Any
    c: Any
    alpha: float
    addends: Sequence[Addend]
    arithmetic: Arithmetic
    vectors: Vectors
    threshold: float
    """Standard deviations."""
    probability: float
    rigorous: bool
    place: tuple[int, ...]
    """The product's place in its batch."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What the second look found."""

    faults: tuple[Fault, ...]
    examined: int
    cleared: int
    unexamined: int
    z: float


def look(task: Task, also: Sequence[int] = ()) -> Looked:
    """Decide on one product. `also` are rows to examine although their residuals are quiet."""
    added = added_rows(task.addends, task.c.shape[1])
    found = finite.special(task.a, task.b, task.c, added, task.alpha, task.arithmetic)
    if found.faulty:
        return Looked((_special_fault(task, found),), 0, 0, found.unexamined, float("inf"))
    work, unit = _prepared(task, found)
    with np.errstate(all="ignore"):
        seen = _rescreen(work, unit)
        ratio = np.abs(seen.residual) / np.sqrt(seen.variance)
    ratio = np.where(seen.residual == 0, 0.0, ratio)
    worst = np.max(np.where(np.isnan(ratio) | np.isinf(seen.variance), np.inf, ratio), axis=-1)
    flagged = np.flatnonzero(~(worst <= task.threshold) & ~found.overflowed & ~found.rows)
    flagged = flagged[np.argsort(-worst[flagged], kind="stable")]
    rows, left = _select(work, unit, flagged, [r for r in also if not (found.overflowed[r] or found.rows[r])])
    faulty = [row for row in rows if row.faulty]
    names = naming.Evidence(work.a, work.b, work.c, work.alpha, task.arithmetic, seen.sketch, work.vectors, unit)
    faults = tuple(_fault(task, names, row, len(flagged)) for row in faulty[:FIRST])
    unexamined = found.unexamined + (0 if faults else left)
    z = float(np.max(worst, initial=0.0))
    return Looked(faults, len(rows), len(rows) - len(faulty), unexamined, z)


def glance(task: Task, rows: Sequence[int]) -> list[int]:
    """Those of some rows of a product that are wrong; nothing but them is read, and all of B."""
    return [row.row for row in _examined(task, (1.0, 1.0), list(rows)) if row.faulty]


def _prepared(task: Task, found: finite.Special) -> tuple[Task, tuple[float, float]]:
    """The product without specials, scaled by powers of two where float64 squares could leave their range."""
    a, b, c, unit = task.a, task.b, task.c, (1.0, 1.0)
    addends = list(task.addends)
    if found.rows.any() or found.columns.any() or found.overflowed.any():
        out_rows = found.rows | found.overflowed
        a, b, c = np.array(a), np.array(b), np.array(c)
        a[out_rows], b[:, found.columns] = 0, 0
        c[out_rows], c[:, found.columns] = 0, 0
        addends = [_masked(extra, out_rows, found.columns, c.shape) for extra in addends]
    if task.arithmetic.accumulator.precision > 24:
        sizes = [float(np.max(np.abs(np.asarray(x, np.float64)), initial=0.0)) for x in (a, b)]
        scales = [1.0 if 1 / SAFE < s < SAFE or s == 0 else _inverse(s) for s in sizes]
        if scales != [1.0, 1.0]:
            unit = (scales[0], scales[1])
            a, b = np.asarray(a, np.float64) * scales[0], np.asarray(b, np.float64) * scales[1]
            c = np.asarray(c, np.float64) * scales[0] * scales[1]
            addends = [Addend(e.factor, np.asarray(e.value, np.float64) * scales[0] * scales[1]) for e in addends]
    work = Task(
        a, b, c, task.alpha, addends, task.arithmetic, extended(task.vectors), task.threshold, task.probability,
        task.rigorous, task.place,
    )  # fmt: skip
    return work, unit


def _inverse(size: float) -> float:
    """A power of two near 1 / size, kept finite."""
    return float(np.ldexp(1.0, min(1020, -int(np.frexp(size)[1]))))


def _masked(extra: Addend, rows: NDArray[np.bool_], columns: NDArray[np.bool_], shape: tuple[int, ...]) -> Addend:
    value = np.array(np.broadcast_to(extra.value, shape))
    value[rows], value[:, columns] = 0, 0
    return Addend(extra.factor, value)


def _rescreen(work: Task, unit: tuple[float, float]) -> Screened:
    ops = NumPyArrays("fp64")
    arithmetic = replace(work.arithmetic, check=FP64)
    right = prepare(ops, work.b, work.vectors, thorough=True)
    return screen(
        ops, work.a, right, work.c, arithmetic, work.alpha, work.addends, confidence=work.probability, unit=unit
    )


def _select(
    work: Task, unit: tuple[float, float], flagged: NDArray[np.intp], also: Sequence[int]
) -> tuple[list[ExactRow], int]:
    """Exact rows, and the number of suspicious ones that were not looked at."""
    first = list(dict.fromkeys([int(r) for r in flagged[:FIRST]] + [int(r) for r in also]))
    rows = _examined(work, unit, first)
    rest = flagged[FIRST:]
    if any(row.faulty for row in rows) or not rest.size:
        return rows, 0
    rng = np.random.default_rng(work.vectors.seed)
    more = rest if rest.size <= MORE else rng.choice(rest, MORE, replace=False)
    rows += _examined(work, unit, [int(r) for r in more])
    return rows, int(rest.size - len(more))


def _examined(work: Task, unit: tuple[float, float], rows: list[int]) -> list[ExactRow]:
    if not rows:
        return []
    added = added_rows(work.addends, work.c.shape[1])
    given = Matrices(work.a, work.b, work.c, work.alpha, added, work.arithmetic, work.rigorous, unit)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return examine(given, rows, probability=work.probability, seed=work.vectors.seed)


def _fault(task: Task, names: naming.Evidence, row: ExactRow, suspicious: int) -> Fault:
    column = int(row.wrong[0]) if row.wrong.size else int(np.argmax(np.abs(row.error)))
    name, detail = naming.name(names, row, suspicious)
    got = float(np.asarray(names.c[row.row, column], np.float64))
    return Fault(
        name, detail, task.place, row.row, column, int(row.wrong.size), names.plain(got),
        names.plain(float(row.truth[column])), names.plain(float(row.bound[column])), suspicious,
    )  # fmt: skip


def _special_fault(task: Task, found: finite.Special) -> Fault:
    places, lost = (found.lost, True) if found.lost.size else (found.made, False)
    row, column = (int(x) for x in places[0])
    with np.errstate(invalid="ignore"):  # a signalling NaN
        got = float(np.asarray(task.c[row, column], np.float64))
    if lost:
        detail = f"row {row}, column {column} is {got:.6g} where a NaN or an infinity of the inputs must show"
        return Fault("special_lost", detail, task.place, row, column, len(places), got, float("nan"), 0.0)
    x, y = np.asarray(task.a[row], np.float64), np.asarray(task.b[:, column], np.float64)
    plus = float(added_rows(task.addends, task.c.shape[1])(np.asarray([row]))[0][0, column])
    with np.errstate(over="ignore", invalid="ignore"):
        truth = task.alpha * float(x @ y) + plus
    share = len(np.unique(places[:, 0])), task.c.shape[0]
    detail = f"row {row}, column {column} is {got} where the product is {truth:.6g}"
    detail += f"; so in {share[0]} of {share[1]} rows or more"
    return Fault("not_finite", detail, task.place, row, column, len(places), got, truth, 0.0, share[0])
