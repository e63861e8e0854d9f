"""How far a sum of bounded independent errors goes, at a stated probability."""

from __future__ import annotations

import math


def deviation(probability: float, tests: float = 1.0) -> float:
    """Standard deviations `lam` that none of `tests` sub-Gaussian variables exceeds, but for `probability`.

    P(|X| > lam s) <= 2 exp(-lam^2 / 2) holds for X = sum e_j r_j with random signs r and s = ||e|| (Hoeffding 1963),
    and for a sum of mean-independent rounding errors |d_k| <= u weighted by w_k with s = u ||w|| (Azuma 1967; Higham
    and Mary 2019, Connolly, Higham and Mary 2021). The union bound over all tests gives lam = sqrt(2 ln(2 t / p)).
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability={probability}: it lies strictly between 0 and 1")
    return math.sqrt(2 * math.log(2 * max(tests, 1.0) / probability))


def mean_square(probability: float, terms: float) -> float:
    """What the mean of `terms` squares of unit sub-Gaussian variables does not exceed, but for `probability`.

    P(sum > n + 2 sqrt(n x) + 2 x) <= exp(-x): Laurent and Massart 2000 for Gaussian variables, Hsu, Kakade and Zhang
    2012 for sub-Gaussian ones; x = ln(1 / p), divided by n.
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability={probability}: it lies strictly between 0 and 1")
    x = -math.log(probability)
    n = max(terms, 1.0)
    return 1 + 2 * math.sqrt(x / n) + 2 * x / n
