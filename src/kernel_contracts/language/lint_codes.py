"""The codes of advice: for each its meaning and the smallest file that shows it."""

from __future__ import annotations

from kernel_contracts.language.diagnostics import register

_PARTS = (
    "scope f (x: fp32[N]) -> y: fp32[N]",
    "reference { y = x }",
    "measure { inputs normal }",
    "violation saturated",
    "calibrate { good emulated  bad mutant(clamp)  baseline zeros }",
)


def _contract(*, doc: str = '"""A claim."""\n', without: str = "", **clauses: str) -> str:
    """A contract that gives rise to no advice, but for what is left out or put in another way."""
    parts = {clause.split()[0]: clause for clause in _PARTS} | clauses
    lines = "\n".join(f"  {text}" for keyword, text in parts.items() if keyword != without)
    return f"contract a version 1.0 implements C-PRC-01\n{doc}{{\n{lines}\n}}\n"


_CODES = (
    (
        "L601",
        "a definition is never used",
        "No contract and no other definition of this file uses it. In a file without contracts, a library, definitions"
        " are there for others.",
        "define double(x) = x + x\n\n" + _contract(),
    ),
    (
        "L602",
        "a name is taken from a library and never used",
        "What a file takes with `use` and does not need misleads its readers.",
        'use gelu from "nn"\n\n' + _contract(),
    ),
    (
        "L603",
        "a contract without a docstring",
        "The docstring says in one sentence what the contract claims; reports show it.",
        _contract(doc=""),
    ),
    (
        "L604",
        "a contract without calibration",
        "Only a calibration shows that a contract tells a good kernel from a bad one.",
        _contract(without="calibrate"),
    ),
    (
        "L605",
        "a contract that names no violation",
        "The names of the defects that a contract catches tell its users what it is for.",
        _contract(without="violation"),
    ),
    (
        "L606",
        "a name is given twice",
        "Two contracts, profiles or definitions of one file have the same name.",
        _contract() + "\n" + _contract(),
    ),
    (
        "L607",
        "a profile entry without a level",
        "Without a level the entry demands only that the contract was measured at all.",
        "profile p version 1 {\n  a >= 1.0\n}\n",
    ),
    (
        "L608",
        "a format variable is never used",
        "No input or output of the scope has this format, so its choices are measured for nothing.",
        _contract(scope="scope f for P in {fp16} (x: fp32[N]) -> y: fp32[N]"),
    ),
    (
        "L609",
        "the reference never reads an input",
        "An input or parameter that the reference does not read cannot change its result.",
        _contract(scope="scope f (x: fp32[N], z: fp32[N]) -> y: fp32[N]"),
    ),
    (
        "L610",
        "a statement of the reference is never used",
        "Its value is neither an output nor read by a later statement.",
        _contract(reference="reference { z = x  y = x }"),
    ),
    (
        "L611",
        "a contract without measurement",
        "Without `measure`, what is measured is left to defaults that know nothing of the contract.",
        _contract(without="measure"),
    ),
    (
        "L612",
        "a calibration without all three states",
        "A good kernel must conform, a bad one must pass ordinary tests and violate, a baseline must fail visibly.",
        _contract(calibrate="calibrate { good emulated  baseline zeros }"),
    ),
    (
        "L613",
        "a contract stands twice in a profile",
        "The two demands may differ, and readers cannot know which one counts.",
        "profile p version 1 {\n  a >= 1.0 at L1\n  a >= 2.0 at L2\n}\n",
    ),
)


def register_all() -> None:
    """Make the codes known."""
    for code, title, explanation, example in _CODES:
        register(code, title, explanation, example, severity="warning")
