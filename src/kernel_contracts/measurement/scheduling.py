"""One case called under every schedule alone, and again and again without one: all answers beside what is admitted.

Between two calls on the case's inputs stands one on other inputs of the same sizes, so that an answer which keeps
something of the call before shows it. Memory of outputs is poisoned before each call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Case, Observation, Outcome
from kernel_contracts.contracts.schedules import Variations, variations_of
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.measurement.calls import ArrayIn, CallResult, Way
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.repeating import bits
from kernel_contracts.measurement.schedule_space import Space
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array

MOST = 16
"""Schedules of one case; a larger space is gone through from case to case."""
_PROCESSES = 8
"""Processes that one session starts to compare an empty cache with a filled one."""
CACHES = (
    "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "CUDA_CACHE_PATH",
    "JAX_COMPILATION_CACHE_DIR",
)  # fmt: skip
"""Where compilers and tuners keep what they found out, by environment variable."""


class Under:
    """A kernel called in one way; the last result is kept as it came."""

    def __init__(self, kernel: Callee, way: Way) -> None:
        self.kernel, self.way = kernel, way
        self.raw: tuple[NDArray[Any], ...] = ()
        self.error = ""

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
    ) -> CallResult:
        if self.way == Way():
            result = self.kernel.call(arrays, scalars, poison=poison)
        else:
            call: Callable[..., CallResult] = self.kernel.call
            result = call(arrays, scalars, poison=poison, way=self.way)
        self.raw, self.error = result.outputs, result.error_type
        return result


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call on the case's inputs gave."""

    label: str
    """`first call`, `second call`, the name of a schedule, `fresh process`, ..."""
    kind: str
    """plain, schedule, process; other for a call without a schedule on other inputs."""
    seen: Observation
    outputs: Mapping[str, Array]
    raw: tuple[NDArray[Any], ...]
    former: Mapping[str, Array] = field(default_factory=dict)
    """What the call before gave, on other inputs."""

    @property
    def right(self) -> bool:
        return self.seen.outcome is Outcome.RETURNED and not self.seen.violating and not self.seen.mutated


@dataclass(slots=True)
class Trial:
    """All answers to one case."""

    space: Space
    variations: Variations
    other_case: Case
    """The case whose inputs are the other ones."""
    answers: list[Answer] = field(default_factory=list)
    alone: Answer | None = None
    """To the other inputs as the first call of a new process, where that was asked."""
    refused: list[str] = field(default_factory=list)
    """Schedules that raised at these sizes, or that the autotuner leaves out."""
    processes: bool = False
    """Whether fresh processes were compared."""
    asked: int = 0
    """Schedules that were called."""

    def of(self, kind: str) -> list[Answer]:
        return [a for a in self.answers if a.kind == kind]

    @property
    def ended(self) -> Answer | None:
        """A call that did not return what the scope says; nothing was measured after it."""
        return next((a for a in self.answers if a.seen.outcome is not Outcome.RETURNED or a.seen.defect), None)

    @property
    def reference(self) -> Answer | None:
        """Some right answer to the case's own inputs."""
        return next((a for a in self.answers if a.right and a.kind != "other"), None)

    @property
    def other_wrong(self) -> Answer | None:
        """A wrong answer to other inputs where every call on the case's own is right: it may be the inputs' doing."""
        own = all(a.right for a in self.of("plain"))
        return next((a for a in self.of("other") if own and not a.right), None)


def space_of(kernel: Callee, parameter: str, dims: Mapping[str, int]) -> Space:
    """The schedules that a kernel exposes; none where it cannot say. TargetError where they cannot be read."""
    ask = getattr(kernel, "schedules", None)
    found: Space = Space() if ask is None else ask(parameter, dims)
    return found


def try_all(session: Session, case: Case, inputs: Mapping[str, Array]) -> Trial:
    """Every schedule, every call. Stops at the first plain call that ends otherwise than by returning."""
    variations = variations_of(session.contract)
    space = space_of(session.kernel, variations.parameter, case.dims)
    other_case, others = _other_inputs(session, case)
    trial = Trial(space, variations, other_case)
    walk = _Walk(session, case, inputs, others, trial)
    if walk.plain() and walk.schedules():
        walk.processes()
        walk.alone()
    return trial


