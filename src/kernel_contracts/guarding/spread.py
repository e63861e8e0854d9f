"""How far an honest residual strays, from statistics that cost next to nothing: what the first look compares with.

The notation and the derivation are those of `numerics.freivalds.model`. Of A the row norms are taken and of B the
whole norm, so that Q_i = ||A_i||^2 ||B||_F^2 / K, its expectation where magnitudes of A and B are unrelated. N_i is
1.1 Q_i, and what z_i^2 = (A_i B r)^2 has beyond 4 times that is added. On the processor norms come from a sample at
first. Whoever looks suspicious then is looked at once more with another secret, all norms, and N_i = 1.1 Q_i + M_i
with row sums of A and column means of B; from then on every call of that kind is looked at so, with a sample of
rows where that does. Where data fit that no better,
honest rows stay suspicious, and the second look, which needs no model of the data, clears them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from kernel_contracts.formats import FORMATS, Format
from kernel_contracts.guarding.thin import GRADE
from kernel_contracts.numerics.freivalds.quantiles import deviation

MEANS = 1.1
"""N over Q for entries whose means are small beside their spread."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The limit of residual^2 as squares * Q + norms * N + added * (squared norm of what is added) + constant."""

    squares: float
    norms: float
    added: float
    constant: float


@lru_cache(maxsize=4096)
def spread(
    rows: int,
    k: int,
    n: int,
    alpha: float,
    plus: bool,
    accumulator: str,
    output: str,
    operands: str,
    check: str,
    false_alarm: float,
) -> Spread:
    """For `rows` residuals of sums of k terms over n columns, all together beyond their limits with `false_alarm`."""
    acc, out, own = (FORMATS[name] for name in (accumulator, output, check))
    v_a, v_c = acc.u**2 / 3, own.u**2 / 3
    inner = k / 3, k / 6 + 1  # of N and of Q: partial sums of one element
    q = v_a * inner[1] * alpha**2 + v_c * alpha**2 * (n / 2 + 1 + inner[1])
    norm = v_a * inner[0] * alpha**2 + v_c * (alpha**2 * inner[0] + (n / 2 + 1) * alpha**2)
    added = v_c * (n / 2 + 1)
    if alpha != 1.0 or plus:  # scaling and two additions, rounded each
        norm, added = norm + 3 * v_a * alpha**2, added + 3 * v_a
    if out.precision < acc.precision:
        norm, added = norm + out.u**2 / 3 * alpha**2, added + out.u**2 / 3
    if operands:
        q += 2 * (2 * FORMATS[operands].u) ** 2 * alpha**2
    scale = deviation(false_alarm, max(rows, 1)) ** 2 * (1 + GRADE) ** 2
    return Spread(scale * q, scale * norm, scale * added, scale * _least(acc, out, own, k, n, alpha))


def _least(acc: Format, out: Format, own: Format, k: int, n: int, alpha: float) -> float:
    """Below the normal range an operation errs by half the least subnormal: 2 K of them, the output, the check."""
    each = 2 * k * (acc.least_subnormal / 2) ** 2 * max(alpha**2, 1.0)
    own_share = 2 * (k + n) * (own.least_subnormal / 2) ** 2
    return n * (each + (out.least_subnormal / 2) ** 2) + own_share
