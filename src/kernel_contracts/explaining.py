"""What `kc explain` says of a code, a class, a contract, an operation or a signature."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from kernel_contracts import classes as class_package
from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.model import Contract
from kernel_contracts.language import lint, parser
from kernel_contracts.language.diagnostics import CODES, code_section
from kernel_contracts.signatures import signatures
from kernel_contracts.vocabulary import vocabulary

_REGISTER = (lint, parser)  # imported because their codes are registered on import


def explain(what: str) -> str | None:
    """The explanation, or None when nothing has that name."""
    if what in CODES:
        return code_section(what)
    if what in classes():
        return _class(what)
    if what in signatures():
        rule = signatures()[what]
        return f"{rule.name}: {rule.doc}"
    found = [c for c in standard_library(vocabulary()) if what in (c.name, c.operation)]
    if found:
        return "\n\n".join(_contract(c) for c in found)
    return None


def _class(name: str) -> str:
    klass = classes()[name]
    doc = ""
    for module in pkgutil.iter_modules(class_package.__path__):
        loaded = importlib.import_module(f"{class_package.__name__}.{module.name}")
        if getattr(loaded, "CLASS", None) is klass:
            doc = (sys.modules[loaded.__name__].__doc__ or "").strip()
    library = [c.name for c in standard_library(vocabulary()) if c.class_id == name]
    parts = [f"{klass.id}  {klass.title}", doc, f"mutants it must catch: {', '.join(klass.mutants)}"]
    return "\n\n".join([*parts, f"contracts: {', '.join(library)}"])


def _contract(c: Contract) -> str:
    choices = "; ".join(b.label for b in c.bound)
    title = f"{c.name} {c.version}  {c.class_id}  sha256 {c.digest[:16]}"
    return f"{title}\nfor {choices or 'one choice of dtypes'}\n\n{c.source}"
