"""The same number everywhere, whatever the input."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    readings = [o for o in evidence.failing if o.outputs and o.outputs[0].size > 1]
    flat = [o for o in readings if o.readings.get("output_constant") == 1.0]
    wide = [o for o in flat if o.readings.get("oracle_constant") == 0.0]
    if len(flat) < len(readings) or 2 * len(wide) < len(readings) or not wide:
        return None  # some inputs have a constant answer, though another one
    value = wide[0].outputs[0].worst
    shown = f"{value.got:g}" if value is not None else "one number"
    return f"every element is {shown} in all {len(flat)} failing cases with more than one element"


RULE = Rule("constant_output", "The same number everywhere, whatever the input.", 25, match, always=True)
