"""The kernel asked for more memory than its limit."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.signatures.base import by_outcome

RULE = by_outcome("out_of_memory", "The kernel asked for more memory than its limit.", Outcome.OUT_OF_MEMORY)
