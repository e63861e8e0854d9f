"""What a contract admits as the answer to given inputs, claim by claim, whatever a kernel gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.contracts.tolerance import Environment, apply
from kernel_contracts.measurement.oracle import Truth
from kernel_contracts.numerics.acceptance import Acceptance, from_bounded
from kernel_contracts.numerics.bounded import Bounded
from kernel_contracts.numerics.interpret import Instance


def acceptances(
    contract: Contract, bound: Bound, instance: Instance, bounded: Mapping[str, Bounded], truth: Truth
) -> Iterator[Acceptance]:
    """One for each claim of `bound`: the oracle's value with the radius derived for it, and the contract's clauses."""
    reference = {
        n.removeprefix("output "): np.asarray(b.v, dtype=np.float64)
        for n, b in bounded.items()
        if n.startswith("output ")
    }
    for k, claim in enumerate(bound.claims):
        own = bounded[str(k)]
        key = str(k) if claim.target is None else f"{k} target"
        center = truth.centers.get(key) if own.v.dtype.kind == "f" else None
        if claim.exact:
            own = replace(own, e=0.0)
        if claim.target is not None:
            own = replace(own, v=np.broadcast_to(np.asarray(bounded[key].v, dtype=np.float64), np.shape(own.v)))
            center = (
                None
                if center is None
                else (np.broadcast_to(center[0], own.v.shape), np.broadcast_to(center[1], own.v.shape))
            )
        acceptance = from_bounded(own, claim.format, rounded=claim.rounded, center=center, flush=bound.context.flush)
        if not claim.exact and claim.format.is_real:
            names = {
                **instance.dims,
                **instance.scalars,
                **{n: np.asarray(x, dtype=np.float64) for n, x in instance.inputs.items()},
            }
            environment = Environment(bound.dtypes, names, reference, acceptance.center)
            acceptance = apply(contract.tolerance, acceptance, environment, claim.format)
        if claim.where is not None:
            off = ~np.broadcast_to(np.asarray(bounded[f"{k} where"].v, dtype=bool), acceptance.free.shape)
            acceptance = replace(acceptance, free=acceptance.free | off)
        yield acceptance
