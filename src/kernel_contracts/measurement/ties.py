"""Which of several updates of one cell wins: the first, the last, or now this and now that.

Found by comparing with the reference, for which the last one wins, on the updates as they are and in reverse.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernel_contracts.contracts.evidence import Case
from kernel_contracts.measurement.session import Session
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.dims import Dim
from kernel_contracts.numerics.domains import FLOAT64
from kernel_contracts.numerics.interpret import Instance, evaluate


def winner(session: Session, case: Case, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> str:
    """`first`, `last`, `either` where both are the same, or `mixed`."""
    indices = [t for t in session.contract.inputs if np.asarray(inputs[t.name]).dtype.kind in "iu" and t.shape]
    along = {t.shape[0] for t in indices}
    last = _reference(session, case, inputs)
    first = _reference(
        session, case, {t.name: _reversed(inputs[t.name], t.shape[:1], along) for t in session.contract.inputs}
    )
    is_last, is_first = _equal(outputs, last), _equal(outputs, first)
    if is_last and is_first:
        return "either"
    return "last" if is_last else "first" if is_first else "mixed"


def _reversed(x: Array, leading: tuple[Dim, ...], along: set[Dim]) -> Array:
    return x[::-1] if leading and leading[0] in along else x


def _reference(session: Session, case: Case, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
    return evaluate(Instance(session.bound.program, case.dims, inputs, case.scalars), FLOAT64)


def _equal(a: Mapping[str, Array], b: Mapping[str, Array]) -> bool:
    return all(np.array_equal(a[n], b[n], equal_nan=True) for n in a)
