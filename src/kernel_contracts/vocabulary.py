"""Wires the tables that the language asks for: classes, signatures, input and shape families, oracles."""

from __future__ import annotations

from functools import cache

from kernel_contracts.classes import classes
from kernel_contracts.contracts.vocabulary import ClassInfo, Vocabulary
from kernel_contracts.measurement.inputs.base import families
from kernel_contracts.measurement.shapes import shape_families
from kernel_contracts.signatures import signatures


@cache
def vocabulary() -> Vocabulary:
    """Every name that a contract may use."""
    rules = signatures()
    shows = {f.name: f.shows for f in families().values()}
    special = frozenset().union(*shows.values())
    return Vocabulary(
        classes={
            c.id: ClassInfo(
                c.title, c.claim, frozenset().union(*(shows.get(i.name, frozenset()) for i in c.extra_inputs))
            )
            for c in classes().values()
        },
        signatures={r.name: r.doc for r in rules.values()},
        inputs=shows,
        shapes=frozenset(shape_families()),
        # what no family claims for itself shows under any input
        always=frozenset(r.name for r in rules.values() if r.always or r.name not in special),
    )
