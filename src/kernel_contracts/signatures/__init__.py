"""Machine-checkable violation signatures, found by listing this package: one defect a module."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernel_contracts.contracts.evidence import Signature
from kernel_contracts.signatures.base import Evidence, Rule


@cache
def signatures() -> dict[str, Rule]:
    """Every rule by name, in the order in which they are tried."""
    found: list[Rule] = []
    for module in pkgutil.iter_modules(__path__):
        rule = getattr(importlib.import_module(f"{__name__}.{module.name}"), "RULE", None)
        if rule is not None:
            found.append(rule)
    return {r.name: r for r in sorted(found, key=lambda r: (r.rank, r.name))}


def recognize(evidence: Evidence) -> Signature:
    """The first rule that matches; `wrong_value` always does."""
    for rule in signatures().values():
        detail = rule.match(evidence)
        if detail is not None:
            return Signature(rule.name, detail)
    return Signature("wrong_value", "outside the tolerance")


__all__ = ["Evidence", "Rule", "recognize", "signatures"]
