"""An answer that no input changes, rebuilt from a seed or read from a file."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("seed_replay", "An answer that no input changes, rebuilt from a seed or read from a file.")
