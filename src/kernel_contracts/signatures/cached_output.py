"""The answer to an earlier call, given again to other inputs."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_defect

RULE = by_defect("cached_output", "The answer to an earlier call, given again to other inputs.")
