"""An answer that depends on the schedule beyond what is admitted: wrong under one, right under others."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    o = evidence.witness
    if o.defect == "schedule_dependent":
        return o.detail
    label, right = o.facts.get("schedule"), int(o.readings.get("right_schedules", 0.0))
    if label is None or not right or o.defect or not o.violating:
        return None
    reading = max(o.outputs, key=lambda r: r.ratio)
    return (
        f"under schedule {label} {reading.exceeding} of {reading.size} elements are outside the bound, the worst by "
        f"{reading.ratio:.3g} times; {right} other schedules are right on the same inputs"
    )


RULE = Rule(
    "schedule_dependent", "Wrong under one schedule and right under others, or other bits where they are promised.", 90,
    match, always=True,
)  # fmt: skip
