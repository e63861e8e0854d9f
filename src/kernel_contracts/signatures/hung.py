"""No answer within the time limit."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.signatures.base import by_outcome

RULE = by_outcome("hung", "No answer within the time limit.", Outcome.HUNG)
