"""What every operation of Numba here takes."""

from __future__ import annotations

from typing import Any

Array = Any
