"""A kernel on ranks wrote to what its caller wants to send."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    seen = evidence.witness
    if not seen.mutated or "world" not in seen.readings:
        return None
    rank, world = int(seen.readings.get("mutated_rank", 0)), int(seen.readings["world"])
    return f"{', '.join(seen.mutated)} of rank {rank} of {world} changed: the next call over it would go wrong"


RULE = Rule("send_buffer_mutated", "A kernel on ranks wrote to what its caller sends.", 14, match, always=True)
