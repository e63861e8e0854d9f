"""What a machine with an accelerator shows: the standard library on it, Triton, verified products, the guard.

    python benchmarks/device.py [--device cuda] [--parts environment,library,...] [--scale 1.0] [--out FILE]

Every part runs in a process of its own with a time limit, some six minutes in all, and what it has finished is kept
whatever becomes of the rest. Writes benchmarks/results/device.json; without an accelerator one sentence says so and
nothing is written. `--device cpu --scale 0.01` goes the same way at tiny sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
LIMITS = {"environment": 20, "library": 160, "triton": 50, "products": 80, "guard": 50}
"""Seconds for each part."""
SIZES = (4096, 8192, 16384, 32768)
Record = dict[str, Any]


def environment(device: str, scale: float) -> Iterator[Record]:
    """What there is."""
    import torch

    found: Record = {"torch": torch.__version__, "device": device}
    if device.startswith("cuda"):
        p = torch.cuda.get_device_properties(device)
        found |= {"name": p.name, "capability": f"{p.major}.{p.minor}", "memory GiB": round(p.total_memory / 2**30, 1)}
        found["cuda"] = torch.version.cuda
    yield found


def library(device: str, scale: float, stack: str = "torch") -> Iterator[Record]:
    """Every operation that the stack has, on the device, at the standard contracts."""
    from kernel_contracts.stacks.base import find
    from kernel_contracts.stacks.natives import natives

    if not find(stack).available() or device.partition(":")[0] not in find(stack).devices():
        yield {"stack": stack, "skipped": f"no stack {stack} on {device}"}
        return
    names = list(natives(stack))
    if scale < 0.1:
        names = [n for n in names if n == "copy"]
    jobs = min(8, os.cpu_count() or 1, len(names)) if scale >= 0.1 else 1
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        waiting = [pool.submit(checked, stack, name, device, 6 if scale >= 0.1 else 2) for name in names]
        for done in as_completed(waiting):
            yield done.result()


def checked(stack: str, operation: str, device: str, samples: int) -> Record:
    """Verdicts on one operation, and what violates."""
    from kernel_contracts.api import check
    from kernel_contracts.errors import KernelContractsError

    began = time.perf_counter()
    found: Record = {"stack": stack, "operation": operation}
    try:
        results = check(
            f"builtin:{operation}", operation, stack=stack, device=device, samples=samples, seed=1, memory_mb=1 << 16
        )
    except KernelContractsError as error:
        return found | {"error": str(error)}
    violations = [
        {"contract": r.contract.name, "class": r.contract.class_id, "dtypes": dict(r.bound.dtypes),
         "reason": r.finding.reason, "signature": str(r.finding.signature or "")}
        for r in results if r.verdict.value == "violates"
    ]  # fmt: skip
    verdicts = dict(Counter(r.verdict.value for r in results))
    return found | {"verdicts": verdicts, "violations": violations, "seconds": round(time.perf_counter() - began, 1)}


def triton(device: str, scale: float) -> Iterator[Record]:
    """The same for Triton, where the package and a stack for it are there."""
    from kernel_contracts.stacks.base import stacks

    stack = stacks()["triton"]
    if not stack.available():
        yield {"stack": "triton", "skipped": f"not installed: {stack.install_hint()}"}
        return
    yield from library(device, scale, "triton")


def products(device: str, scale: float) -> Iterator[Record]:
    """Time of a guard's first look over that of the product, and what a whole check says, at bf16 and fp32."""
    import torch

    from kernel_contracts import check_product
    from kernel_contracts.guarding.kit import Kit
    from kernel_contracts.guarding.products import Product
    from kernel_contracts.guarding.thin import Device
    from kernel_contracts.guarding.weights import Weights

    exact_sums(torch)
    kit = Kit(Device(1, torch.device(device)), Weights([]), 1e-9)
    for name in ("bfloat16", "float32"):
        for n in [max(64, int(size * scale)) for size in SIZES]:
            if name == "float32" and n > 16384:
                continue
            a, b = (torch.randn(n, n, device=device, dtype=getattr(torch, name)) for _ in range(2))
            c = a @ b
            call = Product("mm", a, b, c)
            times = in_turn(
                {"product": lambda a=a, b=b: a @ b, "look": lambda call=call: call.glance(kit),
                 "reading": lambda a=a, b=b, c=c: (a.sum(), b.sum(), c.sum())}, device, 5 if n > 8192 else 15,
            )  # fmt: skip
            record: Record = {
                "dtype": name, "n": n, "seconds": times, "overhead": times["look"] / times["product"],
                "look over reading": times["look"] / times["reading"], "suspicious": bool(call.glance(kit)[0]),
            }  # fmt: skip
            if n <= 8192:
                whole = check_product(a, b, c, seed=1)
                record |= {"ok": whole.ok, "z": whole.z, "threshold": whole.threshold, "floor": whole.floor}
                c.view(-1)[n + 3] += 64 * c.float().square().mean().sqrt()
                wrong = check_product(a, b, c, seed=2)
                record["planted fault"] = {"found": not wrong.ok, "row": wrong.faults[0].row if wrong.faults else None}
                record["planted fault"]["suspicious at first look"] = bool(call.glance(kit)[0])
            yield record
            del a, b, c, call


