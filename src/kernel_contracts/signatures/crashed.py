"""The worker process died: a signal, an abort, an exit."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.signatures.base import by_outcome

RULE = by_outcome("crashed", "The worker process died: a signal, an abort, an exit.", Outcome.CRASHED)
