"""64-bit mantissas where the platform's long double has them: the oracle for fp64 kernels."""

from __future__ import annotations

from kernel_contracts.measurement.oracle import FloatOracle
from kernel_contracts.numerics.domains import extended

ORACLE = FloatOracle("extended", 1, extended(), limit=1 << 31)
