"""Mutants that no planned case kills, each with the reason. What is not listed here is a gap.

A survivor stands for a weakness of the measurement, or for a fault that the contract's own tolerance admits at the
sizes that are measured. A test keeps the list true: what is listed survives, and nothing else does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Survivor:
    """One mutant of one contract, alive for these formats."""

    contract: str
    formats: tuple[str, ...]
    mutant: str
    """As `kc calibrate` prints it: `narrow(fp16)`; the place after a colon where there are several."""
    reason: str


SURVIVORS: tuple[Survivor, ...] = ()


def reason(contract: str, formats: tuple[str, ...], text: str) -> str:
    """Why a survivor, `name: place`, lives; empty where nobody knows."""
    found = (
        s.reason
        for s in SURVIVORS
        if s.contract == contract and set(s.formats) & set(formats) and text.startswith(s.mutant)
    )
    return next(found, "")
