"""Ball arithmetic: every value with a proved radius, at a precision that is raised until the radius is small enough."""

from __future__ import annotations

from kernel_contracts.measurement.oracle import BallOracle

ORACLE = BallOracle("ball", 2, bits=(128, 256, 512), limit=1 << 21)
