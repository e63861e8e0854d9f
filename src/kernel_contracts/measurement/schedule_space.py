"""The schedules that a kernel exposes, and one call under one of them: as seen from inside the worker.

A kernel exposes its space in one of three ways:

- a parameter of the name that the contract gives it, with the space as `kernel.schedules`, as `SCHEDULES` or as
  `schedules` of its module. A space is a list, a dict of named schedules, or a function (also a generator) of the
  sizes that gives one;
- keyword parameters that each schedule, a dict, fills;
- an autotuner: an object with `configs` and `fn`, which is the kernel, is `kernel.schedules`, or is used by the
  kernel's code.

Requirement: runs the user's code, so only the process that holds the kernel comes here. No array library is needed.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kernel_contracts.errors import TargetError

LIMIT = 1024
"""Schedules of one space that are read; more say nothing more."""
_LABEL = 120
_LAUNCH = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""Numbers of a configuration that are no sizes of tiles."""


class NotOffered(Exception):
    """The autotuner leaves this configuration out at these sizes."""


@dataclass(frozen=True, slots=True)
class Space:
    """The schedules of a kernel at given sizes."""

    how: str = "none"
    """parameter, keywords, autotuner, or none."""
    labels: tuple[str, ...] = ()
    tiles: tuple[int, ...] = ()
    """Sizes that stand in the schedules, ascending: what a shape may be just below or just above."""
    required: bool = False
    """The kernel cannot be called without a schedule."""
    out: bool = False
    """The kernel takes the arrays that it writes as `out`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One schedule and how it is applied."""

    label: str
    value: Any
    tuner: Any = None


@dataclass(slots=True)
class Schedules:
    """The space of one kernel. `parameter` is what the contract calls the schedule."""

    function: Callable[..., Any]
    parameter: str
    _made: dict[tuple[tuple[str, int], ...], list[Entry]] = field(default_factory=dict)

    def space(self, dims: Mapping[str, int]) -> Space:
        """What is exposed at these sizes. TargetError in one sentence where it cannot be read or passed on."""
        entries = self.entries(dims)
        out = "out" in _parameters(self.function)[0]
        if not entries:
            return Space(out=out)
        how = "autotuner" if entries[0].tuner is not None else self._passing(entries)
        tiles = sorted({n for e in entries for n in _sizes(e.value) if 2 <= n <= 1 << 16})
        required = how == "parameter" and self._required()
        return Space(how, tuple(e.label for e in entries), tuple(tiles), required, out)

    def entries(self, dims: Mapping[str, int]) -> list[Entry]:
        key = tuple(sorted(dims.items()))
        if key not in self._made:
            self._made[key] = self._read(dims)
        return self._made[key]

    def _read(self, dims: Mapping[str, int]) -> list[Entry]:
        try:
            source = _source(self.function, self.parameter)
            tuners = _tuners(self.function, source)
            return _distinct(_of_tuners(tuners) if tuners else _listed(source, dims))
        except TargetError:
            raise
        except Exception as error:  # functions, generators and words of the kernel's author
            raise TargetError(
                f"the schedules of the kernel cannot be read: {type(error).__name__}: {error}; give a list, a dict of "
                f"named schedules, or a function of {', '.join(dims) or 'no sizes'} that returns one"
            ) from None

    @contextmanager
    def applied(self, dims: Mapping[str, int], index: int) -> Iterator[dict[str, Any]]:
        """Arguments to add to a call under this schedule; an autotuner is held to it for as long."""
        entry = self.entries(dims)[index]
        if entry.tuner is None:
            spread = self._passing([entry]) == "keywords"
            yield dict(entry.value) if spread else {self.parameter or "schedule": entry.value}
            return
        with _held(entry.tuner, entry.value):
            yield {}

    def _passing(self, entries: list[Entry]) -> str:
        names, anything = _parameters(self.function)
        if (self.parameter or "schedule") in names:
            return "parameter"
        if all(isinstance(e.value, Mapping) and (anything or set(e.value) <= names) for e in entries):
            return "keywords"
        if anything:
            return "parameter"
        name = getattr(self.function, "__name__", "the kernel")
        raise TargetError(
            f"{name} has schedules but no way to choose one: give it a parameter {self.parameter or 'schedule'}, or "
            f"make every schedule a dict of its keyword parameters"
        )

    def _required(self) -> bool:
        try:
            found = inspect.signature(self.function).parameters.get(self.parameter or "schedule")
        except (TypeError, ValueError):
            return False
        return found is not None and found.default is inspect.Parameter.empty


def _parameters(function: Callable[..., Any]) -> tuple[set[str], bool]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return set(), False
    named = {p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return named, any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found)


