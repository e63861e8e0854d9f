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
    seed: int = 2026
    """One at which it lives; the sizes that are drawn decide."""


SURVIVORS: tuple[Survivor, ...] = (
    Survivor(
        "attention-fused", ("bf16",), "narrow(bf16): e",
        "The contract lets the weights e / sum(e) be held in bf16, and e held in bf16 errs by as much; only at "
        "some sizes is more left of it than the weights may lose.",
        seed=7,
    ),
    Survivor(
        "attention-backward-fused", ("bf16",), "narrow(bf16): sub",
        "Gradients come out in bf16. The difference of dP and its mean, held in bf16, errs by as much as one rounding "
        "of each term; it shows only in elements whose terms cancel, which not every draw of sizes brings.",
    ),
    Survivor(
        "adamw-step-invariance", ("fp16",), "factor_narrowed(fp16): the factor mul",
        "The factor is lr times decay, near 1e-5 at usual values. Held in fp16 it moves 1 - lr decay by half of the "
        "last bit of fp32; only a draw of a large lr shows it.",
    ),
    Survivor(
        "cross-entropy-accumulator", ("bf16",), "accumulate(acc14)",
        "The loss is rounded to 8 bits. A sum kept in 14 shows only where some dozens of its roundings add up in one "
        "direction, which not every draw of sizes and values brings.",
    ),
    Survivor(
        "C-FA3-NUM", ("fp8_e4m3fn", "bf16"), "operands(tf32)",
        "Operands in fp8 and bf16 are whole in tf32. The only operand that changes is the weights, which the contract "
        "lets a kernel hold in bf16, and that is coarser.",
    ),
    Survivor(
        "C-FA3-DET", ("bf16",), "accumulate(acc14)",
        "The class asks for equal bits and gives only a few sizes to values; at those, 14 bits of a sum are enough for "
        "an output of 8. The contract on its numbers, C-FA3-NUM, kills it.",
    ),
)  # fmt: skip


def reason(contract: str, formats: tuple[str, ...], text: str) -> str:
    """Why a survivor, `name: place`, lives; empty where nobody knows."""
    found = (
        s.reason
        for s in SURVIVORS
        if s.contract == contract and set(s.formats) & set(formats) and text.startswith(s.mutant)
    )
    return next(found, "")
