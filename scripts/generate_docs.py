"""Writes what the documentation takes from the code: error codes, every name that a contract may use, and counts.

    python scripts/generate_docs.py

A test compares the pages with what this would write, so none of their lists can fall behind.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
REFERENCE = REPOSITORY / "docs" / "reference"
CHEATS = REPOSITORY / "docs" / "cheats.md"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    shown = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in (list(head), ["---"] * len(head), *shown)]
    return "\n".join(lines)


def _operations() -> str:
    from kernel_contracts.contracts.catalogue import standard_library
    from kernel_contracts.vocabulary import vocabulary

    rows = []
    for c in sorted(standard_library(vocabulary()), key=lambda c: (c.operation, c.class_id, c.name)):
        formats = sorted({f for choice in c.choices() for f in choice.values()}, key=_width)
        rows.append((f"`{c.operation}`", f"`{c.name}`", c.class_id, ", ".join(formats), " ".join(c.doc.split())))
    return table(("operation", "contract", "class", "formats", "claim"), rows)


def _width(name: str) -> tuple[int, str]:
    from kernel_contracts.formats import find

    found = find(name)
    return (-found.bits if found else 0, name)


def _classes() -> str:
    from kernel_contracts.classes import classes

    rows = [
        (f"[{c.id}](../classes/{c.id}.md)", c.title, c.claim, _ticked((*c.mutants, *c.faults)))
        for c in classes().values()
    ]
    return table(("class", "title", "claim", "mutants and faults it must catch"), rows)


def _ticked(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def _formats() -> str:
    from kernel_contracts.formats import FORMATS

    rows = []
    for f in FORMATS.values():
        if f.is_real:
            rows.append(
                (
                    f"`{f.name}`",
                    str(f.precision),
                    f"{f.u:.3g}",
                    f"{f.least_subnormal:.3g}",
                    f"{f.max_finite:.6g}",
                    f.overflow,
                )
            )
        else:
            rows.append((f"`{f.name}`", "", "", str(f.min_int), str(f.max_int), ""))
    return table(("format", "bits p", "roundoff u", "least", "largest", "past the largest"), rows)


def _functions() -> str:
    from kernel_contracts.contracts.calls import CALLS
    from kernel_contracts.numerics.bounded import ULPS

    budgets = [(f"`{n}`", f"{b:g}") for n, b in ULPS.items()]
    return f"{_ticked(sorted(CALLS))}.\n\n" + table(("function", "ulp"), budgets)


def _call(name: str, parameters: Iterable[str]) -> str:
    arguments = ", ".join(parameters)
    return f"`{name}({arguments})`" if arguments else f"`{name}`"


def _inputs() -> str:
    from kernel_contracts.measurement.inputs.base import families
    from kernel_contracts.signatures import signatures

    rows = []
    for f in families().values():
        shown = sorted(f.shows & set(signatures()))
        rows.append((_call(f.name, getattr(f, "parameters", ())), "probe" if f.probe else "", f.doc, _ticked(shown)))
    return table(("input family", "", "what it is", "defects it shows besides the general ones"), rows)


def _shapes() -> str:
    from kernel_contracts.measurement.shapes import shape_families

    return table(
        ("shape family", "what it is"), [(_call(f.name, f.parameters), f.doc) for f in shape_families().values()]
    )


def _signatures() -> str:
    from kernel_contracts.signatures import signatures

    return table(("signature", "meaning"), sorted((f"`{r.name}`", r.doc) for r in signatures().values()))


def _mutants() -> str:
    from kernel_contracts.numerics.mutants import mutants

    return table(
        ("mutant", "fault", "signature"), [(f"`{m.name}`", m.doc, f"`{m.signature}`") for m in mutants().values()]
    )


def _faults() -> str:
    from kernel_contracts.measurement.faults import faults

    return table(("fault", "what it does"), [(f"`{f.name}`", f.doc) for f in faults().values()])


def _policies() -> str:
    from kernel_contracts.contracts.elaborate import POLICIES

    return table(("policy", "choices"), [(f"`{name}`", _ticked(choices)) for name, choices in POLICIES.items()])


def _stacks() -> str:
    from kernel_contracts.stacks.base import stacks

    rows = [(f"`{s.name}`", ", ".join(sorted(s.native_dtypes, key=_width))) for s in stacks().values()]
    return table(("stack", "formats measured when none is named"), rows)


SECTIONS = {
    "Operations and their contracts": ("What `kc check --as OPERATION` measures.", _operations),
    "Classes": ("What a contract may implement.", _classes),
    "Number formats": (
        "u = 2^-p is the largest relative error of rounding to nearest. `accN`, with N from 2 to 53, is an\n"
        "accumulator with N significant bits and the range of fp32.",
        _formats,
    ),
    "Functions of references": (
        "Each is described in [the language](language.md#functions). Elementary functions may err by this many ulp of\n"
        "the arithmetic they are done in, unless a contract states another budget. The defaults are those of the\n"
        "OpenCL C full profile; `sigmoid` is not in that table and gets what `1 / (1 + exp(-x))` costs.",
        _functions,
    ),
    "Input families and probes": (
        "Where the reference is a sum that a probe is made for, the declared arithmetic admits exactly one answer.",
        _inputs,
    ),
    "Shape families": ("Every shape is held to the precondition.", _shapes),
    "Signatures": ("The defects that a violation can be named as.", _signatures),
    "Mutants": ("Wrong kernels made from a right program, for `calibrate` and for naming defects.", _mutants),
    "Faults": ("The same for `calibrate { bad fault(NAME) }`: what no change of a program expresses.", _faults),
    "Policies": ("For `policy NAME = CHOICE [or CHOICE ...]`.", _policies),
    "Stacks": ("For `--stack`. `kc list stacks` says which are installed.", _stacks),
}


def vocabulary_page() -> str:
    """Every name there is, list by list."""
    parts = [
        "# Names",
        "Every name that a contract or a command may use. This page is made from the code by `make docs`; `kc list`\n"
        "prints the same lists.",
    ]
    for title, (text, make) in SECTIONS.items():
        parts += [f"## {title}", text, make()]
    return "\n\n".join(parts) + "\n"


def codes_page() -> str:
    """Every code with its example."""
    for name in ("language.parse_codes", "language.lint_codes"):
        importlib.import_module(f"kernel_contracts.{name}").register_all()
    importlib.import_module("kernel_contracts.contracts.codes")
    from kernel_contracts.language.diagnostics import errors_page

    return errors_page()


def readme_page() -> str:
    """The README with the counts of now."""
    from kernel_contracts.contracts.catalogue import standard_library
    from kernel_contracts.measurement.inputs.base import families
    from kernel_contracts.numerics.mutants import mutants
    from kernel_contracts.signatures import signatures
    from kernel_contracts.vocabulary import vocabulary

    library = standard_library(vocabulary())
    counts = {
        "contracts for": len(library),
        "operations": len({c.operation for c in library}),
        "input families": len(families()),
        "kinds of mutants": len(mutants()),
        "signatures": len(signatures()),
    }
    text = (REPOSITORY / "README.md").read_text("utf-8")
    for words, n in counts.items():
        text, found = re.subn(rf"\b\d+ {words}\b", f"{n} {words}", text)
        if found != 1:
            raise ValueError(f"README.md says `N {words}` {found} times; say it once")
    return text


def cheats_page() -> str:
    """The page with the table of all 44: the kernels that cheat, then those that fail without intent."""
    from kernel_contracts.casebook import cheat_kernels, control_kernels, fault_cases

    rows = [
        (c.number, c.name, c.kernel.__name__, c.class_id, c.signatures or ("none: nothing is gained",), c.how)
        for c in cheat_kernels()
    ]
    for control in control_kernels().values():
        number, _, name = control.name.partition(" ")
        if number.isdigit():
            rows.append(
                (int(number), name, control.kernel.__name__, control.class_id, control.signatures, "its values")
            )
    for number, case in ((40, fault_cases()["O16"]), (43, fault_cases()["O30"])):
        rows.append((number, f"case {case.id}", "faulty", case.class_id, case.signatures, "its values"))
    shown = [
        (str(n), name, f"`{kernel}`", class_id, _ticked(names) if "none" not in names[0] else names[0], how)
        for n, name, kernel, class_id, names, how in sorted(rows)
    ]
    made = table(("", "what it does", "kernel", "class", "signature", "found by"), shown)
    text = CHEATS.read_text("utf-8")
    return re.sub(
        r"<!-- table -->.*<!-- end -->", lambda _: f"<!-- table -->\n\n{made}\n\n<!-- end -->", text, flags=re.S
    )


def pages() -> dict[Path, str]:
    """Every page that is generated, in whole or in part, with its text."""
    return {
        REPOSITORY / "README.md": readme_page(),
        REFERENCE / "vocabulary.md": vocabulary_page(),
        REFERENCE / "errors.md": codes_page(),
        CHEATS: cheats_page(),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        changed = not path.exists() or path.read_text("utf-8") != text
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'wrote' if changed else 'kept '} {path.relative_to(REPOSITORY)}\n")
