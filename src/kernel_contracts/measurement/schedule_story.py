"""What wrong answers under a schedule, or after one call more, have in common: memory, a former answer, a remainder.

Each finding is a name and a sentence with numbers. They explain; whether an answer is wrong was settled by the bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Case
from kernel_contracts.measurement.exchange import poison_byte
from kernel_contracts.measurement.hypotheses import explain
from kernel_contracts.measurement.scheduling import Answer
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance

_HANDED_OUT = 0x7F
"""What fills small memory that the allocator hands out (see `poison`)."""
_MOST_OF = 0.5
"""Share of the wrong elements that a story must account for."""
_SUM_CLOSE = 1e-2
"""How near the sum of two answers counts as that sum: more than the roundoff of any format of 8 bits."""
_TILES = 6


def memory_story(answer: Answer, reference: Answer | None) -> tuple[str, str] | None:
    """`unwritten_output` or `stale_output` where memory accounts for most of what is wrong."""
    wrong = max(sum(r.exceeding for r in answer.seen.outputs), 1)
    size = sum(r.size for r in answer.seen.outputs) or sum(y.size for y in answer.outputs.values())
    poison = [_poisoned(y) for y in answer.raw]
    count = sum(int(np.count_nonzero(p)) for p in poison)
    if count and count >= _MOST_OF * wrong:
        return "unwritten_output", f"{count} of {size} elements were never written{_first(poison)}"
    kept = [_kept(y, answer.former.get(n), _of(reference, n)) for n, y in answer.outputs.items()]
    count = sum(int(np.count_nonzero(k)) for k in kept)
    if count and count >= _MOST_OF * wrong:
        return "stale_output", f"{count} of {size} elements are those of the call before{_first(kept)}"
    added = [_added(y, answer.former.get(n), _of(reference, n)) for n, y in answer.outputs.items()]
    count = sum(int(np.count_nonzero(a)) for a in added)
    if count >= max(0.9 * wrong, 2):
        return "stale_output", f"{count} of {size} elements have the answer to the call before added to them"
    return None


def _poisoned(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Elements whose every byte is still the filling of fresh memory; bytes alone cannot be told from values."""
    size = y.dtype.itemsize
    if size < 2 or not y.size:
        return np.zeros(y.shape, bool)
    laid = np.ascontiguousarray(y).view(np.uint8).reshape(*y.shape, size)
    found = np.asarray((laid == poison_byte(y.dtype)).all(axis=-1))
    if y.dtype.kind not in "biu":
        found = found | np.asarray((laid == _HANDED_OUT).all(axis=-1))
    return np.asarray(found)


def _of(answer: Answer | None, name: str) -> Array | None:
    return None if answer is None else answer.outputs.get(name)


def _kept(y: Array, former: Array | None, right: Array | None) -> NDArray[np.bool_]:
    if former is None or former.shape != y.shape:
        return np.zeros(y.shape, bool)
    same = np.asarray((y == former) & (y != 0))
    if right is not None:
        return np.asarray(same & (y != right))
    moved = not same.all() and len(np.unique(y[same])) > 1  # else it may be a kernel that looks at no input at all
    return same if moved else np.zeros(y.shape, bool)


def _added(y: Array, former: Array | None, right: Array | None) -> NDArray[np.bool_]:
    if former is None or right is None or y.dtype.kind != "f":
        return np.zeros(y.shape, bool)
    with np.errstate(all="ignore"):
        total = former + right
        near = np.abs(y - total) <= _SUM_CLOSE * np.abs(total)
        return np.asarray(near & (np.abs(y - right) > 4 * _SUM_CLOSE * np.abs(total)))


def _first(masks: Sequence[NDArray[np.bool_]]) -> str:
    for mask in masks:
        hit = np.argwhere(mask)
        if len(hit) and mask.ndim:
            return f", the first at {hit[0].tolist()}"
    return ""


def remainder_story(
    session: Session, case: Case, inputs: Mapping[str, Array], answer: Answer, tiles: Sequence[int]
) -> dict[str, float]:
    """For tiles that stand in the schedules: the share of the error that a dropped remainder leaves unexplained."""
    sizes = tuple((t,) for t in tiles if t >= 2)[-_TILES:]
    if not sizes:
        return {}
    instance = Instance(session.bound.judged, case.dims, inputs, case.scalars)
    bounded, truth = session.truth(instance)
    if not truth.centers:
        return {}
    centers: dict[str, Array] = {}
    radii: dict[str, Array] = {}
    for judged in session.admitted(instance, bounded, truth, answer.outputs):
        centers.setdefault(judged.text, judged.acceptance.center)
        radii.setdefault(judged.text, judged.acceptance.tolerance)
    if any(n not in centers for n in answer.outputs):
        return {}
    plain = Instance(session.bound.program, case.dims, inputs, case.scalars)
    return explain(session.bound, plain, answer.outputs, centers, ["drop_tail"], radii, {"drop_tail": sizes})
