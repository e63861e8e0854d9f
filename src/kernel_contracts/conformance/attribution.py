"""Where two platforms part within a model, and how much of the difference at its end each step answers for.

Every step is judged on the activations that really came: both kernels get the same inputs, those of the first platform,
and their answers go to the arbiter. Then each step alone is taken from the second platform and the rest of the model
run on the first: the change at the end is what this step contributes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.answers.admission import Ruling as Admission
from kernel_contracts.answers.arrays import Origin, read_outputs
from kernel_contracts.answers.stories import tell
from kernel_contracts.conformance.arbiter import Evidence, Gap, Judgement, Standing, arbitrate
from kernel_contracts.conformance.model_file import Model, Step
from kernel_contracts.conformance.model_moves import MOVES
from kernel_contracts.conformance.model_playing import Arrays, Player, StepFailed, calls_of
from kernel_contracts.conformance.pricing import measured, price_of
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.report.records import number


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two arrays agree."""

    elements: int
    differing: int
    largest: float
    """Largest |a - b|."""
    relative: float
    """Root mean square of a - b over that of a."""
    choices: float | None
    """Share of rows whose largest element stands at the same place; None for an array without rows."""


@dataclass(frozen=True, slots=True)
class StepFinding:
    """One step under both platforms, on the same inputs."""

    step: Step
    contract: str
    judgement: Judgement
    contribution: float
    """Change at the end of the model when this step alone is the second platform's: rms over the outputs' rms."""
    share: float = 0.0
    """Of the sum of all steps' contributions."""


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """A model on a pair of platforms."""

    a: str
    b: str
    model: str
    outputs: Mapping[str, Agreement]
    steps: tuple[StepFinding, ...]
    failed: str = ""
    """Where and why one of the platforms could not run the model to its end."""

    def as_json(self) -> dict[str, Any]:
        return {
            "record": "model",
            "schema": 1,
            "model": self.model,
            "a": self.a,
            "b": self.b,
            "failed": self.failed or None,
            "outputs": {
                n: {
                    "elements": g.elements,
                    "differing": g.differing,
                    "largest": number(g.largest),
                    "relative": number(g.relative),
                    "choices": g.choices,
                }
                for n, g in self.outputs.items()
            },
            "steps": [
                {
                    "name": f.step.name,
                    "operation": f.step.operation,
                    "contract": f.contract,
                    "ruling": f.judgement.ruling.value,
                    "reason": f.judgement.reason,
                    "ratio": number(f.judgement.ratio),
                    "differing": f.judgement.differing,
                    "elements": f.judgement.elements,
                    "contribution": number(f.contribution),
                    "share": f.share,
                }
                for f in self.steps
            ],
        }


def attribute(model: Model, a: Player, b: Player) -> ModelFinding:
    """The model end to end on both, and every step on the activations of `a`."""
    names = (a.platform.name, b.platform.name)
    runs: list[Arrays] = []
    for player in (a, b):
        try:
            runs.append(player.play(model))
        except StepFailed as failure:
            why = f"{player.platform.name} gives no answer at {failure.step.name}: {failure.why}"
            return ModelFinding(*names, model.name, {}, (), why)
    ours, theirs = runs
    outputs = {n: agreement(ours[n], theirs[n]) for n in model.outputs}
    found = [_step(model, k, ours, a, b) for k, s in enumerate(model.steps) if s.operation not in MOVES]
    shares = _shares([f.contribution for f in found])
    steps = tuple(replace(f, share=share) for f, share in zip(found, shares, strict=True))
    return ModelFinding(*names, model.name, outputs, steps)


def _shares(contributions: Sequence[float]) -> list[float]:
    """Parts of their sum; where some are no finite number, these share it among themselves."""
    wild = sum(not math.isfinite(c) for c in contributions)
    if wild:
        return [0.0 if math.isfinite(c) else 1 / wild for c in contributions]
    total = sum(contributions)
    return [c / total if total else 0.0 for c in contributions]


