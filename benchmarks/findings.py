"""What real array libraries do that a contract forbids: each by the command that shows it, beside the exact answer.

    python benchmarks/findings.py [--only S6,S9] [--stacks mlx,jax] [--skip-checks]

Writes benchmarks/results/findings.json and docs/findings.md. Exit status 1 when a finding does not show any more: the
library has changed, or we have. With --only and --stacks, the others stay as they were written, and so do those of
stacks that are not installed.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from finding_list import ABSENT, KNOWN, STUDY, Known
from finding_list_extras import EXTRAS

from kernel_contracts.api import real_target
from kernel_contracts.checking import contracts_for
from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import KernelContractsError
from kernel_contracts.measurement.calls import ArrayIn, CallResult
from kernel_contracts.measurement.emulated import dims_of
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.ranked import Ranks
from kernel_contracts.measurement.target import parse
from kernel_contracts.numerics.dims import evaluate
from kernel_contracts.stacks.base import VARIANT, stacks

KNOWN = (*KNOWN, *EXTRAS)
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "findings.json"
PAGE = ROOT / "docs" / "findings.md"
INTRODUCTION = (
    "Every line is a contract that an array library breaks on one processor, found by the command beside it, and a",
    "tiny call whose exact answer is worked out from the definition of the operation, apart from the measurement.",
    "All of them are contracts of the standard library; kernels that are no operation of their stack are in",
    "[`studies/one_processor`](../studies/one_processor/kernels.py).",
    "None of this is said to be a fault of the library: a contract says what its owner wants to rely on.",
    "Rows of a stack that is not installed stay as they were measured where it is.",
)
LIMIT = 900
"""Seconds a command; inductor compiles once for each process and shape."""


def command(known: Known) -> str:
    """As a user types it at the root of the repository."""
    text = " ".join(["kc check", *known.options(), "--seed 1"])
    return text.replace(str(STUDY), STUDY.relative_to(ROOT).as_posix())


def checked(known: Known) -> dict[str, Any]:
    """The verdict of `kc check` with the first seed that shows the finding, else with the last one tried."""
    for seed in range(1, known.tries + 1):
        found = {**_checked(known, seed), "seed": seed}
        if found.get("signature") in known.signatures:
            break
    return found


def _checked(known: Known, seed: int) -> dict[str, Any]:
    """The verdict of the worst result where there are several."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "results.jsonl"
        words = [
            sys.executable,
            "-m",
            "kernel_contracts",
            "check",
            *known.options(),
            "--seed",
            str(seed),
        ]
        try:
            done = subprocess.run(
                [*words, "--json", str(lines), "--keep", folder],
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"verdict": "error", "detail": f"no answer within {LIMIT} s"}
        results = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    if not results:
        return {"verdict": "error", "detail": done.stderr.strip()[-300:]}
    worst = next((r for r in results if r["verdict"] == "violates"), results[0])
    return {k: worst[k] for k in ("contract", "class", "verdict", "signature", "detail")}


def shown(known: Known) -> str:
    """What the stack answers to the tiny call, in words or as a number."""
    target = str(STUDY / "kernels.py") + f":{known.kernel}" if known.kernel else f"builtin:{known.operation}"
    real, patience = real_target(target, known.stack), 200.0 if "inductor" in known.stack else known.timeout
    make = Ranks if known.operation.startswith("all_reduce") else Kernel
    kernel = make(real, stack=known.stack, timeout=patience)
    with kernel:
        if parse(real).foreign:
            return _by_scope(kernel, known)
        if known.exact() == "each as alone":
            return _alone(kernel, known.arrays[0])
        if known.tries > 1 and known.calls == 1:
            return _now_and_then(kernel, known.arrays)
        results = [_called(kernel, known.arrays) for _ in range(known.calls)]
    first = results[0]
    if known.calls > 1:
        return f"{len({r.outputs[0].tobytes() for r in results})} answers in {known.calls} calls"
    if first.outcome is not Outcome.RETURNED:
        return _ended(first, known.exact())
    if "input_mutated" in known.signatures:
        return ", ".join(f"{name} changed" for name in first.mutated) or str(known.exact())
    y = np.asarray(first.outputs[0]).astype(np.float64)
    if known.operation == "sqrt":
        # The square root in double precision, rounded once more, is right: 53 >= 2 * 24 + 2 (Figueroa 1995).
        right = np.array([np.float32(math.sqrt(x)) for x in known.arrays[0]])
        return f"{int((y != right).sum())} of {y.size} are not"
    if "caller_state_changed" in known.signatures:
        half = 0.0 if first.state["flush_to_zero"] else 2.0**-1023
        return f"{_number(y.ravel()[0])}, and 2^-1022 / 2 is {half:g} afterwards"
    return _number(_worst(y.ravel(), known.exact()))


def _ended(result: CallResult, exact: Any) -> str:
    """How a call ended without an answer; an error is what some of them should end in."""
    if result.outcome is Outcome.RAISED and exact == "an error":
        return str(exact)
    return f"{result.outcome.value}: {result.detail.partition(';')[0]}"


