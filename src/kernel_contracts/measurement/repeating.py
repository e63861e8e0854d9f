"""One case called again and again: in every way that a contract names, all answers kept and compared bit for bit.

Requirement: two settings are compared only where each of them alone is steady, so that a kernel whose answer changes
from call to call is not also accused of depending on threads or memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernel_contracts.contracts.determinism import SAME_SETTING
from kernel_contracts.contracts.evidence import Case, Layout, Observation, Outcome
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.load import background_load
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array

Outputs = Mapping[str, Array]

_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
CHOSEN = ("threads", "alignment", "layouts", "batch")
"""Axes along which a caller chooses something: compared with the first setting, which has to be steady for that."""
_AGAIN = 3
"""Calls in each setting but the first, so that one which is not steady shows it."""


@dataclass(slots=True)
class Setting:
    """The answers of one way to call."""

    axis: str
    label: str
    answers: list[Outputs] = field(default_factory=list)

    @property
    def distinct(self) -> int:
        return len({bits(a) for a in self.answers})


@dataclass(slots=True)
class Repeats:
    """Everything that one case's repetitions gave."""

    base: Observation
    """Of the first call."""
    first: Outputs
    settings: list[Setting]
    failed: Observation | None = None
    """A repetition that did not return what the first call did."""
    missing: tuple[str, ...] = ()
    """Axes that this kernel or this case does not have."""

    @property
    def steady(self) -> bool:
        """Whether repeating the call itself changed nothing; else no other setting can be held against it."""
        return self.settings[0].distinct == 1


def bits(answer: Outputs) -> bytes:
    """The answer's bits; a NaN is a NaN whatever it carries."""
    parts = []
    for name in sorted(answer):
        value = np.asarray(answer[name])
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), np.nan, value)
        parts.append(np.ascontiguousarray(value).tobytes())
    return b"|".join(parts)


def repeat(session: Session, case: Case, inputs: Mapping[str, Array], axes: Mapping[str, tuple[int, ...]]) -> Repeats:
    """Calls the kernel along every axis. Stops at the first call that ends differently from the first one."""
    base, first, _ = session.called(case, inputs)
    found = Repeats(base, first, [Setting("runs", "the same call", [first])])
    if base.outcome is not Outcome.RETURNED or base.defect:
        return found
    for axis, numbers in axes.items():
        if not _ALONG[axis](_Walk(session, case, inputs, found), numbers):
            found.missing += (axis,)
        if found.failed is not None:
            break
    return found


@dataclass(frozen=True, slots=True)
class _Walk:
    session: Session
    case: Case
    inputs: Mapping[str, Array]
    found: Repeats

    def call(
        self, into: Setting, times: int, kernel: Callee | None = None, case: Case | None = None,
        inputs: Mapping[str, Array] | None = None,
    ) -> None:  # fmt: skip
        for _ in range(times):
            seen, outputs, _ = self.session.called(case or self.case, inputs or self.inputs, kernel)
            if seen.outcome is not Outcome.RETURNED or seen.defect:
                self.found.failed = replace(seen, case=self.case, detail=f"{seen.detail} ({into.label})")
                return
            into.answers.append(outputs)

    def setting(self, axis: str, label: str) -> Setting:
        self.found.settings.append(Setting(axis, label))
        return self.found.settings[-1]


def _runs(walk: _Walk, numbers: tuple[int, ...]) -> bool:
    walk.call(walk.found.settings[0], numbers[0] - 1)
    return True


def _processes(walk: _Walk, numbers: tuple[int, ...]) -> bool:
    for k in range(numbers[0]):
        other = walk.session.others.spawn({}, copy=1 + k)
        if other is None:
            return False
        walk.call(walk.setting("processes", f"fresh process {k + 1}"), _AGAIN, other)
    return True


def _threads(walk: _Walk, numbers: tuple[int, ...]) -> bool:
    for n in numbers:
        other = walk.session.others.spawn(dict.fromkeys(_THREADS, str(n)))
        if other is None:
            return False
        walk.call(walk.setting("threads", f"{n} thread{'s' if n > 1 else ''}"), _AGAIN, other)
    return True


def _load(walk: _Walk, numbers: tuple[int, ...]) -> bool:
    if not isinstance(walk.session.kernel, Kernel):  # one of ours, in this process: nothing runs beside it
        busy = getattr(walk.session.kernel, "under_load", None)
        if busy is None:
            return False
        walk.call(walk.setting("load", "under load"), numbers[0], busy())
        return True
    with background_load():
        walk.call(walk.setting("load", "under load"), numbers[0])
    return True


