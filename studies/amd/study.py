"""One index, many answers: what real stacks do with an index that has no row.

python studies/amd/study.py [-o PAGE]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from common import Record, again, judged, main, said, shown, table  # noqa: E402

from kernel_contracts.api import real_target  # noqa: E402
from kernel_contracts.checking import contracts_for  # noqa: E402
from kernel_contracts.contracts.evidence import Outcome  # noqa: E402
from kernel_contracts.errors import KernelContractsError  # noqa: E402
from kernel_contracts.measurement.calls import ArrayIn  # noqa: E402
from kernel_contracts.measurement.process import Kernel  # noqa: E402

STACKS = ("numpy", "torch", "inductor", "jax@x64", "onnxruntime", "mlx", "numba", "opencl", "webgpu", "c")
OPERATIONS = ("gather", "embedding")
INDICES = {"the end": 10, "far": 1_000_000, "2^32": 2**32, "-1": -1, "-11": -11}
CLASS = ["C-EXC-02"]
DOCUMENTED = {
    "jax@x64": ("rows-clamp", "an index past the end is clamped in a read"),
    "mlx": ("rows-undefined", "reads out of bounds are undefined"),
    "numba": ("rows-undefined", "no bounds are checked unless asked for"),
    "opencl": ("rows-undefined", "reads out of bounds are undefined"),
    "webgpu": ("rows-undefined", "a read out of bounds is zero, or some other value of the binding"),
}
"""What the library's documentation says of a read out of bounds, as a contract and in words."""
FIXED = {"jax@x64": "embedding_jax", "mlx": "embedding_mlx", "numba": "embedding_numba"}


def answer(stack: str, operation: str, index: int) -> str:
    """What one call gives for the table 1, 2, ... 10 in a process of its own."""
    (contract,) = contracts_for(operation, None, CLASS)
    bound = next(b for b in contract.bound if "fp32" in b.dtypes.values())
    rows = np.arange(1, 11, dtype=np.float32)[:, None]
    arrays = [ArrayIn("table", rows), ArrayIn("index", np.array([index], np.int64))]
    try:
        with Kernel(real_target(f"builtin:{operation}", stack), stack=stack, timeout=120.0) as kernel:
            kernel.announced = contract, bound
            result: Any = kernel.call(arrays, poison=[((1, 1), "fp32")])
    except KernelContractsError as error:
        return str(error)
    if result.outcome is Outcome.RAISED:
        return "raises"
    if result.outcome is not Outcome.RETURNED:
        return "ends the process"
    value = float(np.asarray(result.outputs[0]).ravel()[0])
    exact = rows[index, 0] if -10 <= index < 10 else None
    if value == exact:
        return f"{value:g}, counted from the end"
    return {1.0: "1, the first row", 10.0: "10, the last row", 0.0: "0"}.get(
        value, "NaN" if value != value else "memory"
    )


def measure() -> Record:
    cells = [
        {
            "stack": stack,
            "operation": operation,
            **judged(f"builtin:{operation}", operation=operation, stack=stack, classes=CLASS, dtypes=["fp32"]),
            "answers": {name: answer(stack, operation, index) for name, index in INDICES.items()},
        }
        for stack in STACKS
        for operation in OPERATIONS
    ]
    file = FOLDER / "contracts.kc"
    remedies = [
        {
            "stack": stack,
            "says": says,
            "documented": judged("builtin:embedding", contract=f"{file}:{name}", stack=stack),
            "contract": name,
            "fixed": judged(
                f"{FOLDER / 'kernels.py'}:{FIXED[stack]}",
                operation="embedding", stack=stack, classes=CLASS, dtypes=["fp32"],
            ) if stack in FIXED else None,
        }
        for stack, (name, says) in DOCUMENTED.items()
    ]  # fmt: skip
    return {"cells": cells, "remedies": remedies}


def policy(cell: Record, name: str) -> str:
    """What the measurement inferred for one policy."""
    found = [n.partition(": ")[2] for n in cell["notes"] if n.startswith(f"{name}: ")]
    return found[0] if found else "none"


def page(record: Record) -> str:
    cells, remedies = record["cells"], record["remedies"]
    answers = {tuple(c["answers"][n] for n in ("the end", "far")) for c in cells}
    kinds = sorted({a for pair in answers for a in pair})
    holding = sum(c["verdict"] == "conforms" for c in cells)
    commands = [c["command"] for c in cells if c["operation"] == "embedding"]
    commands += [r["documented"]["command"] for r in remedies]
    lines = [
        "# An index that has no row",
        "",
        "**The incident.** In the study of Wen and others (*Mind the Gap*, arXiv:2511.11601, 2025) about 1,700 cases",
        "with an index out of bounds raised an error on NVIDIA and Intel and returned plausible numbers on AMD, the",
        "same ones for each version of the stack, neither clamped nor zero, and documented nowhere. The paper on",
        "kernel contracts (arXiv:2604.22032, section 6.3) asks for a policy that is declared: raise, or say",
        "*undefined* and check before. No accelerator is needed to see it: the stacks below ran on one processor.",
        "",
        "**The contract.** An index without a row raises; one below zero may count from the end.",
        "",
        *shown(Path(FOLDER.parents[1], "src/kernel_contracts/contracts/library/embedding.kc"), "kc",
               "contract embedding-bounds version"),
        "",
        f"**What stacks do.** {holding} of {len(cells)} operations conform. Policies are inferred by the measurement,",
        "from 42 cases with one index outside among good ones, just outside and far outside.",
        "",
        *table(
            ["stack", "operation", "verdict", "past the end", "below zero"],
            (
                [c["stack"], c["operation"], said(c), policy(c, "out_of_bounds"), policy(c, "negative_index")]
                for c in cells
            ),
        ),
        "",
        "One call each beside it, in a process of its own, on a table of the rows 1 to 10. "
        + f"An index past the end has {len(kinds)} kinds of answers: {'; '.join(kinds)}.",
        "*Memory* is a number that is not in the table; it differs from run to run.",
        "",
        *table(
            ["stack", "operation", *INDICES],
            ([c["stack"], c["operation"], *(c["answers"][n] for n in INDICES)] for c in cells),
        ),
        "",
        "**The remedies.** The policy that a library documents, as a contract that it is measured against again; and",
        "the kernel fixed: indices are compared with the table before it is read.",
        "",
        *table(
            ["stack", "its documentation", "contract", "verdict", "kernel that checks, `embedding-bounds`"],
            (
                [r["stack"], r["says"], f"`{r['contract']}`", said(r["documented"]),
                 said(r["fixed"]) if r["fixed"] else "not written"]
                for r in remedies
            ),
        ),
        "",
        "`undefined` is honest and grades low: it passes the duty to check on to the caller, and `kc level` counts it",
        "so. It asks no more than that good indices in the same call stay right and that the process lives;",
        "`crashed` above is a process that did not.",
        *(
            f"{r['stack']} does not keep what it documents: {r['documented']['signature']}."
            for r in remedies
            if r["contract"] != "rows-undefined" and r["documented"]["verdict"] == "violates"
        ),
        "",
        *again("amd", commands, "; a stack that is not installed costs its own rows only"),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main("amd", measure, page))
