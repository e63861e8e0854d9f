"""Stages in another order than the contract's."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("stage_reordered", "Stages in another order than the contract's.", 40, "bias_after_activation")
