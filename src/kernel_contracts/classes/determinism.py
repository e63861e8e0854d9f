"""C-ORD-02, the determinism class is the declared one.

Claim: repeated on the same input, a kernel gives what it promises: the same bits across everything named (`bitwise`),
the same bits as long as threads and memory stay as they are (`run_to_run`), answers that all lie within the tolerance
(`bounded`), or nothing (`none`, which is reported as a low grade and never as a pass among equals).

Decided by all pairs of answers, bit for bit, in several settings. The paper's 1e-7 for RUN_TO_RUN is under one ulp of
fp32 on half of its range and nothing at all in fp16 (section 4.6); `bounded` uses the derived bound instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel_contracts.classes.base import Plan, protocol
from kernel_contracts.contracts.determinism import AXES, Promise, promise_of
from kernel_contracts.contracts.evidence import Finding, Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem


@dataclass(frozen=True, slots=True)
class DeterminismClass:
    """Plans repetitions; judges what they gave and says which class was measured."""

    id: str = "C-ORD-02"
    title: str = "Atomic-operation determinism class"
    family: str = "ordering"
    claim: str = "Repeated calls agree as far as the declared determinism class says."
    mutants: tuple[str, ...] = ("accumulate", "drop_tail", "other_tie")
    faults: tuple[str, ...] = (
        "arrival", "arrival_under_load", "fold_by_threads", "vector_if_aligned", "split_if_few_rows", "racing_writes",
        "off_if_alone", "saturate_if_many",
    )  # fmt: skip
    extra_inputs: tuple[MeasureItem, ...] = (
        MeasureItem("normal"), MeasureItem("opposite"), MeasureItem("wide", (20.0,)),
    )  # fmt: skip

    def plan(self, contract: Contract, bound: Bound) -> Plan:
        return protocol(contract, "repeats", self.extra_inputs)

    def judge(self, contract: Contract, bound: Bound, observations: Sequence[Observation]) -> Finding:
        from kernel_contracts.classes.judging import judge_values

        promise = promise_of(contract)
        finding = judge_values(contract, bound, observations)
        notes = [*finding.notes, *measured_notes(promise, observations)]
        if finding.verdict is Verdict.CONFORMS:
            reason = {
                "bitwise": f"all {finding.samples} cases gave the same bits every time",
                "run_to_run": f"all {finding.samples} cases gave the same bits in the same setting",
                "bounded": f"every answer to all {finding.samples} cases is within the bound",
                "none": "nothing is promised, so nothing can be broken: the lowest grade",
            }[promise.level]
            finding = replace(finding, reason=reason)
        return replace(finding, notes=tuple(notes))


def measured_notes(promise: Promise, observations: Sequence[Observation]) -> list[str]:
    """The class that was measured, beside the declared one."""
    seen = [o for o in observations if o.facts]
    if not seen:
        return []
    axes = [a for a in AXES if any(a in o.facts for o in seen)]
    same = [a for a in axes if all(o.facts.get(a, "same") == "same" for o in seen)]
    other = [a for a in axes if a not in same]
    notes = [f"declared {promise.level}; measured {_level(same, other)}"]
    if other:
        worst = max(seen, key=lambda o: o.readings.get("spread", 0.0))
        notes.append(
            f"answers differ by up to {worst.readings.get('spread', 0.0):.2g} of their size, "
            f"{max(o.readings.get('answers', 0.0) for o in seen):.0f} to one case"
        )
    winners = {o.facts["ties"] for o in seen if o.facts.get("ties", "either") != "either"}
    if winners:
        notes.append(f"of several writes to one cell wins: {', '.join(sorted(winners))}")
    unmeasured = [a for a in promise.axes if a not in axes]
    if unmeasured:
        notes.append(f"not measured here: {', '.join(unmeasured)}")
    return notes


def _level(same: Sequence[str], other: Sequence[str]) -> str:
    words = []
    if same:
        words.append(f"the same bits across {', '.join(same)}")
    if other:
        words.append(f"other bits across {', '.join(other)}")
    return "; ".join(words)


CLASS = DeterminismClass()
