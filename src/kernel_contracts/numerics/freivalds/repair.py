"""Wrong rows replaced by those of a recomputation, and the result verified again; what was done is always said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_contracts.numerics.freivalds import jax_arrays
from kernel_contracts.numerics.freivalds.arrays import is_jax, is_torch
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.verdict import ProductCheck


@dataclass(frozen=True, slots=True)
class Repair:
    """A repaired product."""

    value: Any
    """C with rows replaced; other rows keep their bits."""
    rows: tuple[tuple[int, ...], ...]
    """Places (batch ..., row) that were replaced; empty where C was right."""
    before: ProductCheck
    after: ProductCheck

    @property
    def ok(self) -> bool:
        """Whether what is there now conforms: a kernel that is wrong every time cannot be repaired so."""
        return self.after.ok


def repair(a: Any, b: Any, c: Any, multiply: Callable[[], Any] | None = None, **how: Any) -> Repair:
    """Check c, and replace the rows that are wrong by those that `multiply()` gives: the same call once more.

    Without `multiply` the product is a @ b, rounded to c's format. `how` goes to `check_product`. Where more rows are
    wrong than are examined at once, the whole product of that place in the batch is replaced.
    """
    before = check_product(a, b, c, **how)
    if before.ok:
        return Repair(c, (), before, before)
    fresh = multiply() if multiply is not None else _plain(a, b, c)
    value = c.clone() if is_torch(c) else np.array(c)
    replaced: set[tuple[int, ...]] = set()
    result = before
    for _ in range(2):
        for fault in result.faults:
            every = fault.rows > 1 or fault.name == "not_finite"
            rows = range(value.shape[-2]) if every else (fault.row,)
            for row in rows:
                value[(*fault.batch, row)] = fresh[(*fault.batch, row)]
                replaced.add((*fault.batch, row))
        result = check_product(a, b, value, **how)
        if result.ok:
            break
    return Repair(jax_arrays.like(value, c) if is_jax(c) else value, tuple(sorted(replaced)), before, result)


def _plain(a: Any, b: Any, c: Any) -> Any:
    """a @ b in c's format. NumPy sums narrow formats narrowly, so those are widened first."""
    if hasattr(a, "detach"):
        return (a.detach() @ b.detach()).to(c.dtype)
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.itemsize < 4 and a.dtype.kind not in "iu":
        a, b = a.astype(np.float32), b.astype(np.float32)
    return (a @ b).astype(np.asarray(c).dtype)
