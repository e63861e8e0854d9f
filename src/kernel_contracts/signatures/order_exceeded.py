"""Sums whose error fits another order of summation than the declared one."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    read = [o for o in evidence.failing if "any_order_ratio" in o.readings]
    if not read or any(o.readings["any_order_ratio"] > 1.0 for o in read):
        return None
    worst = max(read, key=lambda o: o.ratio)
    loose = worst.readings["any_order_ratio"]
    return (
        f"up to {worst.ratio:.3g} times the bound of the declared order, {loose:.2g} of that for any order: "
        "more roundings follow one another than declared"
    )


RULE = Rule("order_exceeded", "A sum as inaccurate as another order than the declared one.", 42, match)
