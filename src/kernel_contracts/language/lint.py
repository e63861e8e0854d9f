"""Advice on a contract file that is right: what is unused, missing or said twice. Looks at the syntax alone.

A file without contracts is a library of definitions: nothing in it counts as unused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from kernel_contracts.language import lint_codes
from kernel_contracts.language import syntax as s
from kernel_contracts.language.diagnostics import Diagnostic, diagnose, one_of

lint_codes.register_all()

_STATES = ("good", "bad", "baseline")
_KINDS = {s.Contract: "contract", s.Profile: "profile", s.Define: "definition", s.Use: "definition"}


def lint(file: s.File) -> list[Diagnostic]:
    """Every piece of advice, in the order of the text."""
    found = [*_duplicates(file), *_unused_definitions(file)]
    for item in file.items:
        match item:
            case s.Contract():
                found += [*_parts(item), *_unused_names(item), *_unused_statements(item), *_states(item)]
            case s.Profile():
                found += _profile(item)
    return sorted(found, key=lambda d: (d.span.line, d.span.column, d.code))


def names_in(node: object) -> Iterator[str]:
    """Every name that occurs in a node or a tuple of nodes: those read, and the functions called."""
    if isinstance(node, tuple):
        for part in node:
            yield from names_in(part)
    elif isinstance(node, s.Node):
        if isinstance(node, s.Name):
            yield node.id
        elif isinstance(node, s.Call):
            yield node.function
        for part in fields(node):
            yield from names_in(getattr(node, part.name))


def _advise(code: str, node: s.Node, message: str, hint: str) -> Diagnostic:
    # A construct of several lines is pointed at by its first one.
    return diagnose(code, node.span, message, hint=hint)


def _duplicates(file: s.File) -> Iterator[Diagnostic]:
    seen: set[tuple[str, str]] = set()
    for item in file.items:
        kind = _KINDS[type(item)]
        for name in item.names if isinstance(item, s.Use) else (item.name,):
            if (kind, name) in seen:
                yield _advise("L606", item, f"the {kind} `{name}` is there already", "rename or remove one of the two.")
            seen.add((kind, name))


def _unused_definitions(file: s.File) -> Iterator[Diagnostic]:
    if not any(isinstance(item, s.Contract) for item in file.items):
        return
    used: set[str] = set()
    for item in file.items:
        match item:
            case s.Contract():
                used |= set(names_in(item))
            case s.Define():
                used |= {*names_in(item.body), *names_in(item.result)} - {item.name}
    for item in file.items:
        if isinstance(item, s.Define) and item.name not in used:
            yield _advise("L601", item, f"the definition `{item.name}` is never used", "use it or remove it.")
        for name in item.names if isinstance(item, s.Use) else ():
            if name not in used:
                yield _advise("L602", item, f"`{name}` is never used", f"remove `{name}` from this `use`.")


def _parts(contract: s.Contract) -> Iterator[Diagnostic]:
    if not contract.doc:
        yield _lacks("L603", contract, "has no docstring", 'say in `"""one sentence"""` what it claims.')
    if not contract.calibrate:
        hint = "add `calibrate { good emulated  bad mutant(...)  baseline zeros }`."
        yield _lacks("L604", contract, "has no `calibrate`", hint)
    if not contract.violation:
        yield _lacks("L605", contract, "names no `violation`", "name the signatures of the defects that it catches.")
    if not contract.measure:
        yield _lacks("L611", contract, "has no `measure`", "say on which inputs and shapes it is measured.")


def _lacks(code: str, contract: s.Contract, what: str, hint: str) -> Diagnostic:
    return diagnose(code, contract.place("header"), f"contract `{contract.name}` {what}", hint=hint)


def _unused_names(contract: s.Contract) -> Iterator[Diagnostic]:
    scope = contract.scope
    types = set(names_in((scope.inputs, scope.outputs)))
    for variable in scope.variables:
        if variable.name not in types:
            hint = f"use `{variable.name}` as the format of an input or output, or remove it."
            yield _advise("L608", variable, f"no input or output has the format `{variable.name}`", hint)
    if isinstance(program := contract.reference, s.Program):
        read = set(names_in(tuple(a.value for a in program.statements)))
        # a schedule may change how a result is computed, and never what it is
        scalars = tuple(p for p in scope.scalars if p.type != "schedules")
        parameters: tuple[s.Tensor | s.Scalar, ...] = (*scope.inputs, *scalars)
        for given in parameters:
            if given.name not in read:
                hint = f"let the reference depend on `{given.name}`, or remove it from the scope."
                yield _advise("L609", given, f"the reference never reads `{given.name}`", hint)


def _unused_statements(contract: s.Contract) -> Iterator[Diagnostic]:
    if not isinstance(program := contract.reference, s.Program):
        return
    needed = {output.name for output in contract.scope.outputs}
    for statement in reversed(program.statements):
        if statement.target not in needed:
            hint = "use it in a later statement, or remove it."
            yield _advise("L610", statement, f"the value of `{statement.target}` is never used", hint)
        needed |= set(names_in(statement.value))


def _states(contract: s.Contract) -> Iterator[Diagnostic]:
    missing = [state for state in _STATES if state not in {c.state for c in contract.calibrate}]
    if contract.calibrate and missing:
        message = f"the calibration of `{contract.name}` lacks {one_of(missing).replace(' or ', ' and ')}"
        place = contract.place("calibrate")
        yield diagnose("L612", place, message, hint="a contract must be shown to tell all three apart; add the rest.")


def _profile(profile: s.Profile) -> Iterable[Diagnostic]:
    seen: set[str] = set()
    for entry in profile.entries:
        if not entry.level:
            yield _advise("L607", entry, f"the entry `{entry.contract}` demands no level", "add one: `at L1`.")
        if entry.contract in seen:
            yield _advise("L613", entry, f"the profile names `{entry.contract}` twice", "remove one of the two.")
        seen.add(entry.contract)
