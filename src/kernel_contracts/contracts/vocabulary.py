"""What the outer tiers know and the language needs: class, signature, input, shape and mutant names, handed in.

The language never names a contract class. Whoever elaborates a contract supplies this table; the empty one checks
everything but those names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """What the language must know about a contract class."""

    title: str
    claim: str
    signatures: frozenset[str] = frozenset()
    """Defects that the inputs this class always measures can show."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names with what they mean. An empty table switches its check off."""

    classes: Mapping[str, ClassInfo] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    """Signature name to one line of documentation."""
    inputs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Input family or probe to the signatures it is able to show."""
    shapes: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()
    """Signatures that any input shows: a crash, a wrong dtype, a mutated input."""