class _Walk:
    def __init__(
        self, session: Session, case: Case, inputs: Mapping[str, Array], others: Mapping[str, Array], trial: Trial
    ) -> None:  # fmt: skip
        self.session, self.case, self.inputs, self.others, self.trial = session, case, inputs, others, trial
        self._judged: dict[tuple[bytes, bool, bool], Observation] = {}

    def plain(self) -> bool:
        """The first call, which may tune; then others, each after a call on other inputs."""
        under = self._plain()
        former: Mapping[str, Array] = {}
        for k in range(self.trial.variations.calls):
            if k:
                label = f"call on other inputs before the {_nth(k)}"
                if not self._answer(under, label, "other", former, self.others):
                    return False
                former = self.trial.answers[-1].outputs
            if not self._answer(under, _nth(k), "plain", former):
                return False
            former = self.trial.answers[-1].outputs
        return True

    def _plain(self) -> Under:
        return Under(self.session.kernel, self._way(0 if self.trial.space.required else None))

    def schedules(self) -> bool:
        count = len(self.trial.space.labels)
        start = 0 if count <= MOST else (self.case.id * MOST) % count
        for k in range(min(count, MOST)):
            index = (start + k) % count
            if not self._schedule(index, self.trial.space.labels[index]):
                return False
        return True

    def _schedule(self, index: int, label: str) -> bool:
        self.trial.asked += 1
        for out in (False, True) if self.trial.space.out else (False,):
            under = Under(self.session.kernel, self._way(index, out))
            # memory that the schedules share then holds the other inputs' answer throughout, not half of this one's
            self.session.called(self.trial.other_case, self.others, self._plain())
            between, former, _ = self.session.called(self.trial.other_case, self.others, under)
            if between.outcome is Outcome.RAISED:
                self.trial.refused.append(label)  # a schedule may say that it does not fit; a tuner passes it over
                return True
            if self._stopped(between, "schedule", label):
                return False
            if not self._answer(under, label, "schedule", former):
                return False
        return True

    def processes(self) -> None:
        """A process with empty caches, and another that finds there what the first one left."""
        plain_right = all(a.right for a in (*self.trial.of("plain"), *self.trial.of("other")))
        wanted = not plain_right or (self.case.id == 0 and _usual(self.session))
        if self.session.others.used >= _PROCESSES or not wanted:
            return
        with tempfile.TemporaryDirectory(prefix="kernel-contracts-") as directory:
            environment = dict.fromkeys(CACHES, directory)
            for label in ("fresh process, empty caches", "fresh process, filled caches"):
                with self.session.others.once(environment) as other:
                    if other is None:
                        return
                    under = Under(other, self._way(0 if self.trial.space.required else None))
                    if not self._answer(under, label, "process", {}):
                        return
        self.trial.processes = True

    def alone(self) -> None:
        """Other inputs that went wrong after a right call, as the first call of a process: is it they or the order?"""
        if self.trial.other_wrong is None or self.session.others.used >= _PROCESSES:
            return
        with self.session.others.once({}) as other:
            if other is not None:
                under = Under(other, self._way(0 if self.trial.space.required else None))
                base, outputs, _ = self.session.called(self.trial.other_case, self.others, under)
                seen = self._compared(base, outputs, False, self.others)
                self.trial.alone = Answer("first call of a new process", "other", seen, outputs, under.raw)

    def _way(self, index: int | None, out: bool = False) -> Way:
        if index is None and not out:
            return Way()
        return Way(self.trial.variations.parameter, self.case.dims, index, out)

    def _answer(
        self, under: Under, label: str, kind: str, former: Mapping[str, Array],
        inputs: Mapping[str, Array] | None = None,
    ) -> bool:  # fmt: skip
        case = self.case if inputs is None else self.trial.other_case
        base, outputs, _ = self.session.called(case, inputs or self.inputs, under)
        if self._stopped(base, kind, label):
            return False
        seen = replace(self._compared(base, outputs, kind == "schedule", inputs), case=self.case)
        self.trial.answers.append(Answer(label, kind, seen, outputs, under.raw, former))
        return True

    def _stopped(self, base: Observation, kind: str, label: str) -> bool:
        """Whether the call ended otherwise than by returning what the scope says; the answer is kept."""
        if base.outcome is Outcome.RETURNED and not base.defect and not base.mutated:
            return False
        told = f"{base.detail} ({label})" if base.detail else label
        self.trial.answers.append(Answer(label, kind, replace(base, case=self.case, detail=told), {}, ()))
        return True

    def _compared(
        self, base: Observation, outputs: Mapping[str, Array], across: bool, inputs: Mapping[str, Array] | None
    ) -> Observation:
        """The answer beside the oracle; the same bits are compared once."""
        key = (bits(outputs), across, inputs is None)
        if key not in self._judged:
            given = self.inputs if inputs is None else inputs
            seen = self.session.compared(base, given, outputs) if self.session.bound.claims else base
            if across:
                kept = zip(seen.outputs, self.trial.variations.within, strict=False)
                seen = replace(seen, outputs=tuple(r for r, held in kept if held))
            self._judged[key] = seen
        return self._judged[key]


def _usual(session: Session) -> bool:
    """Whether this choice of dtypes stands for all, where processes are too dear for each: fp32, else the first."""
    usual = [b for b in session.contract.bound if "fp32" in b.dtypes.values()] or session.contract.bound
    return session.bound.dtypes == usual[0].dtypes


def _nth(k: int) -> str:
    names = ("first call", "second call", "third call")
    return names[k] if k < len(names) else f"call {k + 1}"


def _other_inputs(session: Session, case: Case) -> tuple[Case, dict[str, Array]]:
    """A case of the same sizes and formats, and its numbers."""
    for family in ("normal", case.family):
        other = replace(case, family=family, seed=case.seed ^ 0x5EED)
        try:
            return other, session.inputs(other)
        except ArithmeticScopeError:
            continue
    raise ArithmeticScopeError(f"there are no other inputs for {case.family}")


def differing_bits(answers: Sequence[Answer], names: Sequence[str]) -> Iterator[tuple[Answer, Answer, float]]:
    """Pairs of answers, the first one with each other, that differ in some of the named outputs; and by how much."""
    for other in answers[1:]:
        first = answers[0]
        one, two = ({n: a.outputs[n] for n in names if n in a.outputs} for a in (first, other))
        if one and bits(one) != bits(two):
            yield first, other, max(_apart(one[n], two[n]) for n in one)


def _apart(a: Array, b: Array) -> float:
    """The largest difference, relative to the largest magnitude of that element."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(all="ignore"):
        share = np.where(x == y, 0.0, np.abs(x - y) / np.maximum(np.maximum(np.abs(x), np.abs(y)), 5e-324))
    return float(np.nan_to_num(share, nan=np.inf).max(initial=0.0))
