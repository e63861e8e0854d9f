"""Schedules: each one alone on poisoned memory, the kernel's own choice again and again, a fresh process beside it.

The facts of an observation say how the space is exposed and under which schedule it went wrong; the readings count
schedules, refusals and processes. What is wrong beside the bound (memory never written, a former answer, bits that
move) is a defect of that observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kernel_contracts.contracts.evidence import Case, Layout, Observation
from kernel_contracts.contracts.model import Contract
from kernel_contracts.contracts.precondition import holds
from kernel_contracts.contracts.schedules import variations_of
from kernel_contracts.measurement.cases import COST
from kernel_contracts.measurement.experiments.base import Measured
from kernel_contracts.measurement.oracle import work
from kernel_contracts.measurement.schedule_story import memory_story, remainder_story
from kernel_contracts.measurement.scheduling import Answer, Trial, differing_bits, space_of, try_all
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance

_LISTED = 6
"""Schedules named in a fact; the rest are counted."""


class ScheduleTrials(Measured):
    """The experiment of the schedule class."""

    name = "schedules"

    def completed(self, session: Session, cases: list[Case]) -> list[Case]:
        """With sizes just below, at and above the tiles that stand in the kernel's schedules."""
        if not cases:
            return cases
        parameter = variations_of(session.contract).parameter
        tiles = space_of(session.kernel, parameter, cases[0].dims).tiles
        known = {tuple(sorted(c.dims.items())) for c in cases}
        made, first = [*cases], 1 + max(c.id for c in cases)
        for tile, dims in _around(session.contract, cases, tiles):
            key = tuple(sorted(dims.items()))
            like = cases[len(made) % len(cases)]
            cost = work(Instance(session.bound.program, dims, {}, like.scalars))
            if key in known or cost > COST or not holds(session.contract.pre, dims, dict(like.scalars)):
                continue
            known.add(key)
            seed = int(np.random.default_rng([like.seed, len(made)]).integers(0, 2**63 - 1))
            made.append(
                replace(
                    like,
                    id=first + len(made) - len(cases),
                    dims=dims,
                    seed=seed,
                    layout=Layout.CONTIGUOUS,
                    shape_family=f"tile {tile}",
                )
            )
            if len(made) >= len(cases) + max(len(cases) // 2, 4):
                break
        return made

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        trial = try_all(session, case, inputs)
        facts = _facts(trial)
        readings = {
            "schedules": float(trial.asked), "offered": float(len(trial.space.labels)),
            "refused": float(len(trial.refused)), "calls": float(len(trial.of("plain"))),
            "processes": float(len(trial.of("process"))),
        }  # fmt: skip
        seen = _concluded(session, case, inputs, trial)
        return replace(seen, facts={**facts, **seen.facts}, readings={**seen.readings, **readings})


def _around(contract: Contract, cases: Sequence[Case], tiles: Sequence[int]) -> Iterator[tuple[int, dict[str, int]]]:
    """Sizes around tiles, the largest tile first, each dim in turn beside the smallest ordinary ones."""
    ordinary = [c for c in cases if min(c.dims.values(), default=0) > 2] or list(cases)
    base = min(ordinary, key=lambda c: (c.work, c.id)).dims
    for tile in [t for t in reversed(tiles) if t <= 1024][:6]:
        for step in (1, -1, tile + 1, 0):
            for name in contract.dims:
                if tile + step > 0:
                    yield tile, {**base, name: tile + step}


def _facts(trial: Trial) -> dict[str, str]:
    labels = trial.space.labels
    facts = {"space": trial.space.how}
    if labels:
        more = f" and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
        facts["offered"] = "; ".join(labels[:_LISTED]) + more
    if trial.refused:
        facts["refused"] = "; ".join(trial.refused[:_LISTED])
    return facts


def _concluded(session: Session, case: Case, inputs: Mapping[str, Array], trial: Trial) -> Observation:
    """The answer that says most: one that did not return, one wrong under a schedule, one wrong without, the worst."""
    ended = trial.ended
    if ended is not None or any(a.seen.mutated for a in trial.answers):
        bad = ended or next(a for a in trial.answers if a.seen.mutated)
        return _named(bad, bad.seen)
    failing = [a for a in trial.of("schedule") if not a.right and a.seen.oracle_ok]
    if failing:
        return _under(session, case, inputs, trial, failing[0])
    wrong = [a for a in trial.answers if a.kind != "schedule" and not a.right and a.seen.oracle_ok]
    if wrong:
        return _plainly(trial, wrong[0])
    moved = _moved(trial)
    if moved is not None:
        return moved
    weak = [a for a in trial.answers if not a.seen.oracle_ok]
    worst = weak[0] if weak else max(trial.answers, key=lambda a: a.seen.ratio)
    return worst.seen


def _named(answer: Answer, seen: Observation) -> Observation:
    return replace(seen, facts={**seen.facts, "schedule": answer.label}) if answer.kind == "schedule" else seen


def _under(
    session: Session, case: Case, inputs: Mapping[str, Array], trial: Trial, answer: Answer
) -> Observation:  # fmt: skip
    """A wrong answer under one schedule: what memory explains, else what a dropped remainder explains."""
    seen = _named(answer, answer.seen)
    others = [a for a in trial.of("schedule") if a.label != answer.label]
    right = float(sum(a.right for a in others))
    seen = replace(seen, readings={**seen.readings, "right_schedules": right})
    story = memory_story(answer, trial.reference)
    if story is not None:
        return replace(seen, defect=story[0], detail=f"under schedule {answer.label}: {story[1]}")
    found = remainder_story(session, case, inputs, answer, trial.space.tiles)
    return replace(seen, hypotheses={**seen.hypotheses, **found})


def _plainly(trial: Trial, answer: Answer) -> Observation:
    """A wrong answer without a schedule: what memory explains, else what the order of calls explains."""
    first, *later = trial.of("plain")
    fresh = trial.of("process")
    story = memory_story(answer, None if answer.kind == "other" else trial.reference)
    if story is not None:
        return replace(answer.seen, defect=story[0], detail=f"{answer.label}: {story[1]}")
    ratio = f"{answer.seen.ratio:.3g} times the bound"
    if answer.kind == "process" or (all(not a.right for a in (first, *later)) and any(a.right for a in fresh)):
        right = next((a.label for a in (*fresh, first, *later) if a.right), "")
        told = f"{answer.label}: {ratio}" + (f"; right: {right}" if right else "")
        return replace(answer.seen, defect="cache_dependent", detail=told) if right else answer.seen
    if answer is first and any(a.right for a in later):
        told = f"the first call at these sizes is off by {ratio}, the {later[0].label} is right"
        return replace(answer.seen, defect="tuning_leaves_trace", detail=told)
    if answer is trial.other_wrong and not (trial.alone is not None and trial.alone.right):
        # nothing says that the order matters: these inputs are wrong whenever they come
        return replace(answer.seen, case=trial.other_case)
    if first.right:
        return replace(
            answer.seen,
            defect="first_call_differs",
            detail=f"the first call is right, the {answer.label} is off by {ratio}",
        )
    if trial.of("schedule") and all(a.right for a in trial.of("schedule")):
        told = f"every call that may tune is off by {ratio}, each schedule alone is right"
        return replace(answer.seen, defect="tuning_leaves_trace", detail=told)
    return answer.seen


def _moved(trial: Trial) -> Observation | None:
    """Bits that the contract promises to keep and that move, though every answer is within the bound."""
    pairs = (
        ("first_call_differs", trial.of("plain"), trial.variations.same_across_calls),
        ("schedule_dependent", trial.of("schedule"), trial.variations.same_across_schedules),
    )
    for defect, answers, names in pairs:
        for first, other, apart in differing_bits(answers, names) if names else ():
            told = f"{first.label} and {other.label} give other bits: up to {apart:.2g} of an element apart"
            return _named(other, replace(other.seen, defect=defect, detail=told))
    return None


EXPERIMENT = ScheduleTrials()