def _step(model: Model, k: int, ours: Arrays, a: Player, b: Player) -> StepFinding:
    step = model.steps[k]
    inputs = [ours[n] for n in step.inputs]
    mine = [ours[n] for n in step.outputs]
    try:
        other = b.step(step, inputs)
    except StepFailed as failure:
        nothing = Evidence(Standing(Verdict.CONFORMS), Standing(Verdict.VIOLATES, signature=f"raised: {failure.why}"))
        return StepFinding(step, "", arbitrate(nothing), 0.0)
    contract, judgement = judged(step, inputs, mine, other)
    if not judgement.differing:
        return StepFinding(step, contract, judgement, 0.0)
    try:
        end = a.replay(model, ours, dict(zip(step.outputs, other, strict=True)), k + 1)
    except StepFailed:
        return StepFinding(step, contract, judgement, float("inf"))
    ends = [[arrays[n] for n in model.outputs] for arrays in (ours, end)]
    return StepFinding(step, contract, judgement, _distance(*ends))


def judged(
    step: Step, inputs: Sequence[NDArray[Any]], mine: Sequence[NDArray[Any]], other: Sequence[NDArray[Any]]
) -> tuple[str, Judgement]:
    """The arbiter's word on two answers to one call; the contract is the strictest of those that compare values."""
    found: list[tuple[str, Judgement]] = []
    for call in calls_of(step, inputs):
        admission = Admission(call)
        admitted = admission.admissions()
        names = [t.name for t in call.contract.outputs]
        values = [dict(zip(names, (g.values for g in read_outputs(tuple(y))), strict=True)) for y in (mine, other)]
        standings = [_standing(admission, v) for v in values]
        gap = Gap(step.name, sum(y.size for y in mine), sum(_differing(x, y) for x, y in zip(mine, other, strict=True)))
        for name in names:
            for accepted in admitted[name]:
                gap = measured(gap, price_of(accepted), values[0][name], values[1][name])
        found.append((call.contract.name, arbitrate(Evidence(standings[0], standings[1], (gap,)))))
    return max(found, key=lambda f: (not f[1].settled, f[1].ratio))


def _standing(admission: Admission, values: Mapping[str, Any]) -> Standing:
    ratio, _ = admission.worst_ratio(values)
    if not admission.decided:
        return Standing(Verdict.INCONCLUSIVE, "the oracle's own error is not under 1% of the tolerance here")
    if ratio > 1:
        return Standing(Verdict.VIOLATES, signature=str(tell(admission, values, Origin(), save=False).signature))
    return Standing(Verdict.CONFORMS)


def _differing(x: NDArray[Any], y: NDArray[Any]) -> int:
    rows = (x.size, x.dtype.itemsize)
    a, b = (np.ascontiguousarray(z).reshape(-1).view(np.uint8).reshape(rows) for z in (x, y))
    return int(np.count_nonzero((a != b).any(axis=1)))


def agreement(x: NDArray[Any], y: NDArray[Any]) -> Agreement:
    """Two arrays of one shape held against each other."""
    a, b = (np.asarray(z, dtype=np.float64) for z in (x, y))
    with np.errstate(invalid="ignore"):
        largest = float(np.max(np.abs(a - b), initial=0.0))
    choices = float(np.mean(a.argmax(-1) == b.argmax(-1))) if a.ndim > 1 and a.shape[-1] > 1 and a.size else None
    return Agreement(a.size, _differing(x, y), largest, _distance([x], [y]), choices)


def _distance(ours: Sequence[NDArray[Any]], theirs: Sequence[NDArray[Any]]) -> float:
    """Root mean square of the difference over that of the first."""
    a, b = (np.concatenate([np.ravel(np.asarray(z, dtype=np.float64)) for z in zs]) for zs in (ours, theirs))
    size = float(np.sqrt(np.mean(a * a))) if a.size else 0.0
    apart = float(np.sqrt(np.mean((a - b) ** 2))) if a.size else 0.0
    return apart / size if size else apart
