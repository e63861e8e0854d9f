"""Subnormal inputs and results on every path of a kernel, and the switches that it leaves in its caller's thread.

One call shows which treatments explain its whole answer (the reading `pairs`, a bit a pair); all calls together must
be explained by one of them that the contract admits. A program that moves numbers is compared bit for bit instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Case, Element, Observation, Outcome, OutputReading
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.cases import item_of
from kernel_contracts.measurement.conduct import float_state
from kernel_contracts.measurement.emulated import Callee
from kernel_contracts.measurement.experiments.base import Asked, Measured, thinned
from kernel_contracts.measurement.flushing import BETWEEN, INPUT, PAIRS, RESULT, Hypotheses, Pair, Views, declared
from kernel_contracts.measurement.hypotheses import explain
from kernel_contracts.measurement.inputs.base import families
from kernel_contracts.measurement.moves import is_move
from kernel_contracts.measurement.moving import compared, stored
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.subnormal_inputs import make
from kernel_contracts.measurement.subnormal_plan import subnormal_cases
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.interpret import Instance
from kernel_contracts.signatures.base import EXPLAINS

#: Faults beside flushing that this class looks for: operands taken in another format.
_COERCIONS = ("operands",)
_STAKES = ("input_at_stake", "result_at_stake")
_DONE = ("input_flushed", "result_flushed", "either_flushed", "intermediate_flushed", "subnormals_kept", "unexplained")
_SWITCHES = ("flush_to_zero", "denormals_are_zero", "rounding")


class Subnormals(Measured):
    """The experiment of C-PRC-03."""

    name = "subnormals"

    def planned(self, asked: Asked) -> list[Case]:
        made = subnormal_cases(asked.contract, asked.bound, asked.plan, seed=asked.seed, fixed=asked.fixed)
        return thinned(made, asked.samples, lambda case: case.family, lambda case: case.layout)

    def inputs(self, session: Session, case: Case) -> dict[str, Array]:
        listed = item_of(case).name in families()
        return session.inputs(case) if listed else make(session.request(case), case.family)

    def measure_on(self, session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
        switched = switches(float_state())
        if switched:  # several libraries leave flushing on; no oracle can be trusted beside them
            return Session.skipped(case, f"this very process {switched}: start the check in a fresh one")
        moves = is_move(session.bound.program, session.bound.outputs)
        kept = Keeping(session.kernel, stored(session, case, inputs) if moves else {})
        seen, outputs, _ = session.called(case, inputs, kept)
        told = left_behind(kept.result)
        if told:
            return replace(seen, defect="caller_state_changed", detail=told)
        if seen.outcome is not Outcome.RETURNED or seen.defect:
            return seen
        with np.errstate(all="ignore"):
            if moves:
                return compared(session, case, seen, kept.given, kept.result)
            return _judged(session, case, inputs, outputs, seen)

    def finish(self, session: Session, observations: Sequence[Observation]) -> list[Observation]:
        return one_policy(session.contract, observations)


class Keeping:
    """The kernel, with the call's record kept and inputs given as bits where values cannot say them."""

    def __init__(self, inner: Callee, bits: Mapping[str, NDArray[Any]]) -> None:
        self.inner, self.bits = inner, bits
        self.given: Sequence[ArrayIn] = ()
        self.result = CallResult(Outcome.RETURNED)

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
    ) -> CallResult:
        self.given = [replace(a, array=self.bits.get(a.name, a.array)) for a in arrays]
        self.result = self.inner.call(self.given, scalars, poison=poison)
        return self.result


# ------------------------------------------------------------------------------------------ the caller's switches


def switches(state: Mapping[str, Any], before: Mapping[str, Any] = {}) -> str:
    """What a floating-point state does that it did not do before, as a verb phrase; empty where nothing."""
    now = [s for s in _SWITCHES if s in state and state[s] != before.get(s, "nearest" if s == "rounding" else False)]
    words = {
        "flush_to_zero": "flushes subnormal results to zero",
        "denormals_are_zero": "reads subnormal numbers as zero",
        "rounding": f"rounds to {state.get('rounding')}",
    }
    return " and ".join(words[s] for s in now)


