"""What is worked out once and holds for every kernel on the same case: its inputs, and what the oracle says of them.

A calibration measures a good kernel, bad ones and every mutant on one list of cases. Neither the inputs nor the bound
nor the oracle depend on the kernel, so they are made once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping

import numpy as np

from kernel_contracts.contracts.evidence import Case
from kernel_contracts.measurement.oracle import Truth
from kernel_contracts.numerics.acceptance import Acceptance
from kernel_contracts.numerics.bounded import Array, Bounded
from kernel_contracts.numerics.interpret import Instance

BUDGET = 192 << 20
"""Bytes that are kept. The first cases are the ones asked for most: what no longer fits is made again each time."""
_LARGEST = BUDGET // 8

_WRONG = 96 << 20
"""Bytes that are kept of what known faults answer; each of forty is tried on every kernel that fails."""
_LOOSER = 32 << 20
"""Bytes that are kept for each way in which a contract could be looser."""

Answer = tuple[dict[str, Bounded], Truth]
Wrong = dict[str, Array]
"""What a known fault returns, by output."""


class Known:
    """Shared by sessions. Requirement: they are of one contract, one choice of dtypes and one ladder of oracles."""

    def __init__(self) -> None:
        self._inputs: dict[Hashable, dict[str, Array]] = {}
        self._answers: dict[Hashable, tuple[Instance, Answer]] = {}
        self._admitted: dict[tuple[int, int], tuple[Acceptance, ...]] = {}
        """By the identities of an answer that is kept, and so of nothing else; empty before anybody has asked."""
        self._digests: dict[int, tuple[Array, bytes]] = {}
        self._wrong: dict[Hashable, tuple[Instance, Wrong | None]] = {}
        self._looser: dict[str, Known] = {}
        self.left = BUDGET
        self._left_for_wrong = _WRONG

    def inputs(self, case: Case, make: Callable[[Case], dict[str, Array]]) -> dict[str, Array]:
        """The inputs of this case. They cannot be written to, so that no kernel changes another one's."""
        key = _made_from(case)
        kept = self._inputs.get(key)
        if kept is None:
            made = make(case)
            for x in made.values():
                x.flags.writeable = False
            if not self._fits(sum(x.nbytes for x in made.values())):
                return made
            kept = self._inputs[key] = made
            self._digests |= {id(x): (x, _digest(x)) for x in made.values()}
        return dict(kept)

    def answer(self, instance: Instance, make: Callable[[Instance], Answer]) -> Answer:
        """Bound and oracle for one program on these inputs, bit for bit."""
        key = self._key(instance)
        kept = self._answers.get(key)
        if kept is None:
            made = make(instance)
            if not self._fits(_size(made)):
                return made
            kept = self._answers[key] = (instance, made)
            self._admitted[id(made[0]), id(made[1])] = ()
        return kept[1]

    def admitted(
        self, bounded: Mapping[str, Bounded], truth: Truth, make: Callable[[], tuple[Acceptance, ...]]
    ) -> tuple[Acceptance, ...]:
        """What the contract admits, claim by claim: made once for what `answer` gave, each time for anything else."""
        key = id(bounded), id(truth)
        kept = self._admitted.get(key)
        if kept:
            return kept
        made = make()
        if kept is not None and self._fits(sum(_bytes(a.below, a.above, a.tolerance, a.free) for a in made)):
            self._admitted[key] = made
        return made

    def wrong(self, instance: Instance, make: Callable[[Instance], Wrong | None]) -> Wrong | None:
        """What a program with a known fault gives on these inputs; None where it gives nothing."""
        key = self._key(instance)
        if key in self._wrong:
            return self._wrong[key][1]
        made = make(instance)
        size = _bytes(*(made or {}).values())
        if size <= self._left_for_wrong:
            self._left_for_wrong -= size
            self._wrong[key] = instance, made  # keeps the program, and so its identity its own
        return made

    def looser(self, name: str) -> Known:
        """What is known on the same inputs where the contract is looser in the way of this name."""
        made = self._looser.get(name)
        if made is None:
            made = self._looser[name] = Known()
            made.left, made._digests = _LOOSER, self._digests
        return made

    def _key(self, instance: Instance) -> Hashable:
        inputs = tuple((n, x.dtype.str, x.shape, self._digest(x)) for n, x in sorted(instance.inputs.items()))
        return (
            id(instance.program),
            instance.probe,
            *sorted(instance.dims.items()),
            *_scalars(instance.scalars),
            inputs,
        )

    def _digest(self, x: Array) -> bytes:
        """Taken once of inputs that are kept: nobody can have written to them."""
        kept = self._digests.get(id(x))
        return kept[1] if kept is not None and kept[0] is x else _digest(x)

    def _fits(self, size: int) -> bool:
        if size > min(self.left, _LARGEST):
            return False
        self.left -= size
        return True


def _made_from(case: Case) -> Hashable:
    """All that inputs depend on; the layout is how they lie in memory."""
    return (case.family, case.seed, *sorted(case.dims.items()), *_scalars(case.scalars))


def _scalars(scalars: Mapping[str, object]) -> tuple[Hashable, ...]:
    return tuple((n, type(v).__name__, str(v)) for n, v in sorted(scalars.items()))


def _digest(x: Array) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(x).tobytes(), digest_size=16).digest()


def _size(answer: Answer) -> int:
    bounded, truth = answer
    arrays = [a for b in bounded.values() for a in (b.v, b.e)] + [a for c in truth.centers.values() for a in c]
    return _bytes(*arrays)


def _bytes(*arrays: Array | float) -> int:
    return sum(np.asarray(a).nbytes for a in arrays)
