"""What an oracle is, and the two kinds there are: floating point with an argued error, balls with a proved one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kernel_contracts.numerics.bounded import Array, BoundContext, Bounded
from kernel_contracts.numerics.dims import evaluate as size_of
from kernel_contracts.numerics.domains import BallDomain, FloatDomain
from kernel_contracts.numerics.interpret import Instance, evaluate, own_share
from kernel_contracts.numerics.operators import adds_up

Centers = dict[str, tuple[Array, Array]]
"""For each node asked for, its value as an unevaluated sum of two float64 arrays."""

SHARE = 0.01
"""The oracle's own error must stay below this share of the tolerance."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What an oracle answers: values, and the largest share of the radius that its own error can take."""

    oracle: str
    centers: Centers
    share: float

    @property
    def good(self) -> bool:
        return self.share <= SHARE


class Oracle(Protocol):
    """One step of the ladder."""

    name: str
    rank: int

    def available(self) -> bool: ...

    def affordable(self, instance: Instance) -> bool: ...

    def answer(
        self, instance: Instance, context: BoundContext, nodes: Mapping[str, int], bounded: Mapping[str, Bounded]
    ) -> Truth: ...


def work(instance: Instance) -> int:
    """Operations of the whole program, roughly: elements of every node and of what is summed into it."""
    sizes = instance.environment()
    nodes = instance.program.nodes

    def elements(index: int) -> int:
        return math.prod(max(size_of(d, sizes), 1) for d in nodes[index].type.shape)

    total = 0
    for i, node in enumerate(nodes):
        total += elements(i)
        if node.op in ("matmul", "einsum", "affine"):
            # m k, k n and m n of a product m k n
            total += math.isqrt(math.prod((elements(node.args[0]), elements(node.args[1]), elements(i))))
        elif adds_up(node.op):
            total += elements(node.args[0])
    return total


@dataclass(frozen=True, slots=True)
class FloatOracle:
    """Evaluation in a floating-point domain; its error follows from the derived bound itself."""

    name: str
    rank: int
    domain: FloatDomain | None
    limit: int

    def available(self) -> bool:
        return self.domain is not None

    def affordable(self, instance: Instance) -> bool:
        return work(instance) <= self.limit

    def answer(
        self, instance: Instance, context: BoundContext, nodes: Mapping[str, int], bounded: Mapping[str, Bounded]
    ) -> Truth:
        assert self.domain is not None
        share = own_share(instance, context, self.domain.u, pairwise=self.domain.pairwise)
        if self.domain.dtype == np.float64:
            centers = {n: (np.asarray(bounded[n].v, dtype=np.float64), np.zeros(np.shape(bounded[n].v))) for n in nodes}
            return Truth(self.name, centers, share)
        if share > SHARE:
            return Truth(self.name, {}, share)
        values = evaluate(instance, self.domain, nodes)
        return Truth(self.name, {n: self.domain.float64(v) for n, v in values.items()}, share)


@dataclass(frozen=True, slots=True)
class BallOracle:
    """Evaluation in balls; the precision is raised until the proved radius is small beside the tolerance."""

    name: str
    rank: int
    bits: tuple[int, ...]
    limit: int

    def available(self) -> bool:
        return True

    def affordable(self, instance: Instance) -> bool:
        return work(instance) <= self.limit

    def answer(
        self, instance: Instance, context: BoundContext, nodes: Mapping[str, int], bounded: Mapping[str, Bounded]
    ) -> Truth:
        truth = Truth(self.name, {}, math.inf)
        for bits in self.bits:
            with BallDomain(bits) as domain:
                values = evaluate(instance, domain, nodes)
                centers = {n: domain.float64(v) for n, v in values.items()}
                share = max((_share(domain, v, bounded[n]) for n, v in values.items()), default=0.0)
            truth = Truth(f"{self.name}({bits})", centers, share)
            if truth.good:
                break
        return truth


def _share(domain: BallDomain, value: Any, bounded: Bounded) -> float:
    """The largest proved radius against the derived one; where that is 0, against the last bit of the value."""
    if np.asarray(bounded.v).dtype.kind != "f" or not np.size(bounded.v):
        return 0.0
    allowed = np.maximum(bounded.radius(), np.abs(np.asarray(bounded.v, dtype=np.float64)) * 2.0**-60)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = domain.radius(value) / allowed
    share = share[np.isfinite(share)]
    return float(share.max(initial=0.0))


def consult(
    ladder: tuple[Oracle, ...],
    instance: Instance,
    context: BoundContext,
    nodes: Mapping[str, int],
    bounded: Mapping[str, Bounded],
) -> Truth:
    """Climbs the ladder until an oracle's own error is under 1% of the tolerance; the last answer otherwise."""
    truth = Truth("none", {}, math.inf)
    for oracle in ladder:
        if not oracle.affordable(instance):
            continue
        answer = oracle.answer(instance, context, nodes, bounded)
        if answer.centers or not truth.centers:
            truth = answer if answer.centers else truth
        if answer.good:
            return answer
    return truth
