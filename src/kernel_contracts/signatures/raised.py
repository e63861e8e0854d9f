"""An exception on input that the precondition admits."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.signatures.base import by_outcome

RULE = by_outcome("raised", "An exception on input that the precondition admits.", Outcome.RAISED)
