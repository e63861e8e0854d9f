"""The scorecard: how the contracts do on kernels whose verdict is known, by class, from the records of a calibration.

An accusation is a kernel that is right and was not said to conform; a miss is one that is wrong and was not said to
violate, or was given a name that its defect may not have. Undecided answers count against the tool.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernel_contracts.calibration import Calibration
from kernel_contracts.casebook.running import Trial
from kernel_contracts.casebook.survivors import reason
from kernel_contracts.errors import UsageError
from kernel_contracts.report.records import number

Record = Mapping[str, Any]
RIGHT = ("good", "exact")
"""States of a contract that must conform."""


@dataclass(slots=True)
class Row:
    """One class, counted."""

    class_id: str
    pairs: int = 0
    separate: int = 0
    conforming: int = 0
    accusations: int = 0
    violating: int = 0
    misses: int = 0
    worst_good: float = 0.0
    """The largest share of its tolerance that a right kernel used."""
    least_bad: float = math.inf
    """The smallest excess over the tolerance of a wrong one that was found by it."""
    killed: int = 0
    valid: int = 0
    unexplained: int = 0
    seconds: float = 0.0

    @property
    def score(self) -> float:
        return self.killed / self.valid if self.valid else 1.0

    def right(self, ok: bool, ratio: float) -> None:
        self.conforming += 1
        self.accusations += not ok
        if ok and math.isfinite(ratio):
            self.worst_good = max(self.worst_good, ratio)

    def wrong(self, ok: bool, ratio: float) -> None:
        self.violating += 1
        self.misses += not ok
        if ok and ratio > 1:
            self.least_bad = min(self.least_bad, ratio)


def calibration_record(result: Calibration, seed: int) -> dict[str, Any]:
    """What calibration found for one contract and choice of dtypes, as one JSON object."""
    survivors = [f"{m.name}: {m.where}" for m in result.survivors]
    return {
        "record": "calibration",
        "contract": result.contract.name,
        "version": result.contract.version,
        "class": result.contract.class_id,
        "dtypes": dict(result.bound.dtypes),
        "separates": result.separates,
        "seed": seed,
        "states": [{**asdict(s), "ratio": number(s.ratio)} for s in result.states],
        "killed": result.killed,
        "valid": result.valid,
        "survivors": survivors,
        "seconds": round(result.seconds, 2),
    }


def trial_record(trial: Trial, seed: int) -> dict[str, Any]:
    """One kernel of the casebook, as one JSON object."""
    made = {**asdict(trial), "ratio": number(trial.ratio), "seconds": round(trial.seconds, 2)}
    return {"record": "trial", "class": made.pop("class_id"), **made, "seed": seed}


def read_records(path: Path) -> list[Record]:
    """The records of an earlier run. Raises UsageError where the file holds something else."""
    try:
        lines = path.read_text("utf-8").splitlines()
        found = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot go on from {path}: {error}; name the file of an earlier --json") from error
    return [r for r in found if r.get("record") in ("calibration", "trial")]


def rows(records: Iterable[Record]) -> list[Row]:
    """The counts by class, in order of the classes' names."""
    found: dict[str, Row] = {}
    for r in records:
        row = found.setdefault(r["class"], Row(r["class"]))
        row.seconds += float(r["seconds"])
        if r["record"] == "trial":
            (row.right if r["conforms"] else row.wrong)(bool(r["ok"]), float(r["ratio"]))
            continue
        row.pairs += 1
        row.separate += bool(r["separates"])
        row.killed += r["killed"]
        row.valid += r["valid"]
        row.unexplained += sum(not explained for _, explained in survivors(r))
        for s in r["states"]:
            accused = s["verdict"] in ("violates", "inapplicable" if s["state"] == "baseline" else "violates")
            if s["state"] in RIGHT:
                row.right(bool(s["ok"]), float(s["ratio"]))
            else:
                row.wrong(accused, float(s["ratio"]) if s["state"] == "bad" else math.inf)
    return sorted(found.values(), key=lambda r: r.class_id)


def survivors(record: Record) -> list[tuple[str, str]]:
    """Each survivor of a record, and why it lives: empty where nobody knows."""
    formats = tuple(record["dtypes"].values())
    return [(text, reason(record["contract"], formats, text)) for text in record["survivors"]]


def holds(records: Sequence[Record]) -> bool:
    """Whether every pair separates, nobody is accused and nobody missed."""
    return all(r["separates"] if r["record"] == "calibration" else r["ok"] for r in records)


# --------------------------------------------------------------------------------------------------------- the page

