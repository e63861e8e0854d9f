"""An index outside is counted from the other end."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_fact

RULE = by_fact(
    "wrapped", "An index outside is counted from the other end.", "wrap", "gives the element counted from the other end"
)
