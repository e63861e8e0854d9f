"""Ranks that must hold the same bits hold different ones."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("rank_disagreement", "Ranks that must hold the same bits hold different ones.")
