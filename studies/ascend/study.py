"""Silent precision coercion: a sum is declared in fp32 and taken in less.

python studies/ascend/study.py [-o PAGE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

import ml_dtypes  # noqa: E402
from ascend import kernels  # noqa: E402
from common import SEED, Record, again, judged, main, ordinary, said, shown, table  # noqa: E402

KERNELS = {
    "fp32_sums": "good",
    "sums_of_14_bits": "silently bad",
    "fp16_sums": "silently bad",
    "first_half": "visibly failing baseline",
}
CONTRACTS = ("fp8-matmul", "fp8-matmul-14-bits", "fp8-matmul-one-term")
LIBRARIES = (
    ("numpy", "library_sum", {"operation": "sum", "classes": ["C-PRC-01"], "dtypes": ["bf16"], "samples": 24}),
    ("numpy", "library_sum_fixed", {"operation": "sum", "classes": ["C-PRC-01"], "dtypes": ["bf16"], "samples": 24}),
    ("torch", "library_all_reduce",
     {"operation": "all_reduce", "classes": ["C-ORD-03"], "dtypes": ["fp16"], "samples": 8}),
)  # fmt: skip


def fp8_matmul(kernel: str, contract: str) -> Record:
    return judged(
        f"{FOLDER / 'kernels.py'}:{kernel}",
        contract=f"{FOLDER / 'contracts.kc'}:{contract}",
        dtypes=["fp8_e4m3fn"],
    )


def measure() -> Record:
    rng = np.random.default_rng(SEED)
    A, B = (rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((64, 64), (64, 64)))

    def exact(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return A.astype(np.float64) @ B.astype(np.float64)

    rows = [
        {
            "kernel": name,
            "state": state,
            "ordinary": ordinary(getattr(kernels, name), exact, [A, B], 0.05),
            "contracts": {c: fp8_matmul(name, c) for c in CONTRACTS},
        }
        for name, state in KERNELS.items()
    ]
    ones = np.ones((1, 4096), ml_dtypes.bfloat16)
    with np.errstate(over="ignore"):
        long = np.full((1, 4096), 4, ml_dtypes.float8_e4m3fn)
        sums = {name: float(getattr(kernels, name)(long, long.T)[0, 0]) for name in KERNELS}
    return {
        "rows": rows,
        "long": {"exact": 16 * 4096, **sums},
        "ones": {name: float(getattr(kernels, name)(ones)[0]) for name in ("library_sum", "library_sum_fixed")},
        "libraries": [
            {"stack": stack, "kernel": name, **judged(f"{FOLDER / 'kernels.py'}:{name}", stack=stack, **how)}
            for stack, name, how in LIBRARIES
        ],
    }


def page(record: Record) -> str:
    first, policy, narrow = CONTRACTS
    rows, long = record["rows"], record["long"]
    lines = [
        "# Silent precision coercion",
        "",
        "**The incident.** Wen and others ran 87,840 generated models on five accelerators (*Mind the Gap*,",
        "arXiv:2511.11601, 2025). On Ascend 910B 5.1% of them gave other results than on H200, and 13 operators were",
        "faulty, among them conversions that compute in less precision than was asked for, without a word. The paper",
        "on kernel contracts (arXiv:2604.22032, section 6.1) makes an example of it: fp8 operands, sums declared in",
        "fp32, and results that stop near 65504, the largest fp16 number. Its tolerance of 1e-5 is replaced here by a",
        "derived one. The kernels are emulated; nothing on this page was measured on an accelerator.",
        "",
        "**The contract.** A sum of products is in fp32 and nothing else is allowed for.",
        "",
        *shown(FOLDER / "contracts.kc", "kc", f"contract {first} version"),
        "",
        "**The kernels.** Beside the declared one: sums of 14 bits, as tensor cores were found to keep, sums in fp16,",
        "and one that stops half way. The ordinary check is one product of normal numbers, 64 x 64 x 64, with",
        "`allclose` at 5%, as is usual for fp8.",
        "",
        *table(
            ["kernel", "meant to be", "ordinary check", f"`{first}`", "why"],
            (
                [
                    f"`{r['kernel']}`",
                    r["state"],
                    r["ordinary"],
                    said(r["contracts"][first]),
                    r["contracts"][first]["reason"],
                ]
                for r in rows
            ),
        ),
        "",
        "A sum of 4,096 products of 4 and 4 shows the fp16 kernel without any tolerance:",
        "",
        *table(["", "C"], [[k if k == "exact" else f"`{k}`", f"{v:g}"] for k, v in long.items()]),
        "",
        "**The remedies.** Document the policy: `" + policy + "` says that sums keep 14 bits. Fix the kernel: that is",
        "`fp32_sums`. Narrow the claim: `" + narrow + "` holds where there is nothing to add, K = 1.",
        "",
        *table(
            ["kernel", *(f"`{c}`" for c in CONTRACTS)],
            ([f"`{r['kernel']}`", *(said(r["contracts"][c]) for c in CONTRACTS)] for r in rows),
        ),
        "",
        "**The real thing on one processor.** Two libraries that many programs use add in the format of the data.",
        "NumPy's sum of bf16 numbers stops at 256, where adding 1 changes nothing; 4,096 ones give "
        + f"{record['ones']['library_sum']:g}. gloo, the collectives of PyTorch without a GPU, adds fp16 numbers",
        "rank by rank in fp16.",
        "",
        *table(
            ["stack", "kernel", "verdict", "why"],
            ([r["stack"], f"`{r['kernel']}`", said(r), r["reason"]] for r in record["libraries"]),
        ),
        "",
        "The remedy is one argument, `dtype=np.float32`: with it 4,096 ones give "
        + f"{record['ones']['library_sum_fixed']:g}.",
        "",
        *again(
            "ascend", [*(r["contracts"][first]["command"] for r in rows), *(r["command"] for r in record["libraries"])]
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main("ascend", measure, page))
