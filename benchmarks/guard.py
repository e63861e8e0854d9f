"""The guard on the training of a transformer: what it costs, what it finds, and that it changes nothing.

    python benchmarks/guard.py [--width 512] [--layers 4] [--steps 5] [--clean 100] [--faults 200] [--out FILE]

Costs and the clean run use the full width, the planted faults a narrow model, since each takes a step of its own.
Writes benchmarks/results/guard.json.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.utils._python_dispatch import TorchDispatchMode

from kernel_contracts import guard

RESULTS = Path(__file__).parent / "results"
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm")


def transformer(width: int, layers: int) -> Any:
    torch.manual_seed(0)
    block = torch.nn.TransformerEncoderLayer
    return torch.nn.Sequential(
        *[block(width, max(1, width // 64), 4 * width, batch_first=True, dropout=0.1) for _ in range(layers)]
    )


class Training:
    """One run, the same every time."""

    def __init__(self, width: int, layers: int, tokens: int) -> None:
        self.model, self.width, self.tokens = transformer(width, layers), width, tokens
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)
        torch.manual_seed(1)

    def step(self) -> float:
        x = torch.randn(4, self.tokens, self.width)
        loss = (self.model(x) - x.flip(1)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Flip(TorchDispatchMode):
    """Flips one bit of one element of one product, below the guard."""

    def __init__(self, at: int, bit: int, rng: random.Random) -> None:
        super().__init__()
        self.at, self.bit, self.rng, self.seen, self.size = at, bit, rng, 0, 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func._schema.name in PRODUCTS:
            if self.seen == self.at:
                flat = out.view(-1)
                place = self.rng.randrange(flat.numel())
                before = flat[place].item()
                flat.view(torch.int32)[place] ^= (1 << self.bit) if self.bit < 31 else -(1 << 31)
                rms = out.square().mean().sqrt().item()
                self.size = abs(flat[place].item() - before) / rms if rms > 0 else 0.0
            self.seen += 1
        return out


def cost(width: int, layers: int, tokens: int, steps: int) -> dict[str, Any]:
    """Seconds a step without, with and with a budgeted guard, steps taken in turn."""
    plain, full, thrifty = (Training(width, layers, tokens) for _ in range(3))
    watch = guard(full.model, on_violation="record")
    budgeted = guard(thrifty.model, on_violation="record", budget=0.01)
    times: dict[str, list[float]] = defaultdict(list)
    same = True
    for round_ in range(steps + 1):
        losses = []
        for name, run, by in (("plain", plain, None), ("full", full, watch), ("budget", thrifty, budgeted)):
            torch.manual_seed(100 + round_)
            began = time.perf_counter()
            if by is None:
                losses.append(run.step())
            else:
                with by:
                    losses.append(run.step())
            if round_:
                times[name].append(time.perf_counter() - began)
        same = same and losses[0] == losses[1] == losses[2]
    least = {name: min(values) for name, values in times.items()}
    return {
        "width": width,
        "layers": layers,
        "tokens": 4 * tokens,
        "seconds a step": least,
        "overhead": least["full"] / least["plain"] - 1,
        "account": str(watch.account),
        "budget": {"asked": 0.01, "spent": budgeted.account.overhead, "account": str(budgeted.account)},
        "losses are the same": same,
        "violations": watch.account.violations + budgeted.account.violations,
    }


def clean(width: int, layers: int, tokens: int, steps: int) -> dict[str, Any]:
    """A run without faults: products verified, looked at twice, and accused."""
    run = Training(width, layers, tokens)
    with guard(run.model, on_violation="record") as g:
        for _ in range(steps):
            run.step()
    a = g.account
    return {"steps": steps, "products": a.checked, "suspicious": a.suspicious, "violations": a.violations}


def faults(count: int, seed: int) -> dict[str, dict[str, float]]:
    """Single bit flips in random products of a narrow transformer: found, by position of the bit and by size."""
    rng = random.Random(seed)
    run = Training(128, 2, 32)
    with guard(run.model, on_violation="record") as g:
        run.step()
    products = g.account.products
    table: dict[str, list[int]] = defaultdict(list)
    for _ in range(count):
        bit = rng.randrange(32)
        flip = Flip(rng.randrange(products), bit, rng)
        state = {k: v.clone() for k, v in run.model.state_dict().items()}
        with flip, guard(run.model, on_violation="record") as g:
            run.step()
        run.model.load_state_dict(state)
        run.optimizer.state.clear()
        found = int(bool(g.events) and g.events[0].call == flip.at + 1)
        kind = "sign" if bit == 31 else "exponent" if bit >= 23 else f"mantissa {bit // 4 * 4}-{bit // 4 * 4 + 3}"
        table[kind].append(found)
        table["above 0.1% of the rms" if flip.size > 1e-3 or flip.size != flip.size else "below 0.1%"].append(found)
    return {k: {"faults": len(v), "found": sum(v) / len(v)} for k, v in sorted(table.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=256, help="of each of four sequences")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--clean", type=int, default=100)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--out", type=Path, default=RESULTS / "guard.json")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # the table says it
    found: dict[str, Any] = {}
    console = Console()
    if given.steps:
        found["cost"] = cost(given.width, given.layers, given.tokens, given.steps)
        console.print(found["cost"])
    if given.clean:
        found["clean"] = clean(128, 2, 64, given.clean)
        console.print(found["clean"])
    if given.faults:
        found["faults"] = faults(given.faults, 1)
        table = Table("bit", "faults", "found", title="single bit flips")
        for kind, row in found["faults"].items():
            table.add_row(kind, str(row["faults"]), f"{row['found']:.0%}")
        console.print(table)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
