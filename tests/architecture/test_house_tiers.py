"""Imports run down the tiers only, and nobody inside imports the front door."""

from __future__ import annotations

from pathlib import Path

import house
import pytest

EXCEPTIONS: set[tuple[str, str]] = set()
"""(module, imported part) pairs that run upwards. This list may only shrink."""

LIBRARIES = {
    "torch", "jax", "tensorflow", "cupy", "triton", "numba", "onnxruntime", "pandas", "scipy", "tinygrad", "tvm",
}  # fmt: skip
"""Never imported at the top of a module: whoever needs one imports it inside a function."""

ARRAY_FREE = ("errors", "formats", "language", "classes", "signatures")
"""Parts that are plain data and decisions: they name no array library at all."""


def upward(module: house.Module) -> list[str]:
    """Imports of a higher tier."""
    found = []
    for line, name in house.imports(module):
        part = name.split(".")[1] if name.startswith(f"{house.NAME}.") else ""
        if part and house.tier(part) > house.tier(module.part) and (str(module), part) not in EXCEPTIONS:
            found.append(f"{module}:{line} (tier {house.tier(module.part)}) imports {name} (tier {house.tier(part)})")
    return found


def test_imports_run_down_the_tiers() -> None:
    found = [sentence for m in house.modules() if str(m) != "__init__.py" for sentence in upward(m)]
    assert not found, "\n".join(found)


def test_no_exception_is_stale() -> None:
    used = {(str(m), n.split(".")[1]) for m in house.modules() for _, n in house.imports(m) if n.count(".")}
    assert used >= EXCEPTIONS


def test_every_tier_names_something_that_exists() -> None:
    parts = {m.part for m in house.modules()}
    assert set(house.TIERS) - parts == set()


def test_every_folder_has_a_tier() -> None:
    folders = {m.part for m in house.modules() if len(m.path.parts) > 1}
    assert folders - set(house.TIERS) == set()


def test_nobody_imports_the_root() -> None:
    found = [f"{m}:{line}" for m in house.modules() for line, name in house.imports(m) if name == house.NAME]
    assert not found, f"import the module that defines the name: {', '.join(found)}"


def test_imports_are_absolute() -> None:
    found = [f"{m}:{line} {name}" for m in house.modules() for line, name in house.imports(m) if name.startswith(".")]
    assert not found, ", ".join(found)


def test_no_framework_is_imported_at_the_top_of_a_module() -> None:
    found = [
        f"{m}:{line} {name}"
        for m in house.modules()
        for line, name in house.top_level(m)
        if name.split(".")[0] in LIBRARIES
    ]
    assert not found, ", ".join(found)


@pytest.mark.parametrize("part", ARRAY_FREE)
def test_parts_that_decide_name_no_array_library(part: str) -> None:
    arrays = LIBRARIES | {"numpy", "ml_dtypes"}
    found = [
        f"{m}:{line} {name}"
        for m in house.modules()
        if m.part == part
        for line, name in house.imports(m)
        if name.split(".")[0] in arrays
    ]
    assert not found, ", ".join(found)


def test_the_language_knows_no_contract_class() -> None:
    """Names of operators, signatures and classes reach the language as a table."""
    found = [
        f"{m}:{line} {n}"
        for m in house.modules()
        if m.part == "language"
        for line, n in house.imports(m)
        if ".numerics" in n
    ]
    assert not found, ", ".join(found)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("formats.py", "from kernel_contracts.language import syntax"),
        ("numerics/rounding.py", "def f():\n    from kernel_contracts.contracts.model import Bound"),
        ("classes/base.py", "import kernel_contracts.measurement.session"),
        (
            "stacks/numpy.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from kernel_contracts import api",
        ),
    ],
)
def test_the_check_of_the_tiers_can_fail(path: str, text: str) -> None:
    assert len(upward(house.read(Path(path), text))) == 1


def test_the_check_of_the_root_can_fail() -> None:
    planted = house.read(Path("api.py"), "from kernel_contracts import check")
    assert [name for _, name in house.imports(planted)] == [house.NAME]
