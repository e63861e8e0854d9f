"""Weight decay added to the gradient, where it is declared to act on the weights alone."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant(
    "decay_coupled", "Weight decay added to the gradient, where it is declared to act on the weights alone.", 39,
    "decay_coupled",
)  # fmt: skip
