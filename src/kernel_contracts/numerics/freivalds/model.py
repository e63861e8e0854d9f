"""The size of the rounding errors of an honest product, row by row, from A, B and the formats alone.

Notation: T = op(A) op(B) exactly, C the candidate, e = C - T, r one secret vector, K the length of the sums, n the
columns that r sees, u unit roundoffs (`a` of the accumulator, `o` of the output, `c` of the checking arithmetic).

*Accumulation.* A sum of terms t_1..t_K with partial sums S_k and rounding errors |d_k| <= u errs by sum d_k S_k to
first order; mean-independent d_k, spread evenly within +-u, give it the variance (u^2/3) sum S_k^2 (the model of
Higham and Mary 2019 and 2020; without "evenly" the proxy is u^2 sum S_k^2, which is what `examine` uses). Over a random
order of the terms E S_k^2 = (k/K)^2 T^2 + (k/K)(1 - k/K) Q to first order, with Q = sum t_k^2, so that

    E sum_k S_k^2 = (K/3) T^2 + (K/6) Q,

and products that are rounded before they are added contribute Q more. Summed over the n columns of a row:

    V_acc = (u_a^2 / 3) [ (K/3) N + (K/6 + 1) Q ],   Q_i = sum_k A_ik^2 s_k^2,  s_k = ||B_k||,   N_i = ||T_i||^2.

Q is a thin product. N follows without forming T: with row means of A and column means of B split off, T_ij has mean
square (K mean(A_i) mean(B_j))^2 + sum_k A_ik^2 B_kj^2, hence N_i = M_i + Q_i, M_i = (sum_k A_ik)^2 sum_j mean(B_j)^2.
Data that are correlated beyond their means show in z_i = A_i (B r), since E z_i^2 = N_i: what z_i^2 has beyond 4 (M_i +
Q_i) is added. For independent entries this becomes (K^3/3) mean(A_i)^2 sum_j mean(B_j)^2 + ||A_i||^2 ||B||_F^2 / 2.

*Chunks.* Where sums are known to be taken in chunks of at most h terms, as BLAS takes them, a chunk has mean square
(h/K)^2 T^2 plus its share of Q, and the formula applied to the terms of each chunk and then to the K/h chunks gives

    E sum S^2 <= [h^2/(3K) + K/(3h) + 1/6] T^2 + [h/2 + K/(6h)] Q.

*Output.* Rounding to nearest errs by at most u_o |T|; uniformly spread within that it has variance u_o^2 T^2 / 3.

*Check.* B r errs by (u_c^2/3) (n/2 + 1) s_k^2 in variance, A y by (u_c^2/3) [(K/3) N + (K/6 + 1) Q], C r by
(u_c^2/3) (n/2 + 1) N, each by the formula above; in fp32 it sums chunks of `thin.CHUNK`.

The residual of a row is sub-Gaussian in the secret signs with proxy ||e_i||^2, and ||e_i||^2 is what V bounds. Where
data fit none of this, rows look suspicious; `examine` then decides without a model of the data. That is also why
row statistics may come from a sample of the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_contracts.formats import Format, wider
from kernel_contracts.numerics.freivalds.arrays import Arrays
from kernel_contracts.numerics.freivalds.thin import CHUNK


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What the candidate is allowed to do, and what the check itself does."""

    accumulator: Format
    output: Format
    check: Format
    chunk: int = 0
    """Longest run of terms that is summed in one go; 0 where any order is allowed."""
    operands: Format | None = None
    """Where operands may be cut first, as matrix units do with tf32; None where they are used as they are."""

    @property
    def rounds_output(self) -> bool:
        """Whether the result is rounded once more on the way out."""
        return self.output.precision < self.accumulator.precision

    @property
    def final(self) -> Format:
        """The narrower of accumulator and output: what a stored element has gone through."""
        return self.output if wider(self.accumulator, self.output) is self.accumulator else self.accumulator


