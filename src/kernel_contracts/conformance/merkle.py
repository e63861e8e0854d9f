"""The root of a Merkle tree over records, as RFC 9162 (2.1.1) defines it: one digest for all, and their order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

NAME = "RFC 9162 Merkle tree hash, SHA-256"


def root(records: Sequence[bytes]) -> str:
    """As hexadecimal digits. A leaf and an inner node are hashed apart, so that neither passes for the other."""
    if not records:
        return hashlib.sha256(b"").hexdigest()
    level = [hashlib.sha256(b"\x00" + r).digest() for r in records]
    while len(level) > 1:
        pairs = [hashlib.sha256(b"\x01" + a + b).digest() for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0].hex()
