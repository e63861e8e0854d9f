"""Products too large for the oracle, verified with secret vectors: the line `freivalds` of `measure`.

The kernel's whole product is checked by `check_product`, which says where to look. What the contract admits there is
then decided as everywhere, by the oracle and the derived tolerance, on the part of the product where those rows and
some columns meet: all terms of its sums, and nothing else. So a verdict never rests on the check, and a conforming
kernel is not accused by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.contracts.evidence import Case, Element, Layout, Observation, Outcome, OutputReading
from kernel_contracts.contracts.measure import Verified, verified_of
from kernel_contracts.contracts.model import Bound, Contract, MeasureItem
from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.emulated import Emulated, Fixed
from kernel_contracts.measurement.inputs.base import families
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.shapes import DimRange, candidate_shapes
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.verdict import ProductCheck
from kernel_contracts.numerics.rounding import to_storage

MARK = "freivalds "
"""What the shape family of such a case starts with."""
WORK = 1 << 34
"""Largest product of all sizes of a case: 2048 x 4096 x 2048."""
ROWS, COLUMNS = 4, 32
"""Part of the product that the oracle decides on."""


@dataclass(frozen=True, slots=True)
class Form:
    """The reference as one product: C = op(A) op(B) + bias."""

    a: str
    b: str
    bias: str | None
    turned: str
    """Which of a and b are transposed."""
    output: str
    rows: str
    columns: str
    """The dims of the output."""
    accumulator: str


def form_of(contract: Contract, bound: Bound) -> Form | None:
    """The product that the reference is; None where it is anything else."""
    nodes = bound.program.nodes
    if len(bound.program.outputs) != 1 or len(contract.outputs) != 1:
        return None
    ((output, at),) = bound.program.outputs.items()
    node = nodes[at]
    if node.op == "round":
        node = nodes[node.args[0]]
    if node.op not in ("matmul", "affine") or node.type.rank != 2:
        return None
    names, turned = [], ""
    for place, index in zip(("a", "b", "bias"), node.args, strict=False):
        source = nodes[index]
        if source.op == "transpose" and place != "bias" and tuple(source.attr("axes")) == (1, 0):
            source, turned = nodes[source.args[0]], turned + place
        if source.op != "input" or source.type.rank != (1 if place == "bias" else 2):
            return None
        names.append(str(source.attr("name")))
    rows, columns = contract.outputs[0].shape
    if not isinstance(rows, str) or not isinstance(columns, str) or rows == columns or names[0] == names[1]:
        return None
    bias = names[2] if len(names) > 2 else None
    return Form(names[0], names[1], bias, turned, output, rows, columns, node.format.name)


def planned(contract: Contract, bound: Bound, seed: int, first: int, samples: int | None) -> list[Case]:
    """The cases that the line `freivalds` asks for, numbered from `first`; none without it."""
    line = verified_of(contract.measure)
    if line is None:
        return []
    if form_of(contract, bound) is None:
        raise UsageError(
            f"{contract.path}: contract {contract.name}: freivalds verifies a reference that is one product of two "
            "matrices, plus a bias; leave the line out, or say that product alone"
        )
    rng = np.random.default_rng([seed, 6])
    shapes = _shapes(contract, line, rng)
    inputs = [i for i in contract.measure.inputs if not families()[i.name].probe] or [MeasureItem("normal")]
    count = line.samples if samples is None else min(line.samples, samples)
    defaults = contract.defaults()
    return [
        Case(
            first + k, str(inputs[k % len(inputs)]), dict(bound.dtypes), dict(dims), defaults, Layout.CONTIGUOUS,
            int(rng.integers(0, 2**63 - 1)), MARK + family,
        )
        for k in range(count)
        for dims, family in [shapes[k % len(shapes)]]
    ]  # fmt: skip


def _shapes(contract: Contract, line: Verified, rng: np.random.Generator) -> list[tuple[dict[str, int], str]]:
    ranges = {
        d: DimRange(int(r.low), int(r.high), tuple(int(c) for c in r.choices) if r.choices is not None else None)
        for d, r in contract.pre.ranges.items()
    }
    items = [(i.name, tuple(float(a) for a in i.arguments if not isinstance(a, tuple))) for i in line.shapes]
    found = candidate_shapes(items, ranges, rng, WORK)
    found.sort(key=lambda c: -int(np.prod([max(n, 1) for n in c.dims.values()], dtype=np.float64)))
    return [(c.dims, c.family) for c in found]


def is_verified(case: Case) -> bool:
    """Whether a case is one of these."""
    return case.shape_family.startswith(MARK)


def measure_on(session: Session, case: Case, inputs: Mapping[str, Array]) -> Observation:
    """The kernel's product, verified; and the part of it that the contract was held against."""
    form = form_of(session.contract, session.bound)
    if form is None or isinstance(session.kernel, Emulated | Fixed):
        return Session.skipped(case, "products this large are verified on a kernel, not emulated")
    base, outputs, _ = session.called(case, inputs)
    if base.outcome is not Outcome.RETURNED or base.defect:
        return base
    stored = {n: to_storage(inputs[n], session.bound.inputs[n]) for n in (form.a, form.b)}
    found = check_product(
        stored[form.a], stored[form.b], to_storage(outputs[form.output], session.bound.outputs[form.output]),
        accumulate=form.accumulator, transpose=form.turned, bias=None if form.bias is None else inputs[form.bias],
        seed=case.seed,
    )  # fmt: skip
    rows, columns = _part(found, outputs[form.output].shape, case.seed)
    part = _cut(form, inputs, rows, columns)
    sizes = {**case.dims, form.rows: len(rows), form.columns: len(columns)}
    small = {form.output: outputs[form.output][np.ix_(rows, columns)]}
    seen = session.compared(replace(base, case=replace(case, dims=sizes)), part, small)
    readings = {**seen.readings, "z": found.z, "threshold": found.threshold, "floor": found.floor}
    whole = tuple(_placed(r, outputs[form.output].size, rows, columns) for r in seen.outputs)
    return replace(
        seen, case=case, outputs=whole, readings=readings, hashes=base.hashes,
        facts={**seen.facts, "freivalds": found.name or "verified"},
        detail=found.summary()[0].partition(": ")[2] if seen.violating and not found.ok else seen.detail,
    )  # fmt: skip