@dataclass(frozen=True, slots=True)
class RowFacts:
    """Statistics of the rows of one product on one block of columns, as arrays of the check's library."""

    squares: Any
    """Q."""
    means: Any
    """M."""
    sketch: Any
    """Largest z_i^2 over the vectors of this block, as a mean over them."""
    added: Any
    """Squared norm of what is added to the row after the product (bias, beta C0); 0.0 where nothing is."""


def norms(ops: Arrays, facts: RowFacts) -> Any:
    """N, the mean square of T's rows times n."""
    base = facts.means + facts.squares
    return base + ops.maximum(facts.sketch - 4 * base, 0.0)


@dataclass(frozen=True, slots=True)
class Linear:
    """V is linear in N, Q and what is added: the factor of each, and the constant."""

    norm: float
    squares: float
    added: float
    constant: float

    def of(self, facts: RowFacts, norm: Any) -> Any:
        """The value of every row; `norm` is N."""
        found = self.norm * norm + (self.squares * facts.squares + self.constant)
        return found + self.added * facts.added if _present(facts.added) else found


def inner(
    arithmetic: Arithmetic,
    k: int,
    n: int,
    alpha: float = 1.0,
    unit: tuple[float, float] = (1.0, 1.0),
    *,
    added: bool = False,
) -> Linear:
    """V but for the rounding of the output: accumulation, operands and the check itself.

    `unit` is what A and B were scaled by, powers of two: thresholds of underflow scale along. `added` says whether
    something is added to the product.
    """
    v_a, v_c = (fmt.u**2 / 3 for fmt in (arithmetic.accumulator, arithmetic.check))
    own = CHUNK if arithmetic.check.precision <= 24 else 0
    theirs_norm, theirs_squares = _ordered(k, arithmetic.chunk)
    own_norm, own_squares = _ordered(k, own)
    signed = _signed(n, own)
    scaling = 3 * v_a if added or alpha != 1.0 else 0.0  # scaling and two additions, rounded each
    return Linear(
        alpha**2 * (v_a * theirs_norm + scaling + v_c * (own_norm + signed)),
        alpha**2 * (v_a * theirs_squares + v_c * (own_squares + signed) + operand_term(arithmetic)),
        scaling + v_c * signed,
        _subnormal(arithmetic, k, n, alpha, unit),
    )


def rounding(
    arithmetic: Arithmetic, n: int, alpha: float = 1.0, unit: tuple[float, float] = (1.0, 1.0)
) -> Linear | None:
    """The share of V that rounding of the output adds; None where there is no such rounding."""
    if not arithmetic.rounds_output:
        return None
    least = arithmetic.output.least_subnormal * unit[0] * unit[1] / 2
    v_o = arithmetic.output.u**2 / 3
    return Linear(alpha**2 * v_o, 0.0, v_o, n * least**2)


def operand_term(arithmetic: Arithmetic) -> float:
    """Times Q: both operands of every product may be off by one spacing, 2 u, whether rounded or cut."""
    return 2 * (2 * arithmetic.operands.u) ** 2 if arithmetic.operands is not None else 0.0


def _ordered(k: int, chunk: int) -> tuple[float, float]:
    """Factors of N and Q in the expected sum of squared partial sums and products: in any order, or in chunks."""
    if not 0 < chunk < k:
        return k / 3, k / 6 + 1
    return chunk**2 / (3 * k) + k / (3 * chunk) + 1 / 6, chunk / 2 + k / (6 * chunk) + 1


def _signed(n: int, chunk: int) -> float:
    """The same over the squared norm of the terms where these have random signs."""
    return (chunk / 2 + n / (2 * chunk) if 0 < chunk < n else n / 2) + 1


def _subnormal(arithmetic: Arithmetic, k: int, n: int, alpha: float, unit: tuple[float, float]) -> float:
    """Below the normal range an operation errs by half the least subnormal instead: 2 K of them."""
    each = (arithmetic.accumulator.least_subnormal * unit[0] * unit[1] / 2) ** 2
    check = 2 * (k + n) * (arithmetic.check.least_subnormal / 2) ** 2
    return n * 2 * k * each * max(alpha**2, 1.0) + check


def _present(added: Any) -> bool:
    return not (isinstance(added, float) and added == 0.0)
