"""Indices just outside and far outside a table, one a call and among good ones, against every policy there is.

The table holds distinct small whole numbers, so that what came back says where it came from. Each call runs in the
worker process: a crash is an outcome. Good indices in the same call are always checked, and for writes every element
that no index names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kernel_contracts.contracts.evidence import Case, Element, Layout, Observation, Outcome, OutputReading
from kernel_contracts.contracts.model import Contract
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import Format
from kernel_contracts.measurement.experiments.base import Asked, Measured, decided, thinned
from kernel_contracts.measurement.index_policy import Indexing, declared, due, indexing, kind, settle
from kernel_contracts.measurement.inputs.base import whole_or_bool
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array

#: What stands for an index, with n the size of the table: the text of a case keeps its meaning when sizes shrink.
INSIDE: dict[str, Callable[[int], int]] = {"0": lambda n: 0, "n-1": lambda n: n - 1, "n//2": lambda n: n // 2}
OUTSIDE: dict[str, Callable[[int], int]] = {
    "-1": lambda n: -1, "-n": lambda n: -n, "n": lambda n: n, "n+1": lambda n: n + 1, "n+990": lambda n: n + 990,
    "-n-1": lambda n: -n - 1, "-n-990": lambda n: -n - 990, "2^31-1": lambda n: 2**31 - 1,
    "-2^31": lambda n: -(2**31), "2^32+1": lambda n: 2**32 + 1,
}  # fmt: skip
_ALL = {**INSIDE, **OUTSIDE}
_WRITTEN = re.compile(r"(\w+)\[(\d+)\] = ([^,]+)")
#: Table sizes; the first is used for single calls and for mixed ones.
_TABLES, _MIXED = (10, 1, 16), 5


class Indices(Measured):
    """The experiment of C-EXC-02."""

    name = "indices"

    def planned(self, asked: Asked) -> list[Case]:
        where = indexing(asked.contract, asked.bound)
        if where is None:
            return []
        scalars = {s.name: s.default if s.default is not None else 1 for s in asked.contract.scalars} | dict(
            asked.fixed
        )
        rng = np.random.default_rng([asked.seed, 32])
        out: list[Case] = []
        for table, count, text, why in _wanted(where.name, asked.bound.inputs[where.name]):
            dims = _dims(asked.contract, where, table, count)
            if holds(asked.contract.pre, dict(dims), scalars):
                drawn = int(rng.integers(0, 2**63 - 1))
                out.append(Case(len(out), text, dict(asked.bound.dtypes), dims, scalars, Layout.CONTIGUOUS, drawn, why))
        return thinned(out, asked.samples, _indices_of, lambda case: case.shape_family)

    def inputs(self, session: Session, case: Case) -> dict[str, Array]:
        where = indexing(session.contract, session.bound)
        assert where is not None  # there are no cases without
        return _filled(session, case, where)

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        where = indexing(session.contract, session.bound)
        assert where is not None
        seen, outputs, _ = session.called(case, inputs)
        size = case.dims[where.dim]
        kinds = sorted({kind(int(i), size) for i in inputs[where.name].ravel().tolist()} - {""})
        allowed = {k: declared(session.contract, where, k) for k in kinds}
        if seen.outcome is not Outcome.RETURNED or seen.defect:
            return _ended(seen, kinds, allowed)
        return _Answer(session, case, where, inputs, outputs).observed(seen, kinds, allowed)

    def finish(self, session: Session, observations: Sequence[Observation]) -> list[Observation]:
        """What one index leaves open (clamping and wrapping -n are the same) the others decide."""
        return decided(observations)


def _indices_of(case: Case) -> tuple[str, ...]:
    """Which indices a case gives, wherever: each is tried, however few samples are asked for."""
    return tuple(text.strip() for _, _, text in _WRITTEN.findall(case.family))


def _wanted(name: str, fmt: Format) -> list[tuple[int, int, str, str]]:
    """Table size, number of indices, text and origin of each case."""
    outside = [t for t, at in OUTSIDE.items() if fmt.min_int <= at(_TABLES[0]) <= fmt.max_int]
    ends = [t for t in ("n-1", "-1", "n", "n+1") if t in INSIDE or t in outside]
    out = [(_TABLES[0], 1, f"{name}[0] = {t}", "inside") for t in INSIDE]
    out += [(_TABLES[0], 1, f"{name}[0] = {t}", "alone") for t in outside]
    out += [(n, 1, f"{name}[0] = {t}", f"table of {n}") for n in _TABLES[1:] for t in ends]
    out += [(_TABLES[0], _MIXED, f"{name}[{k}] = {t}", "mixed") for t in outside for k in (0, _MIXED - 1)]
    if "-1" in outside:
        out.append((_TABLES[0], _MIXED, f"{name}[1] = -1, {name}[3] = n", "mixed"))
    return out


def _dims(contract: Contract, where: Indexing, table: int, count: int) -> dict[str, int]:
    index = next(t for t in contract.inputs if t.name == where.name)
    return {
        name: allowed.nearest(table if name == where.dim else count if name in index.shape else 2)
        for name, allowed in contract.pre.ranges.items()
    }


def _filled(session: Session, case: Case, where: Indexing) -> dict[str, Array]:
    """Distinct whole numbers in every real input, distinct good indices, and the bad ones in their places."""
    request = session.request(case)
    size = case.dims[where.dim]
    out: dict[str, Array] = {}
    first = 1
    for spec in request.tensors:
        if spec.name == where.name:
            placed = [(int(p), _ALL[t.strip()](size)) for n, p, t in _WRITTEN.findall(case.family) if n == spec.name]
            out[spec.name] = _indices(spec.shape, size, placed, request.rng)
        elif spec.is_real:
            out[spec.name] = np.arange(first, first + spec.size, dtype=np.float64).reshape(spec.shape)
            first += spec.size
        else:
            out[spec.name] = whole_or_bool(spec, request)
    return out


def _indices(shape: tuple[int, ...], size: int, placed: list[tuple[int, int]], rng: np.random.Generator) -> Array:
    """Good indices are distinct and none of those that a bad one may become, so that no two writes meet."""
    count = int(np.prod(shape))
    if not count:
        raise ArithmeticScopeError("there is no index at these sizes")
    taken = {min(max(i, 0), size - 1) for _, i in placed} | {i % size for _, i in placed}
    free = [i for i in range(size) if i not in taken] or list(range(size))
    good = np.resize(rng.permutation(np.asarray(free, dtype=np.int64)), count)
    for position, index in placed:
        good[position % count] = index
    return good.reshape(shape)


def _ended(seen: Observation, kinds: list[str], allowed: Mapping[str, tuple[str, ...]]) -> Observation:
    """A call that gave nothing: raising is right where one of the bad indices lets it raise, or nothing is declared."""
    if seen.outcome is not Outcome.RAISED or not kinds:
        return seen
    fine = any(not allowed[k] or {"raise", "undefined"} & set(allowed[k]) for k in kinds)
    facts = dict.fromkeys(kinds, "raise") if len(kinds) == 1 else {}
    return replace(
        seen,
        readings={**seen.readings, "index_case": 1.0, **({"may_refuse": 1.0} if fine else {"raised_instead": 1.0})},
        facts=facts,
    )


class _Answer:
    """What came back beside what each policy makes due."""

    def __init__(
        self, session: Session, case: Case, where: Indexing, inputs: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> None:
        self.session, self.case, self.where, self.inputs, self.outputs = session, case, where, inputs, outputs
        self.index, self.size = np.asarray(inputs[where.name]), case.dims[where.dim]

    def due(self, settled: Array) -> dict[str, Array]:
        s = self.session
        return due(s.contract, s.bound, self.where, self.case.dims, self.inputs, self.case.scalars, settled)

    def under(self, policies: Mapping[str, str]) -> dict[str, Array]:
        return self.due(settle(self.index, self.size, policies))

    def observed(self, seen: Observation, kinds: list[str], allowed: Mapping[str, tuple[str, ...]]) -> Observation:
        """Right when some admitted choice of policies gives exactly this answer."""
        choices = [dict(zip(kinds, c, strict=True)) for c in itertools.product(self.where.policies, repeat=len(kinds))]
        answers = [(c, self.under(c)) for c in choices]
        fits = [c for c, made in answers if not self._differ(made)]
        owned = self._owned(kinds)
        spilled = sum(int(np.count_nonzero(d & ~owned[n])) for n, d in self._wrong(answers[0][1]).items())
        admitted = [(c, made) for c, made in answers if all(not allowed[k] or c[k] in allowed[k] for k in kinds)]
        loose = any("undefined" in allowed[k] for k in kinds)
        right = any(c in fits for c, _ in admitted) or (loose and not spilled) or (not kinds and bool(fits))
        if kinds and not any(allowed[k] for k in kinds):
            right = not spilled  # nothing is declared: whatever was done with the bad index is only named
        nothing = {n: np.full(y.shape, np.nan) for n, y in self.outputs.items()}  # only raising is right
        best = admitted[0][1] if admitted else nothing
        if kinds and not right and spilled:
            best = answers[0][1]
        facts = {}
        if len(kinds) == 1:
            facts[kinds[0]] = "|".join(c[kinds[0]] for c in fits) or self._otherwise(owned)
        return replace(
            seen,
            outputs=tuple(self._readings(best, right)),
            oracle="reference",
            facts=facts,
            readings={**seen.readings, "index_case": float(bool(kinds)), "spilled": float(spilled)},
        )

    def _wrong(self, made: Mapping[str, Array]) -> dict[str, Array]:
        return {n: np.asarray(y != made[n]) for n, y in self.outputs.items()}

    def _differ(self, made: Mapping[str, Array]) -> bool:
        return any(bool(d.any()) for d in self._wrong(made).values())

    def _owned(self, kinds: list[str]) -> dict[str, Array]:
        """Elements that a bad index may decide: those that change with the row it is taken for."""
        bad = np.asarray([bool(kind(int(i), self.size)) for i in self.index.ravel()]).reshape(self.index.shape)
        first = self.due(np.where(bad, self.size, self.index))
        owned = {n: np.zeros(y.shape, bool) for n, y in first.items()}
        for row in range(self.size if kinds else 0):
            other = self.due(np.where(bad, row, self.index))
            owned = {n: o | (other[n] != first[n]) for n, o in owned.items()}
        return owned

    def _otherwise(self, owned: Mapping[str, Array]) -> str:
        """What stands in the place of a bad index where no policy explains it."""
        got = np.concatenate([np.asarray(y, dtype=np.float64)[owned[n]] for n, y in self.outputs.items()])
        return "nan" if got.size and bool(np.isnan(got).all()) else "foreign memory"

    def _readings(self, made: Mapping[str, Array], right: bool) -> list[OutputReading]:
        out = []
        for name, wrong in self._wrong(made).items():
            y, count = self.outputs[name], 0 if right else int(np.count_nonzero(wrong))
            if not right and not any(w.any() for w in self._wrong(made).values()):
                count = y.size  # it should have raised: every value is one too many
            worst = None
            if count:
                flat = int(np.argmax(wrong))
                at = tuple(int(i) for i in np.unravel_index(flat, wrong.shape)) if wrong.shape else ()
                worst = Element(name, at, float(y[at]), float(made[name][at]), 0.0, np.inf)
            out.append(
                OutputReading(name, int(y.size), np.inf if count else 0.0, count, 0, int(y.size), count, 0, 0, worst)
            )
        return out


EXPERIMENT = Indices()
