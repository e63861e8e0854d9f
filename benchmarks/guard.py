"""The guard on the training of a transformer: what it costs, what it finds, and that it changes nothing.

    python benchmarks/guard.py [--width 512] [--rounds 8] [--clean 2000] [--faults 500] [--resume] [--out FILE]

Cost is measured at full width, plain steps, steps under an empty dispatch mode, guarded and budgeted steps in turn;
processor time of one thread, which other programs disturb less than wall time. The optimizer, which has no products,
is left out of the guard, but not of the time. The clean run is a narrower model
beside its guarded twin. Each planted fault takes a step of its own. Finished parts are kept as JSON lines beside the
result, and the clean run as a checkpoint, so that --resume goes on where an interrupted run stopped. Writes
benchmarks/results/guard.json.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import statistics
import time
from collections import Counter, defaultdict
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from guard_training import Names, Pass, Plant, Training, planter
from rich.console import Console
from rich.table import Table

from kernel_contracts import guard

RESULTS = Path(__file__).parent / "results"
CLEAN = {"width": 512, "layers": 4, "tokens": 32, "sequences": 2}
FAULTY = {"width": 512, "layers": 4, "tokens": 32, "sequences": 2}
EVERY = 100
"""Steps of the clean run between two checkpoints."""
SPREAD_OUT = (
    "lane_stuck", "warp_periodic", "slice_dropped", "tile_swapped", "row_stale", "rounding_changed",
    "accumulator_narrowed", "scale_wrong", "all_nan", "all_zero",
)  # fmt: skip
OF_SUMS = ("slice_dropped", "rounding_changed", "accumulator_narrowed", "scale_wrong")
"""Faults that need the operands: planted in plain products."""


class Kept:
    """Finished parts, one a line."""

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self.records: list[dict[str, Any]] = []
        if resume and path.exists():
            self.records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        else:
            path.unlink(missing_ok=True)

    def of(self, part: str) -> list[dict[str, Any]]:
        return [r for r in self.records if r["part"] == part]

    def add(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def cost(width: int, tokens: int, rounds: int, fused: bool) -> dict[str, Any]:
    """Seconds of processor time for a step of each kind."""
    runs = {name: Training(width, 4, tokens, fused=fused) for name in ("plain", "mode", "full", "budget")}
    watches = {"full": guard(runs["full"].model), "budget": guard(runs["budget"].model, budget=0.01)}
    times: dict[str, list[float]] = defaultdict(list)
    same = True
    for number in range(rounds + 1):
        losses = []
        for name, run in runs.items():
            began = time.thread_time()
            losses.append(run.step(number, {"plain": nullcontext(), "mode": Pass()}.get(name) or watches[name]))
            if number:
                times[name].append(time.thread_time() - began)
        same = same and len(set(losses)) == 1
    ratios = {
        name: [t / p - 1 for t, p in zip(times[name], times["plain"], strict=True)]
        for name in ("mode", "full", "budget")
    }
    accounts = {name: watch.account for name, watch in watches.items()}
    return {
        "width": width, "layers": 4, "tokens": 4 * tokens, "fused attention": fused, "threads": torch.get_num_threads(),
        "seconds a step": {name: round(min(values), 4) for name, values in times.items()},
        "overhead of the least": {name: min(times[name]) / min(times["plain"]) - 1 for name in ratios},
        "overhead in the median": {name: statistics.median(values) for name, values in ratios.items()},
        "budget": {"asked": 0.01, "spent": accounts["budget"].overhead},
        "accounts": {name: str(a) for name, a in accounts.items()},
        "losses are the same": same,
        "violations": sum(a.violations for a in accounts.values()),
        "suspicious": sum(a.suspicious for a in accounts.values()),
    }  # fmt: skip


def clean(steps: int, kept: Kept, console: Console) -> dict[str, Any]:
    """A model and its guarded twin, step by step: the same losses to the bit, no product accused."""
    twins = [Training(**CLEAN), Training(**CLEAN)]
    saved = kept.path.with_suffix(".checkpoint")
    done = kept.of("clean")
    if done and saved.exists():
        for twin, state in zip(twins, torch.load(saved), strict=True):
            twin.load(state)
    began = done[-1]["until"] if done else 0
    while began < steps:
        until = min(began + EVERY, steps)
        same, last = 0, 0.0
        with guard(twins[1].model, on_violation="record") as g:
            pass
        for seed in range(began, until):
            plain = twins[0].step(seed)
            last = twins[1].step(seed, g)
            g.step()
            same += plain == last
        a = g.account
        torch.save([twin.state() for twin in twins], saved)
        kept.add(
            {
                "part": "clean", "until": until, "same": same, "loss": last, "products": a.products,
                "checked": a.checked, "suspicious": a.suspicious, "violations": a.violations,
            }
        )  # fmt: skip
        console.print(f"clean: {until} of {steps} steps, {a.suspicious} looked at twice, {a.violations} accused")
        began = until
    parts = kept.of("clean")
    states = [twin.model.state_dict() for twin in twins]
    return {
        "model": CLEAN, "steps": parts[-1]["until"],
        "steps with the same loss to the bit": sum(p["same"] for p in parts),
        "weights are the same to the bit at the end": all(torch.equal(states[0][k], states[1][k]) for k in states[0]),
        **{key: sum(p[key] for p in parts) for key in ("products", "checked", "suspicious", "violations")},
        "first and last loss kept": [parts[0]["loss"], parts[-1]["loss"]],
    }  # fmt: skip


def faults(count: int, kept: Kept, console: Console) -> list[dict[str, Any]]:
    """Faults in random products of a step, one at a time: three fifths bit flips over all 32 positions."""
    run = Training(**FAULTY)
    with Names() as seen:
        run.step(0)
    start = {k: v.clone() for k, v in run.model.state_dict().items()}
    plain = [i for i, name in enumerate(seen.names) if name == "mm"]
    done = {r["number"] for r in kept.of("fault")}
    for number in range(count):
        if number in done:
            continue
        rng = random.Random(number)
        flip = number % 5 < 3
        kind = "bit_flip" if flip else SPREAD_OUT[(number // 5 * 2 + number % 5 - 3) % len(SPREAD_OUT)]
        bit = (number // 5 * 3 + number % 5) % 32 if flip else None
        at = rng.choice(plain) if kind in OF_SUMS else rng.randrange(len(seen.names))
        if kind in ("tile_swapped", "row_stale") and seen.names[at] == "sum":  # it has one row
            at = rng.choice(plain)
        run.model.load_state_dict(start)
        run.optimizer.state.clear()
        with Plant(at, planter(kind, bit, number)) as plant, guard(run.model, on_violation="record") as g:
            run.step(1 + number)
        # Whatever comes after a wrong product is right for what it was given: every event is of the planted fault.
        hit = g.events[:1]
        record = {
            "part": "fault", "number": number, "kind": kind, "bit": bit, "product": seen.names[at],
            "size": min(plant.size, 1e300), "changed": plant.changed, "found": bool(hit),
            "named": hit[0].name if hit else "", "events": len(g.events),
        }  # fmt: skip
        kept.add(record)
        if number % 50 == 49:
            console.print(f"faults: {number + 1} of {count}")
    return [r for r in kept.of("fault") if r["number"] < count]


def table(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Faults found by kind, bit flips by position and by size."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for r in records:
        bit = r["bit"]
        if bit is None:
            groups[r["kind"]].append(r)
            continue
        low = bit // 4 * 4
        part = "sign" if bit == 31 else "exponent" if bit >= 23 else f"mantissa {low:2}-{min(low + 3, 22):2}"
        groups[f"bit_flip, {part}"].append(r)
        size = "above 1%" if r["size"] > 1e-2 else "0.1% to 1%" if r["size"] > 1e-3 else "below 0.1%"
        groups[f"bit_flip, {size} of the rms"].append(r)
    return [
        {
            "faults": key, "planted": len(rows), "found": sum(r["found"] for r in rows),
            "median size": statistics.median(r["size"] for r in rows),
            "named": Counter(r["named"] for r in rows if r["named"]).most_common(1)[0][0]
            if any(r["named"] for r in rows) else "",
        }
        for key, rows in sorted(groups.items())
    ]  # fmt: skip


def show(rows: list[dict[str, Any]], console: Console) -> None:
    shown = Table("fault", "planted", "found", "median size / rms", "named mostly", title="planted faults")
    for r in rows:
        shown.add_row(r["faults"], str(r["planted"]), str(r["found"]), f"{r['median size']:.1e}", r["named"])
    console.print(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=256, help="of each of four sequences, for the cost")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--clean", type=int, default=2000)
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / "guard.json")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)  # the table says it
    torch.set_num_threads(given.threads)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    kept, console = Kept(given.out.with_suffix(".jsonl"), given.resume), Console()
    found: dict[str, Any] = json.loads(given.out.read_text("utf-8")) if given.resume and given.out.exists() else {}
    if given.rounds:
        found["cost"] = [cost(given.width, given.tokens, given.rounds, fused) for fused in (False, True)]
        console.print(found["cost"])
    if given.clean:
        found["clean"] = clean(given.clean, kept, console)
        console.print(found["clean"])
    if given.faults:
        found["faults"] = table(faults(given.faults, kept, console))
        show(found["faults"], console)
    given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