def _source(function: Any, parameter: str) -> Any:
    """What the kernel names as its space; a module's own only where the kernel takes the parameter."""
    own = getattr(function, "schedules", None)
    if own is not None:
        return own
    module = sys.modules.get(getattr(inspect.unwrap(function), "__module__", None) or "")
    shared = getattr(module, "SCHEDULES", None)
    if shared is None:
        shared = getattr(module, "schedules", None)
        shared = shared if callable(shared) and shared is not function else None
    if shared is None:
        return None
    names, _ = _parameters(function)
    if (parameter or "schedule") in names:
        return shared
    keys = {k for s in shared if isinstance(s, Mapping) for k in s} if isinstance(shared, list | tuple) else set()
    return shared if keys and keys <= names else None


# ---------------------------------------------------------------------------------------------------- lists, functions


def _listed(source: Any, dims: Mapping[str, int]) -> list[Entry]:
    if source is None:
        return []
    if callable(source):
        source = _called(source, dims)
    if isinstance(source, Mapping):
        return [Entry(str(k)[:_LABEL], v) for k, v in itertools.islice(source.items(), LIMIT)]
    if isinstance(source, str | bytes) or not isinstance(source, Iterable):
        raise TargetError(
            f"the schedules of the kernel are of type {type(source).__name__}: give a list, a dict of named schedules, "
            "or a function that returns one"
        )
    return [Entry(label_of(v), v) for v in itertools.islice(source, LIMIT)]


def _called(make: Callable[..., Any], dims: Mapping[str, int]) -> Any:
    """A function of the sizes: those that it names by name, all of them as one dict, or none."""
    names, anything = _parameters(make)
    named = dict(dims) if anything else {n: dims[n] for n in names if n in dims}
    return make(**named) if named or not names else make(dict(dims))


def label_of(value: Any) -> str:
    """A schedule in words, as its author writes it."""
    text = ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)
    return text[:_LABEL]


def _distinct(entries: list[Entry]) -> list[Entry]:
    seen: dict[str, int] = {}
    out = []
    for e in entries:
        seen[e.label] = seen.get(e.label, 0) + 1
        again = f" #{seen[e.label]}" if seen[e.label] > 1 else ""
        out.append(Entry(f"{e.label}{again}", e.value, e.tuner))
    return out


def _sizes(value: Any) -> Iterator[int]:
    """Whole numbers in a schedule, apart from those that only say how it is launched."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, Mapping):
        for k, v in value.items():
            if str(k) not in _LAUNCH:
                yield from _sizes(v)
    elif isinstance(value, list | tuple | set):
        for v in value:
            yield from _sizes(v)
    elif not isinstance(value, str | bytes | float) and value is not None:
        yield from _sizes(getattr(value, "kwargs", None) or getattr(value, "__dict__", None) or {})


# --------------------------------------------------------------------------------------------------------- autotuners


def _is_tuner(thing: Any) -> bool:
    configs = getattr(thing, "configs", None)
    return isinstance(configs, list | tuple) and bool(configs) and hasattr(thing, "fn")


def _tuners(function: Any, source: Any) -> dict[str, Any]:
    """Autotuners by name: the kernel itself, what it wraps, what it names as its schedules, or what its code uses."""
    found: dict[str, Any] = {}
    for thing in (source, function):
        for _ in range(8):  # heuristics around an autotuner hold it as `fn`
            if _is_tuner(thing):
                found.setdefault("", thing)
            thing = getattr(thing, "fn", None)
    if found or source is not None:
        return found
    plain = inspect.unwrap(function) if callable(function) else function
    plain = getattr(plain, "__func__", plain)
    code, names = getattr(plain, "__code__", None), getattr(plain, "__globals__", {})
    for name in code.co_names if code is not None else ():
        thing = names.get(name)
        for _ in range(8):
            if _is_tuner(thing):
                found.setdefault(name, thing)
                break
            thing = getattr(thing, "fn", None)
    return found


def _of_tuners(tuners: Mapping[str, Any]) -> list[Entry]:
    many = len(tuners) > 1
    return [
        Entry(f"{name}: {label_of(c)}" if many else label_of(c), c, tuner)
        for name, tuner in tuners.items()
        for c in tuner.configs[:LIMIT]
    ]


@contextmanager
def _held(tuner: Any, config: Any) -> Iterator[None]:
    """The autotuner with this configuration alone and nothing remembered; as it was afterwards.

    Its own pruning still applies: a configuration that it would leave out at these sizes is no candidate there.
    """
    kept = {name: getattr(tuner, name) for name in ("configs", "cache") if hasattr(tuner, name)}
    prune = getattr(tuner, "prune_configs", None)

    def only(*args: Any, **kwargs: Any) -> list[Any]:
        offered = prune(*args, **kwargs) if prune is not None else tuner.configs
        if not any(c is config for c in offered):
            raise NotOffered(f"{label_of(config)} is left out at these sizes")
        return [config]

    pruning = callable(prune) and len(tuner.configs) > 1
    try:
        if "cache" in kept:
            tuner.cache = {}
        if pruning:
            tuner.prune_configs = only
        else:
            tuner.configs = [config]
        yield
    finally:
        for name, value in kept.items():
            setattr(tuner, name, value)
        if pruning:
            del tuner.prune_configs