def _worst(y: Any, exact: Any) -> Any:
    """The element that is farthest from a number that is right for all."""
    if isinstance(exact, str) or not y.size:
        return y[0] if y.size else "nothing"
    off = np.where(np.isnan(y) == math.isnan(exact), np.abs(np.nan_to_num(y - exact)), np.inf)
    return y[int(np.argmax(off))]


def _by_scope(kernel: Any, known: Known) -> str:
    """The answer of a kernel file, which must be told what its arrays are called."""
    (contract,) = contracts_for(known.operation, None, [known.class_id])
    bound = next(b for b in contract.bound if known.dtype in b.dtypes.values())
    kernel.announced = contract, bound
    arrays = [ArrayIn(t.name, np.asarray(x)) for t, x in zip(contract.inputs, known.arrays, strict=True)]
    sizes = dims_of(contract, {a.name: a.array.shape for a in arrays})
    shapes = [tuple(evaluate(d, sizes) for d in t.shape) for t in contract.outputs]
    poison = [(shape, f.name) for shape, f in zip(shapes, bound.outputs.values(), strict=True)]
    result: CallResult = kernel.call(arrays, poison=poison)
    if result.outcome is not Outcome.RETURNED:
        return _ended(result, known.exact())
    return _number(np.asarray(result.outputs[0]).astype(np.float64).ravel()[-1])


def _called(kernel: Any, arrays: Any) -> CallResult:
    result: CallResult = kernel.call([ArrayIn(f"x{k}", np.asarray(x)) for k, x in enumerate(arrays)])
    return result


def _now_and_then(kernel: Any, arrays: Any) -> str:
    """The first of a thousand calls that gives no answer."""
    for k in range(1000):
        result = _called(kernel, arrays)
        if result.outcome is not Outcome.RETURNED:
            return f"call {k + 1} {_ended(result, '')}"
    return "1000 answers"


def _alone(kernel: Any, x: Any) -> str:
    whole = _called(kernel, [x]).outputs[0]
    apart = sum(
        _called(kernel, [x[k : k + 1]]).outputs[0].tobytes() != whole[k : k + 1].tobytes() for k in range(x.size)
    )
    return f"{apart} of {x.size} differ"


def _number(x: Any) -> str:
    return x if isinstance(x, str) else f"{float(x):.9g}"


def row(known: Known, check: bool, before: dict[str, Any]) -> dict[str, Any]:
    found = checked(known) if check else before.get("check", {})
    try:
        got = shown(known)
    except KernelContractsError as error:
        got = str(error)
    return {
        "id": known.id, "what": known.what, "stack": known.stack, "command": command(known), "check": found,
        "standard": not known.kernel, "exact": _number(known.exact()), "got": got,
        "confirmed": found.get("verdict") == "violates" and found.get("signature") in known.signatures
        and got != _number(known.exact()),
    }  # fmt: skip


def page(rows: list[dict[str, Any]]) -> str:
    """The page of the documentation."""
    confirmed = [r for r in rows if r["confirmed"]]
    numbers = sorted({int(r["id"][1:]) for r in confirmed if r["id"][0] == "S"})
    lines = [
        "# What real libraries do",
        "",
        *INTRODUCTION,
        "",
        f"{len(confirmed)} of {len(rows)} confirmed, {len(numbers)} kinds among them: "
        + ", ".join(f"S{n}" for n in numbers)
        + ". Written by `python benchmarks/findings.py`.",
        "",
        "| | stack | what | class | signature | exact | got | command |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in rows:
        c = r["check"]
        sign = f"`{c['signature']}`" if r["confirmed"] else f"not confirmed: {c.get('signature') or c.get('verdict')}"
        got, typed = r["got"].replace("|", "/"), r["command"].replace("--seed 1", f"--seed {c.get('seed', 1)}")
        lines.append(
            f"| {r['id']} | {r['stack']} | {r['what']} | {c.get('class', '')} | {sign} | {r['exact']} | {got} "
            f"| `{typed}` |"
        )
    lines += ["", "Not shown:", "", *(f"- {number}: {why}." for number, why in ABSENT.items())]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="numbers, separated by commas")
    parser.add_argument("--stacks", default="", help="stacks without their variants, separated by commas")
    parser.add_argument("--skip-checks", action="store_true", help="keep the verdicts of the last run")
    given = parser.parse_args()
    only, chosen = (set(filter(None, text.split(","))) for text in (given.only, given.stacks))
    old = {r["command"]: r for r in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    rows: list[dict[str, Any]] = []
    for known in KNOWN:
        before = old.get(command(known), {})
        plain = known.stack.partition(VARIANT)[0]
        here = stacks()[plain].available()
        if (only and known.id not in only) or (chosen and plain not in chosen) or not here:
            rows += [before] if before else []
            continue
        rows.append(row(known, not given.skip_checks, before))
        r = rows[-1]
        said = f"{'yes' if r['confirmed'] else 'NO'} {r['check'].get('signature')} exact {r['exact']} got {r['got']}"
        sys.stdout.write(f"{r['id']:4} {r['stack']:22} {said}\n")
        sys.stdout.flush()
        done = {x["command"] for x in rows}
        RESULTS.write_text(json.dumps([*rows, *(o for c, o in old.items() if c not in done)], indent=1) + "\n")
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    PAGE.write_text(page(rows))
    return 0 if all(r["confirmed"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
