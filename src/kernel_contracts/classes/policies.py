"""From observations to a verdict, for classes that claim a policy: what must happen on inputs out of the ordinary.

A policy that the contract does not declare is no accusation: the one that was followed is named, and the verdict says
that the contract leaves it open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernel_contracts.classes.judging import fails, is_refusal, violation
from kernel_contracts.contracts.evidence import Finding, Observation, Outcome, Verdict
from kernel_contracts.contracts.model import Bound, Contract


def judge_policies(
    contract: Contract, bound: Bound, observations: Sequence[Observation], needed: Sequence[str]
) -> Finding:
    """The verdict; at least one of the policies in `needed` has to be declared."""
    measured = [o for o in observations if not o.skipped]
    if not measured:
        why = next((o.skipped for o in observations), "no case was planned")
        return Finding(Verdict.INCONCLUSIVE, f"nothing could be measured: {why}")
    ordinary = [o for o in measured if not o.facts]
    if ordinary and all(o.outcome is Outcome.RAISED for o in ordinary):
        return Finding(
            Verdict.INAPPLICABLE, f"the kernel refuses every input of this scope: {ordinary[0].detail}",
            samples=len(measured),
        )  # fmt: skip
    notes = tuple(observed(measured))
    failing = [o for o in measured if fails(o)]
    if failing:
        found = violation(bound, measured, failing)
        return Finding(
            found.verdict, found.reason, found.signature, found.witness, found.ratio, found.samples, found.failures,
            found.undetermined, found.tolerance_free, notes,
        )  # fmt: skip
    missing = [p for p in needed if p in {k for o in measured for k in o.facts} and p not in contract.policies]
    if missing:
        words = "; ".join(n for n in notes if n.partition(":")[0] in missing)
        return Finding(
            Verdict.UNDER_SPECIFIED,
            f"the contract declares no policy {' and '.join(missing)}; the kernel follows {words}",
            samples=len(measured),
            notes=notes,
        )
    refused = sum(is_refusal(o) for o in measured)
    reason = f"all {len(measured)} cases as declared" + (f", {refused} of them raised" if refused else "")
    exact = sum(r.exact for o in measured for r in o.outputs)
    return Finding(Verdict.CONFORMS, reason, samples=len(measured), tolerance_free=exact, notes=notes)


def untried(finding: Finding, observations: Sequence[Observation], wanted: Sequence[str], what: str) -> Finding:
    """The finding; inconclusive instead of conforming where no case put any of the policies in `wanted` at stake.

    `what` names in a word what was never given: `NaN`, `an index outside`.
    """
    at_stake = {name for o in observations if not o.skipped for name in o.facts}
    if finding.verdict is not Verdict.CONFORMS or at_stake & set(wanted):
        return finding
    return replace(
        finding, verdict=Verdict.INCONCLUSIVE, reason=f"no case gave {what}; other sizes or parameters would decide"
    )


def observed(observations: Sequence[Observation]) -> list[str]:
    """`nan: propagate`, or `nan: propagate in 40 cases, number_wins in 3` where it depends."""
    counts: dict[str, dict[str, int]] = {}
    for o in observations:
        for name, followed in o.facts.items():
            words = counts.setdefault(name, {})
            words[followed] = words.get(followed, 0) + 1
    out = []
    for name, words in counts.items():
        ranked = sorted(words.items(), key=lambda kv: -kv[1])
        shown = ranked[0][0] if len(ranked) == 1 else ", ".join(f"{w} in {n} cases" for w, n in ranked)
        out.append(f"{name}: {shown}")
    return out
