"""Pairs of kernels whose difference is known: the arbiter finds out by measuring, the answer stands beside."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kernel_contracts.conformance.arbiter import Ruling
from kernel_contracts.conformance.comparing import Row, compare
from kernel_contracts.conformance.platforms import platforms
from kernel_contracts.conformance.readings import read
from kernel_contracts.conformance.running import Run, Wanted

KERNELS = Path(__file__).parent / "kernels"
OWN = str(KERNELS / "contracts.kc")


@dataclass(frozen=True)
class Group:
    """Kernels measured together against the same contracts."""

    what: str
    kernels: tuple[str, ...]
    dtype: str = "fp32"
    classes: tuple[str, ...] | None = None


GROUPS: Mapping[str, Group] = {
    "sum": Group(
        f"{OWN}:total",
        (
            "sum_here",
            "sum_same",
            "sum_backwards",
            "sum_narrower",
            "sum_narrower_still",
            "sum_wider",
            "sum_without_tail",
        ),
    ),
    "repeat": Group("sum", ("sum_here", "sum_in_any_order"), classes=("C-ORD-02",)),
    "mul": Group(f"{OWN}:product", ("mul", "mul_flushing")),
    "mul declared": Group("mul", ("mul", "mul_flushing"), classes=("C-PRC-03",)),
    "gather": Group(f"{OWN}:rows", ("gather_raising", "gather_wrapping", "gather_clamping")),
    "gather declared": Group("gather", ("gather_raising", "gather_wrapping", "gather_clamping"), classes=("C-EXC-02",)),
    "multiply-add": Group(f"{OWN}:multiply-add", ("fma_apart", "fma_fused")),
    "to fp8": Group(f"{OWN}:to-fp8", ("to_fp8_saturating", "to_fp8_nan")),
    "to bf16": Group(f"{OWN}:to-bf16", ("to_bf16", "to_bf16_truncating")),
    "max": Group(f"{OWN}:largest", ("max_propagating", "max_ignoring")),
    "max declared": Group("max", ("max_propagating", "max_ignoring"), classes=("C-EXC-01",)),
    "argmax": Group("argmax", ("argmax_first", "argmax_last"), classes=("C-ORD-02",)),
    "softmax": Group("softmax", ("softmax_shifted", "softmax_plain"), classes=("C-PRC-02",)),
    "relu": Group(f"{OWN}:rectified", ("relu_kept", "relu_signed")),
    "matmul": Group("matmul", ("matmul_here", "matmul_coerced"), classes=("C-PRC-01",)),
}


@dataclass(frozen=True)
class Known:
    """The truth about a pair."""

    group: str
    a: str
    b: str
    ruling: Ruling
    says: str = ""
    """What the reason, the signature or the missing clause must name."""


IDENTICAL, LEGITIMATE, OPEN = Ruling.IDENTICAL, Ruling.LEGITIMATE, Ruling.UNDER_SPECIFIED
A_WRONG, B_WRONG, BOTH_WRONG = Ruling.A_VIOLATES, Ruling.B_VIOLATES, Ruling.BOTH_VIOLATE
PAIRS = {
    "the same code": Known("sum", "sum_here", "sum_same", IDENTICAL),
    "a sum in another order": Known("sum", "sum_here", "sum_backwards", LEGITIMATE, "of what is permitted"),
    "a wider accumulator": Known("sum", "sum_here", "sum_wider", LEGITIMATE, "of what is permitted"),
    "a narrower accumulator": Known("sum", "sum_here", "sum_narrower", B_WRONG, "accumulator_narrowed"),
    "a narrower accumulator on the other side": Known(
        "sum", "sum_narrower", "sum_wider", A_WRONG, "accumulator_narrowed"
    ),
    "two narrow accumulators": Known("sum", "sum_narrower", "sum_narrower_still", BOTH_WRONG),
    "a tail left out": Known("sum", "sum_backwards", "sum_without_tail", B_WRONG, "tail_dropped"),
    "an order that changes from call to call": Known(
        "repeat", "sum_here", "sum_in_any_order", B_WRONG, "run_dependent"
    ),
    "flushing that nothing forbids": Known("mul", "mul", "mul_flushing", OPEN, "policy subnormal_result"),
    "flushing against the contract": Known("mul declared", "mul", "mul_flushing", B_WRONG, "flushed"),
    "clamping that nothing forbids": Known("gather", "gather_raising", "gather_clamping", OPEN, "policy out_of_bounds"),
    "clamping where raising is due": Known("gather declared", "gather_raising", "gather_clamping", B_WRONG, "clamped"),
    "raising or counting from the end": Known(
        "gather declared", "gather_raising", "gather_wrapping", LEGITIMATE, "negative_index = raise or wrap"
    ),
    "a product and a sum fused": Known("multiply-add", "fma_apart", "fma_fused", LEGITIMATE, "of what is permitted"),
    "fp8 saturated against NaN": Known("to fp8", "to_fp8_saturating", "to_fp8_nan", OPEN, "policy overflow"),
    "bf16 cut off instead of rounded": Known("to bf16", "to_bf16", "to_bf16_truncating", B_WRONG, "rounding"),
    "NaN ignored where nothing is said": Known("max", "max_propagating", "max_ignoring", OPEN, "policy nan"),
    "NaN ignored against the contract": Known("max declared", "max_propagating", "max_ignoring", B_WRONG, "nan"),
    "the last of equals instead of the first": Known("argmax", "argmax_first", "argmax_last", B_WRONG),
    "a softmax without its shift": Known("softmax", "softmax_shifted", "softmax_plain", B_WRONG, "overflowed"),
    "zeros of other signs": Known("relu", "relu_kept", "relu_signed", LEGITIMATE, "equal as numbers"),
    "operands in another format": Known("matmul", "matmul_here", "matmul_coerced", B_WRONG, "operand_coerced"),
}


@cache
def rows(group: str) -> tuple[Row, ...]:
    """The group measured once, and every pair of it settled."""
    chosen = GROUPS[group]
    kernels = [f"{name}={KERNELS / 'pairs.py'}:{name}" for name in chosen.kernels]
    wanted = Wanted((chosen.what,), platforms((), kernels), chosen.classes, (chosen.dtype,), samples=12, seed=11)
    with TemporaryDirectory(prefix="kernel-contracts-pairs-") as root:
        assert list(Run(wanted, Path(root)).go())
        return compare(read([Path(root)])).rows


@pytest.mark.skipif(sys.platform != "linux", reason="measures in worker processes of Linux")
@pytest.mark.parametrize(
    "what", [pytest.param(w, marks=pytest.mark.slow if k.group == "repeat" else ()) for w, k in PAIRS.items()]
)
def test_the_arbiter_is_right_about(what: str) -> None:
    known = PAIRS[what]
    found = [r for r in rows(known.group) if (r.a, r.b) == (known.a, known.b)]
    assert found
    for row in found:
        said = " ".join((row.judgement.reason, row.judgement.clause))
        assert row.judgement.ruling is known.ruling, (row.contract, said)
        assert known.says in said, (row.contract, said)


def test_there_are_twenty_pairs_and_every_answer_is_among_them() -> None:
    assert len(PAIRS) >= 20
    assert {k.ruling for k in PAIRS.values()} == set(Ruling) - {Ruling.NOT_COMPARABLE}