def left_behind(result: CallResult) -> str:
    """What the call, an earlier one or loading the kernel changed in the calling thread."""
    state = result.state
    before = state.get("before")
    start = state.get("fresh", before)
    if not isinstance(start, Mapping) or not isinstance(before, Mapping):
        return ""
    changed = switches(state, start)
    if not changed:
        return ""
    when = "since the kernel was loaded or called first" if switches(before, start) else "which it did not before"
    flushes = state.get("flush_to_zero") and not start.get("flush_to_zero")
    example = ": 2^-1022 * 0.5 gives 0 there" if flushes else ""
    return f"after the call the calling thread {changed}, {when}{example}"


# ------------------------------------------------------------------------------------------------------- one case


def _judged(
    session: Session, case: Case, inputs: Mapping[str, Array], outputs: Mapping[str, Array], seen: Observation
) -> Observation:
    """The answer beside every treatment of subnormal numbers."""
    scalars = {s.name: case.scalars[s.name] for s in session.contract.scalars if s.name in case.scalars}
    hypotheses = Hypotheses(session, case.dims, inputs, scalars)
    views = hypotheses.views(outputs)
    truth = hypotheses.truth
    if not views or truth is None:
        return replace(seen, oracle_ok=False)
    fitting = [p for p in PAIRS if all(bool(v.fits[p].all()) for v in views.values())]
    admitted = declared(session.contract) or PAIRS[:1]
    best = min(admitted, key=lambda p: sum(int(np.count_nonzero(~v.fits[p])) for v in views.values()))
    counts, guessed = _counts(views, best)
    left: dict[str, float] = {}
    if sum(guessed.values()) or counts["unexplained"]:
        instance = Instance(session.bound.program, case.dims, inputs, scalars)
        centers, radii = ({n: getattr(v, a) for n, v in views.items()} for a in ("center", "tolerance"))
        left = explain(session.bound, instance, outputs, centers, _COERCIONS, radii)
    if min(left.values(), default=1.0) > EXPLAINS:
        counts = {k: n + guessed.get(k, 0.0) for k, n in counts.items()}
    else:
        counts["unexplained"] += sum(guessed.values())
    counts["pairs"] = float(sum(1 << k for k, p in enumerate(PAIRS) if p in fitting))
    counts["least_normal"] = float(min(f.emin for f in session.bound.inputs.values() if f.is_real))
    mixed = "" if set(fitting) & set(admitted) else _mixed_within(views, admitted)
    return replace(
        seen,
        defect="subnormals_mixed" if mixed else "",
        detail=mixed,
        outputs=tuple(_reading(n, outputs[n], v, best) for n, v in views.items()),
        oracle=truth.oracle,
        oracle_ok=hypotheses.good,
        readings={**seen.readings, **counts, **_places(views)},
        hypotheses=left,
    )


def _mixed_within(views: Mapping[str, Views], admitted: Sequence[Pair]) -> str:
    """A sentence where each element follows some admitted treatment and no one of them explains all."""
    chosen = {n: [v.plainly[p] for p in admitted] for n, v in views.items()}
    if len(admitted) < 2 or not all(bool(np.logical_or.reduce(c).all()) for c in chosen.values()):
        return ""
    stake = {n: (v.input_matters | v.result_matters) & ~v.free for n, v in views.items()}
    kept = sum(int(np.count_nonzero(stake[n] & v.plainly[PAIRS[0]])) for n, v in views.items())
    total = sum(int(np.count_nonzero(s)) for s in stake.values())
    return f"{kept} subnormal numbers kept and {total - kept} flushed in one call"


def _counts(views: Mapping[str, Views], best: Pair) -> tuple[dict[str, float], dict[str, float]]:
    """How many elements were at stake, and what was done with those that the best admitted treatment calls wrong.

    Second, those that only a flush somewhere within a longer computation could explain, for want of a better reason.
    """
    found, guessed = dict.fromkeys(_STAKES + _DONE, 0.0), dict.fromkeys(_DONE, 0.0)
    for v in views.values():
        found["input_at_stake"] += float(np.count_nonzero(v.input_matters & ~v.free))
        found["result_at_stake"] += float(np.count_nonzero(v.result_matters & ~v.free))
        by_result, by_input, by_both = (v.plainly[p] for p in PAIRS[1:])
        loosely = v.fits[PAIRS[1]] | v.fits[PAIRS[2]] | v.fits[PAIRS[3]]
        kinds = (
            (found, "subnormals_kept", v.plainly[PAIRS[0]]),
            (found, "either_flushed", by_input & by_result),
            (found, "input_flushed", by_input),
            (found, "result_flushed", by_result),
            (found, "input_flushed", by_both),
            (guessed, "input_flushed", loosely & v.input_matters),
            (guessed, "result_flushed", loosely & v.result_matters),
            (guessed, "intermediate_flushed", loosely),
            (found, "unexplained", np.ones_like(loosely)),
        )
        rest = ~v.fits[best]
        for into, kind, mask in kinds:
            into[kind] += float(np.count_nonzero(rest & mask))
            rest = rest & ~mask
    return found, guessed


