"""Profiles: a named, versioned set of contracts with the level each needs, and whether a platform of a run holds it."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_contracts.conformance.grounds import Held
from kernel_contracts.conformance.levels import HIGHEST, Grade, grade
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import UsageError
from kernel_contracts.language import syntax
from kernel_contracts.language.diagnostics import did_you_mean
from kernel_contracts.language.parser import parse, parse_file
from kernel_contracts.language.printer import print_node

_COMPARE: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
APART = (Verdict.INAPPLICABLE,)
"""A documented refusal of one choice of dtypes does not lower a contract's level; nothing is claimed of it."""


@dataclass(frozen=True, slots=True)
class Demand:
    """One entry."""

    contract: str
    comparator: str
    version: str
    level: int

    def covers(self, version: str) -> bool:
        return _COMPARE[self.comparator](_numbers(version), _numbers(self.version))


@dataclass(frozen=True, slots=True)
class Profile:
    """What a buyer asks for."""

    name: str
    version: str
    demands: tuple[Demand, ...]
    text: str
    """Canonical."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Standing:
    """One contract of a platform against what is asked of it."""

    contract: str
    demand: Demand | None
    cells: tuple[tuple[Held, Grade], ...]
    """Those that count; a documented refusal does not."""
    refusal: str = ""
    """Why it is not what is asked for; empty where it is."""
    awaits: bool = False
    """Whether it would be, were the calls made again and countersigned by a second assessor."""

    @property
    def level(self) -> int:
        return min((g.level for _, g in self.cells), default=0)


def profile_from(text: str) -> Profile:
    """The one profile of a text. LanguageError where it is wrong, UsageError where it is no single profile."""
    found = [i for i in parse(text, "profile").items if isinstance(i, syntax.Profile)]
    if len(found) != 1:
        raise UsageError("the text of a profile holds exactly one profile")
    return _profile(found[0])


def load_profile(place: str) -> Profile:
    """Of FILE, or FILE:NAME. UsageError in one sentence."""
    path, name = place, ""
    if not Path(path).exists() and ":" in place:
        path, _, name = place.rpartition(":")
    found = [i for i in parse_file(path).items if isinstance(i, syntax.Profile)]
    if not found:
        raise UsageError(f"{path} defines no profile; write `profile NAME version 1 {{ ... }}`")
    names = [p.name for p in found]
    if not name and len(found) > 1:
        raise UsageError(f"{path} has {len(found)} profiles ({', '.join(names)}); name one as {path}:{names[0]}")
    chosen = [p for p in found if p.name == (name or names[0])]
    if not chosen:
        raise UsageError(f"{path} has no profile {name}; {did_you_mean(name, names) or f'it has {names[0]}'}")
    return _profile(chosen[0])


def _profile(node: syntax.Profile) -> Profile:
    demands = tuple(Demand(e.contract, e.comparator, e.version, _level(e)) for e in node.entries)
    if not demands:
        raise UsageError(f"profile {node.name} asks for nothing; add an entry as `sum-accumulator >= 1.0 at L2`")
    twice = [d.contract for k, d in enumerate(demands) if d.contract in {x.contract for x in demands[:k]}]
    if twice:
        raise UsageError(f"profile {node.name} names {twice[0]} twice; remove one of the two")
    return Profile(node.name, node.version, demands, print_node(node))


def _level(entry: syntax.ProfileEntry) -> int:
    """An entry without a level asks for the lowest that says anything."""
    known = {f"L{n}": n for n in range(1, HIGHEST + 1)}
    if entry.level and entry.level not in known:
        raise UsageError(f"`{entry.contract}` is asked for at {entry.level}; levels are {', '.join(known)}")
    return known.get(entry.level, 1)


def standings(cells: Sequence[Held], profile: Profile | None) -> tuple[Standing, ...]:
    """The contracts of one platform: those of a profile in its order, or all of them without one."""
    names = list(dict.fromkeys(h.cell.contract for h in cells))
    demands = profile.demands if profile else tuple(Demand(n, ">=", "0", 0) for n in names)
    return tuple(_standing(d, [h for h in cells if h.cell.contract == d.contract], bool(profile)) for d in demands)


def _standing(demand: Demand, cells: Sequence[Held], asked: bool) -> Standing:
    graded = tuple((h, grade(h.grounds)) for h in cells if h.grounds.verdict not in APART)
    made = Standing(demand.contract, demand if asked else None, graded)
    if not graded:
        why = f"nothing was measured: {cells[0].grounds.reason}" if cells else "the run has no such contract"
        return Standing(demand.contract, made.demand, (), why)
    version = str(graded[0][0].result["version"])
    if not demand.covers(version):
        why = f"version {version} was measured and {demand.comparator} {demand.version} is asked for"
        return Standing(demand.contract, made.demand, graded, why)
    if made.level >= demand.level:
        return made
    worst, found = min(graded, key=lambda pair: pair[1].level)
    why = f"L{found.level} and L{demand.level} is asked for; {worst.cell.dtypes} lacks {'; '.join(found.missing)}"
    if found.level == 0:
        why = f"{worst.cell.dtypes}: {'; '.join(found.missing)}"
    awaits = all(grade(h.grounds, 1).level >= demand.level for h, _ in graded)
    return replace(made, refusal=why, awaits=awaits)


def _numbers(version: str) -> tuple[int, ...]:
    """1.10 comes after 1.9, and 1 is 1.0."""
    parts = [int(p) for p in version.split(".")]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts)
