"""A zero of the wrong sign."""

from __future__ import annotations

from kernel_contracts.signatures.base import by_count

RULE = by_count("sign_of_zero_lost", "A zero of the wrong sign.", 29, "zero with the wrong sign", "zero_sign_lost")