def _places(views: Mapping[str, Views]) -> dict[str, float]:
    """Along the last axis: where the first flushed element is, and the last one at stake that was kept."""
    flushed_from, kept_to = np.inf, -1.0
    for v in views.values():
        stake = (v.input_matters | v.result_matters) & ~v.free
        if not stake.ndim or not stake.any():
            continue
        kept = stake & v.plainly[PAIRS[0]]
        gone = stake & ~kept
        lanes = np.broadcast_to(np.arange(stake.shape[-1]), stake.shape)
        flushed_from = min(flushed_from, float(lanes[gone].min(initial=1 << 60)))
        kept_to = max(kept_to, float(lanes[kept].max(initial=-1)))
    return {"flushed_from": flushed_from, "kept_to": kept_to} if 0 <= kept_to < flushed_from < 1 << 60 else {}


def _reading(name: str, y: Array, v: Views, best: Pair) -> OutputReading:
    wrong = ~v.fits[best]
    count = int(np.count_nonzero(wrong))
    worst = None
    if count:
        flat = int(np.argmax(wrong))
        at = tuple(int(i) for i in np.unravel_index(flat, wrong.shape)) if wrong.shape else ()
        worst = Element(name, at, float(y[at]), float(v.center[at]), float(v.tolerance[at]), np.inf)
    stake = (v.input_matters | v.result_matters) & ~v.free
    return OutputReading(
        name, int(y.size), np.inf if count else 0.0, count, int(np.count_nonzero(v.free)),
        int(np.count_nonzero(stake)), int(np.count_nonzero(stake & wrong)),
        int(np.count_nonzero(wrong & ~np.isfinite(y))), int(np.count_nonzero(wrong & (y == 0))), worst,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ all cases together


def one_policy(contract: Contract, observations: Sequence[Observation]) -> list[Observation]:
    """Names the treatment that explains everything; where none does, marks the cases that leave the usual one."""
    judged = [o for o in observations if "pairs" in o.readings and not o.skipped]
    sets = [{p for k, p in enumerate(PAIRS) if int(o.readings["pairs"]) >> k & 1} for o in judged]
    admitted = declared(contract) or PAIRS[:1]
    common = [p for p in PAIRS if all(p in s for s in sets)]
    if set(common) & set(admitted) or (common and len(admitted) < 2):
        shown = next((p for p in common if p in admitted), common[0])
        return [_named(o, shown) for o in observations]
    counts = {p: sum(p in s for s in sets) for p in admitted}
    usual = max(counts, key=lambda p: counts[p])
    out = []
    for o in observations:
        own = next((s for j, s in zip(judged, sets, strict=True) if j is o), None)
        here = next((p for p in (usual, *PAIRS) if own and p in own), None)
        o = _named(o, here) if here is not None else o
        if own is not None and usual not in own and not o.violating and o.oracle_ok:
            o = replace(o, defect="subnormals_mixed", detail=_mixed(o, usual, here))
        out.append(o)
    return out


def _named(o: Observation, pair: Pair) -> Observation:
    """The observation with the policies it bears witness to."""
    stake = {INPUT: o.readings.get("input_at_stake"), RESULT: o.readings.get("result_at_stake")}
    facts = {name: choice for (name, at_stake), choice in zip(stake.items(), pair, strict=True) if at_stake}
    if o.readings.get("intermediate_flushed"):
        facts[BETWEEN] = "flush"
    return replace(o, facts={**o.facts, **facts})


def _mixed(o: Observation, usual: Pair, here: Pair | None) -> str:
    words = {"preserve": "kept", "flush": "flushed"}
    other = here or usual
    parts = [(kind, one, two) for kind, one, two in zip(("inputs", "results"), other, usual, strict=True) if one != two]
    sizes = ", ".join(f"{k} = {v}" for k, v in o.case.dims.items())
    said = " and ".join(f"{kind} {words[one]}" for kind, one, _ in parts)
    elsewhere = " and ".join(words[two] for *_, two in parts)
    return f"{said} with {o.case.layout} memory at {sizes}, {elsewhere} in most cases"


EXPERIMENT = Subnormals()
