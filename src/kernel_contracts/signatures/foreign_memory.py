"""An index outside reads or writes what no index names."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_fact

RULE = by_fact(
    "foreign_memory",
    "An index outside reads or writes what no index names.",
    "foreign memory",
    "reads or writes what no policy explains",
)