def _part(found: ProductCheck, shape: tuple[int, ...], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows that the check names, with their worst columns, or drawn ones where it names none."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(n, min(most, n), replace=False) for n, most in zip(shape, (ROWS, COLUMNS), strict=True)]
    if not found.ok:
        named = np.unique([f.row for f in found.faults])[:ROWS]
        worst = np.unique([f.column for f in found.faults if f.row in named])
        return named.astype(np.intp), np.union1d(drawn[1], worst).astype(np.intp)
    return np.sort(drawn[0]), np.sort(drawn[1])


def _cut(
    form: Form, inputs: Mapping[str, Array], rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> dict[str, Array]:
    """The inputs that those rows and columns of the product are made from."""
    a, b = inputs[form.a], inputs[form.b]
    part: dict[str, Any] = {
        form.a: a[:, rows] if "a" in form.turned else a[rows],
        form.b: b[columns] if "b" in form.turned else b[:, columns],
    }
    if form.bias is not None:
        part[form.bias] = inputs[form.bias][columns]
    return part


def _placed(reading: OutputReading, size: int, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> OutputReading:
    """A reading of the part, with places of the whole."""
    worst = reading.worst
    if worst is not None and len(worst.index) == 2:
        i, j = worst.index
        worst = Element(
            worst.output, (int(rows[i]), int(columns[j])), worst.got, worst.oracle, worst.tolerance, worst.ratio
        )
    return replace(reading, size=size, worst=worst, region={}, boundary={})
