"""float64: enough for every arithmetic up to fp32, where its error is below 2^-26 of the derived radius."""

from __future__ import annotations

from kernel_contracts.measurement.oracle import FloatOracle
from kernel_contracts.numerics.domains import FLOAT64

ORACLE = FloatOracle("fp64", 0, FLOAT64, limit=1 << 62)
