"""What a check of a product found, and how much it could have found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from kernel_contracts.numerics.freivalds.quantum import Quantum
from kernel_contracts.numerics.freivalds.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class Fault:
    """One finding: a place, what is wrong there, and by how much."""

    name: str
    """What it is: `bit_flip`, `slice_dropped`, `scale_wrong` and so on; `wrong_value` where nothing more fits."""
    detail: str
    batch: tuple[int, ...]
    row: int
    column: int
    """The worst element of the row."""
    columns: int
    """Elements of the row beyond their bound."""
    got: float
    expected: float
    bound: float
    """Largest error of an honest product at that element."""
    rows: int = 1
    """Suspicious rows of this product in all."""


@dataclass(frozen=True, slots=True)
class ProductCheck:
    """The verdict on one product or batch of products."""

    ok: bool
    faults: tuple[Fault, ...]
    z: float
    """Largest residual over its honest standard deviation."""
    threshold: float
    """What z may be before rows are examined."""
    sensitivity: Sensitivity | None = field(compare=False, repr=False)
    """What the detection floor follows from; None for integers."""
    false_alarm: float
    """Bound on the probability of accusing an honest product."""
    missed: float
    """For integers, largest probability that a wrong row looks right; for real formats what `floor` says."""
    vectors: int
    block: int
    seed: int
    precision: str
    """Arithmetic of the check."""
    examined: int
    """Rows recomputed exactly."""
    cleared: int
    """Rows that looked suspicious and were right."""
    unexamined: int
    """Suspicious rows or special elements beyond the number that is looked at."""
    quantum: Quantum | None
    seconds: float
    dims: tuple[int, int, int]
    """m, K, n."""
    formats: Mapping[str, str] = field(default_factory=dict)
    limit: float = 0.0
    """What z may be before a row that stands out of the others is examined, at most `threshold`."""

    @property
    def floor(self) -> float:
        """Smallest error of a single element found with probability 0.99, over the output's root mean square."""
        return 0.0 if self.sensitivity is None else self.sensitivity.floor

    @property
    def output_rms(self) -> float:
        """Root mean square of the exact product, estimated from A and B."""
        return 0.0 if self.sensitivity is None else self.sensitivity.rms

    @property
    def floor_absolute(self) -> float:
        """The detection floor in units of the output."""
        return self.floor * self.output_rms

    def as_json(self) -> dict[str, Any]:
        """Strict JSON data; special numbers are strings."""
        record = asdict(replace(self, sensitivity=None)) | {"floor": self.floor, "output_rms": self.output_rms}
        del record["sensitivity"]
        plain: dict[str, Any] = _plain(record)
        return plain

    def __str__(self) -> str:
        m, k, n = self.dims
        if self.ok:
            return (
                f"{m}x{k}x{n} product conforms: z = {self.z:.2f} of {self.threshold:.2f}; a single error of "
                f"{self.floor:.2g} of the output's rms would have been found"
                + (
                    f"; {self.unexamined} suspicious rows or overflowed elements were not verified"
                    * bool(self.unexamined)
                )
            )
        return f"{m}x{k}x{n} product is wrong: {'; '.join(self.summary())}"

    def summary(self) -> list[str]:
        """One sentence for each kind of fault, the most frequent first, with its first instance."""
        kinds: dict[str, list[Fault]] = {}
        for fault in self.faults:
            kinds.setdefault(fault.name, []).append(fault)
        ordered = sorted(kinds.items(), key=lambda item: -len(item[1]))
        return [f"{name}: {group[0].detail}{_more(len(group))}" for name, group in ordered]

    @property
    def name(self) -> str:
        """The most frequent kind of fault; empty where there is none."""
        return self.summary()[0].partition(":")[0] if self.faults else ""


def _more(count: int) -> str:
    return f" (and {count - 1} more rows)" if count > 1 else ""


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
