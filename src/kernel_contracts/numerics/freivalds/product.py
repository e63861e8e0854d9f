"""`check_product`: is C the product of A and B, as far as honest arithmetic can tell?"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.errors import ArithmeticScopeError, UsageError
from kernel_contracts.numerics.freivalds import integers, look, quantum
from kernel_contracts.numerics.freivalds.arrays import Arrays, adapter, host
from kernel_contracts.numerics.freivalds.operands import Operands, matrices, understand
from kernel_contracts.numerics.freivalds.quantiles import deviation
from kernel_contracts.numerics.freivalds.screen import Screened, prepare, screen
from kernel_contracts.numerics.freivalds.sensitivity import Sensitivity
from kernel_contracts.numerics.freivalds.standing import LOOKS, Standing, standing
from kernel_contracts.numerics.freivalds.vectors import Vectors, draw
from kernel_contracts.numerics.freivalds.verdict import Fault, ProductCheck

Array = NDArray[np.float64]


def check_product(
    a: Any,
    b: Any,
    c: Any,
    *,
    accumulate: str = "",
    operands: str = "",
    vectors: int = 1,
    block: int = 0,
    seed: int | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    addend: Any = None,
    bias: Any = None,
    transpose: str = "",
    false_alarm: float = 1e-9,
    rigorous: bool = False,
    precision: str = "auto",
    chunk: int = 0,
) -> ProductCheck:
    """Verify c = alpha op(a) op(b) + beta addend + bias at the cost of reading the matrices.

    Arrays of NumPy (ml_dtypes included), whatever turns into one, or tensors of PyTorch; matrices or batches.
    `accumulate` is the format in which products are summed (default fp32, or fp64 for fp64), `operands` one to which
    they may be cut first (`tf32`). `vectors` secret vectors, one of graded signs or several of signs and Gaussian in
    turn, each on blocks of `block` columns where that is not 0. `transpose` names the operands that are stored
    transposed. `false_alarm` bounds the probability of accusing an honest product under the rounding model; with
    `rigorous` the bound of an accusation is the worst case and none is possible. Integers are compared exactly.
    `precision` is that of the check, fp32 or fp64; `chunk` promises that no more terms than that are summed in one go,
    which lowers what is found.

    Requirement: a and b are what the product was made from. Raises UsageError and ArithmeticScopeError.
    """
    began = time.perf_counter()
    if not 0 < false_alarm < 1:
        raise UsageError(f"false_alarm={false_alarm}: a probability between 0 and 1 is needed")
    if vectors < 1 or block < 0:
        raise UsageError(f"vectors={vectors}, block={block}: one vector or more, and a block of 0 or more columns")
    if chunk < 0:
        raise UsageError(f"chunk={chunk}: a chunk has one term or more; 0 allows any order")
    given = understand(
        a, b, c, accumulate=accumulate, operands=operands, alpha=alpha, beta=beta, addend=addend, bias=bias,
        transpose=transpose, precision=precision, chunk=chunk,
    )  # fmt: skip
    secret = draw(given.dims[2], vectors, seed=seed, block=block)
    if given.integer:
        return _integers(given, secret, began)
    return _reals(given, secret, false_alarm, rigorous, began)


def _reals(given: Operands, secret: Vectors, false_alarm: float, rigorous: bool, began: float) -> ProductCheck:
    tests = math.prod(given.batch) * given.dims[0] * secret.columns
    threshold = deviation(false_alarm, tests)
    ops = adapter(given.c, given.arithmetic.check.name)
    with np.errstate(all="ignore"):
        right = prepare(ops, given.b, secret)
        seen = screen(
            ops, given.a, right, given.c, given.arithmetic, given.alpha, given.addends, confidence=false_alarm
        )
        residual, variance = ops.to_numpy(seen.residual), ops.to_numpy(seen.variance)
        ratio = np.where(residual == 0, 0.0, np.abs(residual) / np.sqrt(variance))
        usual = standing(ratio, threshold)
        suspects: set[tuple[int, ...]] = set()
        z = float(np.max(ratio, initial=0.0))
        if not (z <= threshold and np.max(variance, initial=0.0) < np.inf):
            loud = ~((ratio <= threshold) & (variance < np.inf))
            suspects = {tuple(int(i) for i in place) for place in np.argwhere(loud.any(axis=(-1, -2)))}
        statistic, also = _quantum(given, secret, residual, ops.to_numpy(seen.inner))
        for place in suspects:  # the second look takes their variance anew, and may find them below the threshold
            also[place] = tuple(dict.fromkeys([*_loudest(ratio[place], loud[place]), *also.get(place, ())]))

    def task(place: tuple[int, ...]) -> look.Task:
        left, middle, right_, addends = matrices(given, place)
        return look.Task(
            left, middle, right_, given.alpha, addends, given.arithmetic, secret, threshold, false_alarm,
            rigorous, place,
        )  # fmt: skip

    glanced = _glance(usual, suspects, task, also)
    suspects |= set(also)
    faults: list[Fault] = []
    examined = cleared = glanced
    unexamined = 0
    if suspects:
        z = max((float(np.max(ratio[p], initial=0.0)) for p in np.ndindex(given.batch) if p not in suspects), default=0)
    for place in sorted(suspects):
        found = look.look(task(place), also.get(place, ()))
        faults += found.faults
        examined += found.examined
        cleared += found.cleared
        unexamined += found.unexamined
        z = max(z, found.z)
    sensitivity = _sensitivity(given, secret, seen, ops, false_alarm, rigorous, usual)
    return ProductCheck(
        not faults, tuple(faults), z, threshold, sensitivity, 0.0 if rigorous else false_alarm, 0.01,
        len(secret.kinds), max(secret.width, 1) if len(secret.blocks) > 1 else 0, secret.seed,
        given.arithmetic.check.name, examined, cleared, unexamined, statistic, time.perf_counter() - began,
        given.dims, _formats(given), float(usual.limit[0]),
    )  # fmt: skip


def _loudest(ratio: Array, loud: NDArray[np.bool_]) -> list[int]:
    """The rows of one product that are beyond the threshold, the worst first, as many as are examined at once."""
    rows = np.flatnonzero(loud.any(axis=-1))
    worst = np.where(np.isnan(ratio[rows]), np.inf, ratio[rows]).max(axis=-1)
    return [int(row) for row in rows[np.argsort(-worst, kind="stable")][: look.FIRST]]


def _glance(
    usual: Standing,
    suspects: set[tuple[int, ...]],
    task: Callable[[tuple[int, ...]], look.Task],
    also: dict[tuple[int, ...], tuple[int, ...]],
) -> int:
    """Rows that stand out: wrong ones, and those of products under suspicion, join `also`; the others are counted."""
    rows: dict[tuple[int, ...], list[int]] = {}
    for *batch, row in usual.places:
        rows.setdefault(tuple(batch), []).append(row)
    cleared = 0
    for place, some in rows.items():
        wrong = some if place in suspects else look.glance(task(place), some)
        cleared += len(some) - len(wrong)
        if wrong:
            also[place] = tuple(dict.fromkeys([*wrong, *also.get(place, ())]))
    return cleared


def _quantum(
    given: Operands, secret: Vectors, residual: Array, inner: Array
) -> tuple[quantum.Quantum | None, dict[tuple[int, ...], tuple[int, ...]]]:
    """The second statistic of each product, the loudest kept, and the rows that an alarm wants examined."""
    ar = given.arithmetic
    if not ar.rounds_output or len(secret.blocks) > 1 or given.dims[2] < quantum.FEWEST:
        return None, {}
    if given.addends or given.alpha != 1.0:
        return None, {}  # the extra roundings of a scaled sum are not evenly spread
    kept: quantum.Quantum | None = None
    also: dict[tuple[int, ...], tuple[int, ...]] = {}
    places = list(np.ndindex(given.batch))
    for place in places[: quantum.ROWS]:
        rows = quantum.choose(given.dims[0], secret.seed)
        c = np.asarray(host(given.c[place])[rows], np.float64)
        found = quantum.quantum(
            c, residual[place][rows], secret.values, inner[place][rows], ar.output, rows, LOOKS / len(places)
        )
        if found is None:
            continue
        if kept is None or found.mean_square / found.limit > kept.mean_square / kept.limit:
            kept = found
        if found.alarm:
            also[place] = found.rows[: look.FIRST]
    return kept, also


def _sensitivity(
    given: Operands, secret: Vectors, seen: Screened, ops: Arrays, false_alarm: float, rigorous: bool, usual: Standing
) -> Sensitivity:
    variance, norms = ops.to_numpy(seen.variance)[..., 0], ops.to_numpy(seen.norms)
    return Sensitivity(
        variance, norms, secret.width, given.alpha, secret.kinds[0], float(usual.limit[0]), float(usual.scale[0]),
        usual.doubt, given.arithmetic, given.dims, false_alarm, rigorous,
    )  # fmt: skip


def _integers(given: Operands, secret: Vectors, began: float) -> ProductCheck:
    if given.alpha != 1.0 or given.addends or given.arithmetic.operands is not None:
        raise ArithmeticScopeError(
            "integer products are checked as A B alone: leave out alpha, beta, bias and operands"
        )
    faults: list[Fault] = []
    missed = 0.0
    count = max(2, len(secret.kinds))  # where products wrap, one vector alone misses the worst half the time
    for place in np.ndindex(given.batch):
        a, b, c, _ = matrices(given, place)
        found = integers.residual(a, b, c, count, secret.seed)
        missed = max(missed, found.missed)
        for row in found.rows[: look.FIRST]:
            faults.append(_integer_fault(a, b, c, int(row), place, len(found.rows)))
    return ProductCheck(
        not faults, tuple(faults), float("inf") if faults else 0.0, 0.0, None, 0.0, missed,
        count, 0, secret.seed, "integers", len(faults), 0, 0, None, time.perf_counter() - began,
        given.dims, _formats(given),
    )  # fmt: skip


def _integer_fault(a: Any, b: Any, c: Any, row: int, place: tuple[int, ...], rows: int) -> Fault:
    truth = integers.exact_row(a, b, row, 8 * c.dtype.itemsize, c.dtype.kind == "i")
    wrong = [j for j, value in enumerate(truth) if value != int(c[row, j])]
    j = wrong[0]
    detail = f"row {row}, column {j}: {int(c[row, j])} for {truth[j]}; {len(wrong)} columns of {rows} rows are wrong"
    return Fault("wrong_value", detail, place, row, j, len(wrong), float(c[row, j]), float(truth[j]), 0.0, rows)


def _formats(given: Operands) -> dict[str, str]:
    ar = given.arithmetic
    found = {"accumulate": ar.accumulator.name, "output": ar.output.name}
    return found | ({"operands": ar.operands.name} if ar.operands is not None else {})