def _layouts(*layouts: Layout) -> Callable[[_Walk, tuple[int, ...]], bool]:
    def along(walk: _Walk, numbers: tuple[int, ...]) -> bool:
        for layout in layouts:
            axis = "alignment" if len(layouts) == 1 else "layouts"
            walk.call(walk.setting(axis, f"{layout} inputs"), _AGAIN, case=replace(walk.case, layout=layout))
        return True

    return along


def _batch(walk: _Walk, numbers: tuple[int, ...]) -> bool:
    dim = batch_dim(walk.session.contract)
    if dim is None or walk.case.dims.get(dim, 1) < 2:
        return False
    case = replace(walk.case, dims={**walk.case.dims, dim: 1})
    alone = {
        t.name: walk.inputs[t.name][:1] if t.shape and t.shape[0] == dim else walk.inputs[t.name]
        for t in walk.session.contract.inputs
    }
    walk.call(walk.setting("batch", f"{dim} = 1"), _AGAIN, case=case, inputs=alone)
    return True


_ALONG: Mapping[str, Callable[[_Walk, tuple[int, ...]], bool]] = {
    "runs": _runs,
    "processes": _processes,
    "load": _load,
    "threads": _threads,
    "alignment": _layouts(Layout.OFFSET),
    "layouts": _layouts(Layout.OFFSET, Layout.STRIDED, Layout.TRANSPOSED),
    "batch": _batch,
}


def batch_dim(contract: Contract) -> str | None:
    """The size that counts rows which have nothing to do with each other: first in every output, and in inputs only
    first; no sum of the reference may run over it."""
    leading = {t.shape[0] if t.shape else None for t in contract.outputs}
    dim = next(iter(leading)) if len(leading) == 1 else None
    if not isinstance(dim, str) or any(dim in t.shape[1:] for t in (*contract.inputs, *contract.outputs)):
        return None
    kinds = contract.bound[0].inputs
    if any(kinds[t.name].kind == "int" and t.shape[:1] != (dim,) for t in contract.inputs):
        return None  # an index may point at any of these rows
    if any(contract.bound[0].contracted.get(t.name, ())[:1] == (0,) for t in contract.inputs if t.shape[:1] == (dim,)):
        return None
    return dim if any(t.shape[:1] == (dim,) for t in contract.inputs) else None


# ---------------------------------------------------------------------------------------------------------- comparing


def differing(found: Repeats) -> Iterator[tuple[str, str]]:
    """Axes across which answers differ, each with what was seen."""
    unsteady = [s for s in found.settings if s.distinct > 1]
    told: set[str] = set()
    for s in unsteady:
        axis = s.axis if s.axis in SAME_SETTING else "runs"
        if axis not in told:
            told.add(axis)
            yield axis, f"{len(s.answers)} calls ({s.label}) gave {s.distinct} answers"
    if not found.steady:
        return
    base = found.first
    for s in found.settings[1:]:
        if s.distinct != 1 or s.axis in told:
            continue
        one = _first_rows(base, s.answers[0]) if s.axis == "batch" else base
        others = [o for o in found.settings[1:] if o.axis == s.axis and o.distinct == 1]
        if bits(one) != bits(s.answers[0]):
            told.add(s.axis)
            agreeing = [o.label for o in others if bits(o.answers[0]) == bits(one)] or ["the first call"]
            yield s.axis, f"{s.label} gave another answer than {' and '.join(agreeing)}"


def _first_rows(whole: Outputs, alone: Outputs) -> Outputs:
    return {n: whole[n][: len(alone[n])] for n in alone}


def answers(found: Repeats) -> list[Outputs]:
    """Every distinct answer to the whole case."""
    seen: dict[bytes, Outputs] = {}
    for s in found.settings:
        for answer in s.answers if s.axis != "batch" else ():
            seen.setdefault(bits(answer), answer)
    return list(seen.values())


def spread(several: Sequence[Outputs]) -> float:
    """The largest difference of any two answers, relative to the largest magnitude of that output element."""
    worst = 0.0
    for name in several[0] if several else ():
        stack = np.stack([np.asarray(a[name], dtype=np.float64) for a in several])
        with np.errstate(invalid="ignore", over="ignore"):
            width, size = np.ptp(stack, axis=0), np.abs(stack).max(axis=0)
            share = np.where(width == 0, 0.0, width / np.where(size == 0, 1.0, size))
        worst = max(worst, float(np.nan_to_num(share, nan=np.inf).max(initial=0.0)))
    return worst
