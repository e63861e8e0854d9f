"""The kernel wrote to its inputs."""

from __future__ import annotations

from kernel_contracts.signatures.base import Evidence, Rule


def match(evidence: Evidence) -> str | None:
    names = evidence.witness.mutated
    return f"{', '.join(names)} changed during the call" if names else None


RULE = Rule("input_mutated", "The kernel wrote to its inputs.", 15, match, always=True)
