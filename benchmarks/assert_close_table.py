"""What `torch.testing.assert_close` at its defaults and the derived tolerance find in fifteen real faults.

    python benchmarks/assert_close_table.py [--draws 67] [--write docs/assert_close.md]

For each case, ordinary data is drawn (`tests/cases/case_draws.py`); the faulty kernel and its right sibling are run on
it, and both answers are held against the same float64 oracle, rounded to the output's format for `assert_close`.
Exits with status 1 where the derived tolerance accuses a sibling.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "cases")]

import numpy as np  # noqa: E402
from case_draws import DRAWS  # noqa: E402
from case_harness import CASES, FaultCase, load  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from kernel_contracts.answers.admission import Ruling  # noqa: E402
from kernel_contracts.answers.arguments import read_calls  # noqa: E402
from kernel_contracts.numerics.rounding import from_storage, to_storage  # noqa: E402
from kernel_contracts.stacks.base import find  # noqa: E402

SEED = 2024


@dataclass
class Score:
    """Of one judge on one case, in draws."""

    caught: int = 0
    missed: int = 0
    accused: int = 0

    def count(self, faulty_flagged: bool, sibling_flagged: bool, alike: bool) -> None:
        self.caught += faulty_flagged and not alike
        self.missed += not faulty_flagged and not alike
        self.accused += sibling_flagged


@dataclass
class Row:
    """One case: how often faulty and sibling gave the same bits, and what each judge said otherwise."""

    case: FaultCase
    draws: int
    alike: int
    usual: Score
    derived: Score


def usual_flags(y: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    """Whether `torch.testing.assert_close` fails at its defaults."""
    import torch

    to_native = find("torch").to_native
    try:
        torch.testing.assert_close(to_native(y, "cpu"), to_native(expected, "cpu"))
    except AssertionError:
        return True
    return False


def measure(case: FaultCase, draws: int, seed: int = SEED) -> Row:
    """Draws, runs both kernels, asks both judges."""
    row = Row(case, draws, 0, Score(), Score())
    kernels = load(case.module)
    rng = np.random.default_rng([seed, zlib.crc32(case.id.encode())])
    for _ in range(draws):
        inputs = DRAWS[case.id](rng)
        wrong, right = (np.asarray(k(*inputs)) for k in (kernels.faulty, kernels.sibling))
        alike = wrong.tobytes() == right.tobytes()
        (call,) = read_calls(case.held_to, inputs, {}, (case.class_id,))
        ruling = Ruling(call)
        assert ruling.decided, f"{case.id}: the oracle is too weak for this draw"
        ((name, accepted),) = ruling.admissions().items()
        expected = to_storage(accepted[0].center, call.bound.outputs[name])
        derived = [any((a.ratios(from_storage(y)) > 1).any() for a in accepted) for y in (wrong, right)]
        row.alike += alike
        row.usual.count(usual_flags(wrong, expected), usual_flags(right, expected), alike)
        row.derived.count(derived[0], derived[1], alike)
    return row


def rows(draws: int, seed: int = SEED) -> list[Row]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        return [measure(case, draws, seed) for case in CASES]


def cells(row: Row) -> list[str]:
    scores = [str(getattr(s, f.name)) for s in (row.usual, row.derived) for f in fields(Score)]
    return [str(row.alike), *scores]


def total(found: list[Row]) -> list[str]:
    columns = np.asarray([[int(c) for c in cells(r)] for r in found])
    return [str(n) for n in columns.sum(axis=0)]


def what(case: FaultCase) -> str:
    """The first line of the faulty kernel's story."""
    return (load(case.module).faulty.__doc__ or "").splitlines()[0].rstrip(".")


def show(found: list[Row], console: Console) -> None:
    table = Table(title="draws in which each judge ...", caption="alike: both kernels gave the same bits")
    for name in ("case", "class", "fault"):
        table.add_column(name)
    for name in ("draws", "alike"):
        table.add_column(name, justify="right")
    for judge in ("assert_close", "derived"):
        for f in fields(Score):
            table.add_column(f"{judge}\n{f.name}", justify="right")
    for r in found:
        table.add_row(r.case.id, r.case.class_id, r.case.module[4:], str(r.draws), *cells(r))
    table.add_section()
    table.add_row("all", "", "", str(sum(r.draws for r in found)), *total(found))
    console.print(table)


INTRODUCTION = """\
# What a guessed tolerance finds, and what a derived one finds

Fifteen faults of real kernels, each beside a right sibling. Ordinary data is drawn for both, {draws} times in all; the
answers are judged by `torch.testing.assert_close` at its defaults, against the oracle rounded to the output's format,
and by the derived tolerance of the contract. *Alike* counts the draws on which the faulty kernel gave the same bits as
its sibling, so that there was nothing to find. *Caught* and *missed* are about the faulty kernel in the other draws,
*accused* about the sibling, which is right.

This page is written by `python benchmarks/assert_close_table.py --write docs/assert_close.md`.

| case | what is wrong | class | alike | usual: caught | missed | accused | derived: caught | missed | accused |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|
"""

NOTES = """
A draw that the derived tolerance misses is one whose error lies within the worst case of a conforming execution. What
ordinary data cannot show, sought-out inputs do: `kc check` accuses and names each of the fifteen. A sibling accused by
the usual tolerance is a right kernel whose result is small beside its terms.
"""


def page(found: list[Row]) -> str:
    """The table as a page of the documentation."""
    lines = [INTRODUCTION.format(draws=sum(r.draws for r in found))]
    lines += [f"| {r.case.id} | {what(r.case)} | {r.case.class_id} | {' | '.join(cells(r))} |\n" for r in found]
    lines.append(f"| **all** | | | {' | '.join(total(found))} |\n")
    return "".join([*lines, NOTES])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=67, help="per case")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", type=Path, help="write the page to this file")
    given = parser.parse_args()
    found = rows(given.draws, given.seed)
    show(found, Console())
    if given.write:
        given.write.write_text(page(found), encoding="utf-8")
    return int(any(r.derived.accused for r in found))


if __name__ == "__main__":
    sys.exit(main())
