"""A factor or addend applied along the wrong axis."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_mutant

RULE = by_mutant("broadcast_misaligned", "A factor or addend applied along the wrong axis.", 40, "broadcast_axis")