def in_turn(calls: dict[str, Callable[[], object]], device: str, repeats: int) -> dict[str, float]:
    """Median seconds of each call, taken in turn, the device waited for."""
    import torch

    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(repeats + 2):
        for name, call in calls.items():
            wait(torch, device)
            began = time.perf_counter()
            call()
            wait(torch, device)
            if number > 1:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def exact_sums(torch: Any) -> None:
    """Partial sums are kept in fp32: with PyTorch's default a guard must allow for sums in the narrow format."""
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


def wait(torch: Any, device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def guarded(device: str, scale: float) -> Iterator[Record]:
    """A transformer in training, plain and guarded in turn: cost, and whether losses are the same."""
    import torch

    from kernel_contracts import guard

    exact_sums(torch)
    width, tokens = max(64, int(2048 * scale) // 64 * 64), max(16, int(1024 * scale))
    for dtype in ("float32", "bfloat16"):
        runs = [model(torch, width, device, dtype) for _ in range(2)]
        watch = guard(runs[1][0], on_violation="record", seed=1)
        times: dict[str, list[float]] = {"plain": [], "guarded": []}
        same = True
        for number in range(8 if scale >= 0.1 else 3):
            losses = []
            for name, run in zip(times, runs, strict=True):
                wait(torch, device)
                began = time.perf_counter()
                if name == "plain":
                    losses.append(train(torch, run, number, tokens, width, device, dtype))
                else:
                    with watch:
                        losses.append(train(torch, run, number, tokens, width, device, dtype))
                        watch.step()
                wait(torch, device)
                if number:
                    times[name].append(time.perf_counter() - began)
            same = same and losses[0] == losses[1]
        medians = {name: statistics.median(values) for name, values in times.items()}
        a = watch.account
        yield {
            "dtype": dtype, "width": width, "tokens": tokens, "seconds a step": medians,
            "overhead": medians["guarded"] / medians["plain"] - 1, "losses are the same": same, "account": str(a),
            "suspicious": a.suspicious, "violations": a.violations, "first": [str(e) for e in watch.events[:3]],
        }  # fmt: skip


def model(torch: Any, width: int, device: str, dtype: str) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer
    net = torch.nn.Sequential(*[layer(width, width // 64, 4 * width, batch_first=True, dropout=0.1) for _ in range(4)])
    net = net.to(device=device, dtype=getattr(torch, dtype))
    return net, torch.optim.AdamW(net.parameters(), 1e-4)


def train(torch: Any, run: Any, seed: int, tokens: int, width: int, device: str, dtype: str) -> float:
    net, optimizer = run
    torch.manual_seed(seed)
    x = torch.randn(4, tokens, width).to(device=device, dtype=getattr(torch, dtype))
    loss = (net(x) - x.flip(1)).float().square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.item())


PARTS: dict[str, Callable[[str, float], Iterator[Record]]] = {
    "environment": environment,
    "library": library,
    "triton": triton,
    "products": products,
    "guard": guarded,
}


def run_part(part: str, device: str, scale: float, lines: Path) -> None:
    """In a process of its own: results go out as they come."""
    with lines.open("a", encoding="utf-8") as file:
        for record in PARTS[part](device, scale):
            file.write(json.dumps({"part": part, **record}) + "\n")
            file.flush()


def limited(part: str, device: str, scale: float) -> Record:
    """A part in a process group that is ended when its time is up."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.jsonl"
        command = [
            sys.executable,
            __file__,
            "--inner",
            part,
            "--device",
            device,
            "--scale",
            str(scale),
            "--out",
            str(lines),
        ]
        child = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        ended = "finished"
        try:
            _, said = child.communicate(timeout=LIMITS[part])
            if child.returncode:
                last = (said.strip().splitlines() or ["no message"])[-1]
                ended = f"failed with exit status {child.returncode}: {last}"
        except subprocess.TimeoutExpired:
            ended = f"stopped after {LIMITS[part]} seconds"
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
        written = lines.read_text("utf-8").splitlines() if lines.exists() else []
    records = [json.loads(line) for line in written if line.endswith("}")]
    for record in records:
        record.pop("part")
    return {"ended": ended, "results": records, "seconds": round(time.perf_counter() - began, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes")
    parser.add_argument("--out", type=Path, default=RESULTS / "device.json")
    parser.add_argument("--inner", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inner:
        run_part(given.inner, given.device, given.scale, given.out)
        return 0
    import torch

    if given.device.startswith("cuda") and not torch.cuda.is_available():
        print("There is no CUDA device here, so nothing is measured and nothing is written.")
        return 0
    found: Record = {}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for part in given.parts.split(","):
        found[part] = limited(part, given.device, given.scale)
        print(
            f"{part}: {found[part]['ended']}, {len(found[part]['results'])} results, {found[part]['seconds']} s",
            flush=True,
        )
        given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")  # after every part
    return 0


if __name__ == "__main__":
    sys.exit(main())
