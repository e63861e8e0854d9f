"""An index outside is moved to the nearest end."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_fact

RULE = by_fact(
    "clamped", "An index outside is moved to the nearest end.", "clamp", "gives the element at the nearest end"
)
