"""What a page of the casebook is: a kernel whose verdict is known beforehand, and the contract that it is held to.

Requirement: this module is imported by files that run as kernels under test, so it imports nothing but plain data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT = 1 << 24
"""Product of all sizes, and the largest again, of one case in this process: small cases show as much."""

CONTRACTS = Path(__file__).parent / "contracts"


@dataclass(frozen=True, slots=True)
class FaultCase:
    """One real fault, the contract that it breaks and the defect that it must be given.

    It stands as `CASE` in a file of its own, beside the functions `faulty` and `sibling`. The sibling does the same
    job in the right way and must conform.
    """

    id: str
    file: str
    """The file that it stands in: `__file__`."""
    class_id: str
    dtypes: tuple[str, ...]
    """Empty: every choice of the contract."""
    signatures: tuple[str, ...]
    """The defects that the verdict may name: more than one where different inputs show different sides of it."""
    operation: str = ""
    """Of the standard library."""
    contract: str = ""
    """Otherwise FILE[:NAME] in the casebook's own folder of contracts."""
    samples: int | None = None
    limit: int = LIMIT
    alone: bool = False
    """Must run in a process of its own: what it does depends on the process, or spoils it."""
    needs: str = ""
    """A package that must be installed for it to run."""

    @property
    def module(self) -> str:
        return Path(self.file).stem

    @property
    def held_to(self) -> str:
        """What `assert_conforms` is told: an operation or a contract file."""
        return str(CONTRACTS / self.contract) if self.contract else self.operation

    @property
    def source(self) -> dict[str, Any]:
        """The same as keywords."""
        return _source(self.operation, self.contract)


@dataclass(frozen=True, slots=True)
class Control:
    """One kernel whose verdict is known: right in a way of its own, or wrong in a way that any judge must see.

    Stands in the tuple `CONTROLS` of a file in `controls`, or of the file of a case that has more to show.
    """

    name: str
    kernel: Callable[..., Any]
    class_id: str
    dtypes: tuple[str, ...]
    conforms: bool
    operation: str = ""
    contract: str = ""
    signatures: tuple[str, ...] = ()
    """The defects that the verdict may name; empty where any name will do."""
    samples: int | None = None
    limit: int = LIMIT
    alone: bool = False

    @property
    def source(self) -> dict[str, Any]:
        return _source(self.operation, self.contract)

    @property
    def target(self) -> str:
        return _target(self.kernel)


def _target(kernel: Callable[..., Any]) -> str:
    """What a user would type. Requirement: the kernel is a function at the top of a file."""
    return f"{kernel.__code__.co_filename}:{kernel.__name__}"


def _source(operation: str, contract: str) -> dict[str, Any]:
    return {"operation": operation or None, "contract": str(CONTRACTS / contract) if contract else None}


@dataclass(frozen=True, slots=True)
class Cheat:
    """One kernel that does not do its work, or tries to be judged by something else, and what comes of it.

    Stands in the tuple `CHEATS` of a file in `cheats`.
    """

    number: int
    """In the survey of cheats."""
    name: str
    kernel: Callable[..., Any]
    class_id: str
    dtypes: tuple[str, ...]
    signatures: tuple[str, ...]
    """The defects that the verdict may name; empty where the kernel is right and gains nothing by its cheat."""
    how: str
    """By which means it is found, or why there is nothing to gain."""
    operation: str = ""
    contract: str = ""
    note: str = ""
    """Words that the verdict's notes must hold."""
    forbid: tuple[str, ...] = ()
    """Functions that the check forbids."""
    samples: int = 12
    seed: int | None = 7
    """None leaves it to the system."""

    @property
    def conforms(self) -> bool:
        return not self.signatures

    @property
    def source(self) -> dict[str, Any]:
        return _source(self.operation, self.contract)

    @property
    def target(self) -> str:
        return _target(self.kernel)
