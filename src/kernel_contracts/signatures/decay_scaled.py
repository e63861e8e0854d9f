"""Weight decay added to gradients that are still scaled, so that unscaling all but removes it."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "decay_scaled", "Weight decay added to gradients that are still scaled, so that unscaling all but removes it.", 39,
    "decay_scaled",
)  # fmt: skip