HEAD = """# The scorecard

How the tool does on kernels whose verdict is known beforehand. This page is written by
`kc calibrate --all --scorecard docs/scorecard.md`.

- **Conforming kernels** are the good kernel of every contract, in a new legal order of summation at each call, with and
  without fused multiply-add; the value of the reference itself, more accurate than any kernel; the sibling of every
  case; and the right controls. An **accusation** is one of them that is not said to conform.
- **Violating kernels** are the bad kernels of every contract, each of which passes an ordinary functional test; the
  baselines, which do not; the faulty kernel of every case; and the wrong controls. A **miss** is one of them that is
  not said to violate, or whose defect gets another defect's name.
- **Separation**: the largest share of its tolerance that a conforming kernel uses, and the smallest excess of a kernel
  found by its tolerance. Exact probes have no tolerance to share: there the one is 0 and the other infinite.
- **Mutants** are wrong kernels made from the references; each survivor is explained [below](#survivors).
- **Seconds** are processor time of the tool, on one core, kernels in processes of their own not included."""


def page(records: Sequence[Record]) -> str:
    """The page in Markdown."""
    pairs = [r for r in records if r["record"] == "calibration"]
    trials = [r for r in records if r["record"] == "trial"]
    seeds = ", ".join(str(s) for s in sorted({r["seed"] for r in records}))
    parts = [HEAD, f"Measured: {len(pairs)} pairs of contract and formats, {len(trials)} known kernels, seed {seeds}."]
    parts += [_table(CLASS_HEAD, map(class_cells, rows(records)))]
    parts += ["## Contracts", _table(_CONTRACT_HEAD, _contracts(pairs))]
    parts += ["## Cases and controls", _table(_TRIAL_HEAD, (_trial_cells(r) for r in _sorted(trials)))]
    parts += ["## Survivors", _survivors(pairs)]
    return "\n\n".join(parts) + "\n"


CLASS_HEAD = (
    "class", "pairs that separate", "conforming", "accusations", "violating", "misses", "worst good", "least bad",
    "mutants killed", "seconds",
)  # fmt: skip
_CONTRACT_HEAD = ("contract", "class", "formats", "separate", "worst good", "least bad", "mutants killed", "seconds")
_TRIAL_HEAD = ("kernel", "class", "contract", "formats", "is", "verdict", "defect", "ratio")


def class_cells(row: Row) -> tuple[str, ...]:
    """One class as text, in the order of CLASS_HEAD."""
    return (
        row.class_id, f"{row.separate} of {row.pairs}", str(row.conforming), str(row.accusations), str(row.violating),
        str(row.misses), _ratio(row.worst_good), _ratio(row.least_bad),
        f"{row.killed} of {row.valid} ({row.score:.1%})" if row.valid else "not measured", f"{row.seconds:.0f}",
    )  # fmt: skip


def _contracts(pairs: Sequence[Record]) -> Iterable[tuple[str, ...]]:
    names = sorted({(r["class"], r["contract"]) for r in pairs})
    for class_id, name in names:
        mine = [r for r in pairs if r["contract"] == name and r["class"] == class_id]
        (row,) = rows(mine)
        formats = ", ".join(dict.fromkeys(f for r in mine for f in r["dtypes"].values()))
        yield (
            f"`{name}`", class_id, formats, f"{row.separate} of {row.pairs}", _ratio(row.worst_good),
            _ratio(row.least_bad), f"{row.killed} of {row.valid}", f"{row.seconds:.1f}",
        )  # fmt: skip


def _sorted(trials: Sequence[Record]) -> list[Record]:
    return sorted(trials, key=lambda r: (r["class"], r["name"], r["dtypes"]))


def _trial_cells(r: Record) -> tuple[str, ...]:
    kind = "right" if r["conforms"] else "wrong"
    verdict = r["verdict"] if r["ok"] else f"**{r['verdict']}**"
    defect = f"`{r['signature']}`" if r["signature"] else ""
    return (r["name"], r["class"], f"`{r['contract']}`", r["dtypes"], kind, verdict, defect, _ratio(float(r["ratio"])))


def _survivors(pairs: Sequence[Record]) -> str:
    lines = [
        f"- `{r['contract']}`, {', '.join(r['dtypes'].values())}: {text}. {why or '**Not explained.**'}"
        for r in sorted(pairs, key=lambda r: (r["class"], r["contract"], str(r["dtypes"])))
        for text, why in survivors(r)
    ]
    return "\n".join(lines) if lines else "None."


def _ratio(x: float) -> str:
    return "∞" if math.isinf(x) else f"{x:.3g}"


def _table(head: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first row names the columns."""
    shown = [[c.replace("|", "\\|") for c in row] for row in cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in (list(head), ["---"] * len(head), *shown))
