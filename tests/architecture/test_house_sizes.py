"""A module says one thing in at most 300 lines, a function in at most 60. Exceptions are listed and may only shrink."""

from __future__ import annotations

import ast
from pathlib import Path

import house

LINES, FUNCTION_LINES = 300, 60

LONG_MODULES = {
    "language/syntax.py": 405  # the syntax tree: one record for each form of the grammar
}
LONG_FUNCTIONS: dict[str, int] = {}

BROAD_EXCEPTS = {
    # A kernel is not trusted: whatever it raises, at import, in a call or from its own error texts, is evidence.
    "measurement/conduct.py": 3,
    "measurement/foreign.py": 1,
    "measurement/process.py": 2,
    "measurement/schedule_space.py": 1,
    "measurement/supervise.py": 1,
    "measurement/target.py": 2,
    "measurement/worker.py": 3,
    # A library that is installed may fail to start in any way it likes: that is what is asked.
    "cli/inspect.py": 1,
    "stacks/conformance.py": 1,
    "stacks/onnxruntime.py": 1,
    # The last resort of the command line tells an error of our own; a pool is shut down on the way out.
    "cli/app.py": 1,
    "cli/running.py": 1,
    # A fault of ours in one cell of a run is told in that cell and stops no other.
    "conformance/workers.py": 1,
    # A reference in Python is the author's code: what it raises becomes a message with a place.
    "contracts/tracing.py": 1,
    # A size over an integer parameter has no largest value.
    "contracts/soundness.py": 1,
}

TALKERS = ("cli", "report")
"""Parts that write to the terminal."""


def lengths(module: house.Module) -> dict[str, int]:
    """Lines of each function, by its qualified place."""
    functions = (n for n in ast.walk(module.tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return {f"{module}:{f.name}": (f.end_lineno or f.lineno) - f.lineno + 1 for f in functions}


def broad(module: house.Module) -> int:
    """Handlers that catch everything."""
    handlers = (n for n in ast.walk(module.tree) if isinstance(n, ast.ExceptHandler))
    return sum(h.type is None or ast.unparse(h.type) in ("Exception", "BaseException") for h in handlers)


def prints(module: house.Module) -> list[int]:
    """Lines that call `print`."""
    calls = (n for n in ast.walk(module.tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    return [c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


def test_modules_are_short() -> None:
    found = {str(m): n for m in house.modules() if (n := len(m.text.splitlines())) > LINES}
    assert not (wrong := house.growth(found, LONG_MODULES, "lines")), "\n".join(wrong)


def test_functions_are_short() -> None:
    found = {k: n for m in house.modules() for k, n in lengths(m).items() if n > FUNCTION_LINES}
    assert not (wrong := house.growth(found, LONG_FUNCTIONS, "lines")), "\n".join(wrong)


def test_only_listed_places_catch_everything() -> None:
    found = {str(m): n for m in house.modules() if (n := broad(m))}
    assert not (wrong := house.growth(found, BROAD_EXCEPTS, "broad excepts")), "\n".join(wrong)


def test_only_the_command_line_and_reports_print() -> None:
    found = [f"{m}:{line}" for m in house.modules() if m.part not in TALKERS for line in prints(m)]
    assert not found, ", ".join(found)


def test_every_module_has_a_docstring() -> None:
    found = [str(m) for m in house.modules() if m.text.strip() and not ast.get_docstring(m.tree)]
    assert not found, ", ".join(found)


def test_the_checks_can_fail() -> None:
    body = "\n".join(["    x = 1"] * FUNCTION_LINES)
    planted = house.read(Path("api.py"), f"def f():\n{body}\ntry:\n    print(1)\nexcept Exception:\n    pass\n")
    assert lengths(planted) == {"api.py:f": FUNCTION_LINES + 1}
    assert broad(planted) == 1
    assert prints(planted) == [FUNCTION_LINES + 3]
    assert house.growth({"a": 3}, {"a": 2}, "lines") == ["a: lines 3, allowed 2"]
    assert house.growth({}, {"a": 2}, "lines") == ["a: lines 0; take the list down from 2"]
