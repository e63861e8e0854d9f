"""Number formats as data: precision, range, unit roundoff, least subnormal.

A binary floating-point format is fixed by its precision `p` (significant bits, the hidden one counted), its
largest and least normal exponents, and what it does past its largest finite number. Unit roundoff is u = 2^-p
(round to nearest; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 2.1).
Nothing here needs an array library; `numerics.rounding` rounds arrays to any of these formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["real", "int", "bool"]
Overflow = Literal["inf", "nan", "saturate"]


@dataclass(frozen=True, slots=True)
class Format:
    """A number format. For integers and bool, `precision` counts value bits and `emin` is unused."""

    name: str
    kind: Kind
    bits: int
    """Storage width in bits (tf32 is held in 32)."""
    precision: int
    """Significant bits p, the hidden bit counted."""
    emin: int
    """Least exponent of a normal number: least normal = 2^emin."""
    max_finite: float
    """Largest finite number."""
    overflow: Overflow = "inf"
    """What IEEE-style conversion gives past the largest finite number."""
    signed: bool = True
    storage: str = ""
    """The name under which NumPy or ml_dtypes holds it; empty where nothing does."""

    @property
    def u(self) -> float:
        """Unit roundoff 2^-p: largest relative error of rounding to nearest in the normal range."""
        return 2.0**-self.precision

    @property
    def eps(self) -> float:
        """Spacing of 1: 2^(1-p)."""
        return 2.0 ** (1 - self.precision)

    @property
    def least_normal(self) -> float:
        return 2.0**self.emin

    @property
    def least_subnormal(self) -> float:
        return 2.0 ** (self.emin - self.precision + 1)

    @property
    def overflow_threshold(self) -> float:
        """The least magnitude that rounds to nearest past `max_finite`: half a spacing beyond it."""
        top = 2.0 ** (_exponent(self.max_finite) - self.precision + 1)
        return self.max_finite + top / 2

    @property
    def is_real(self) -> bool:
        return self.kind == "real"

    @property
    def min_int(self) -> int:
        return -(2**self.precision) if self.signed else 0

    @property
    def max_int(self) -> int:
        return int(2**self.precision - 1)

    def __str__(self) -> str:
        return self.name


def _exponent(x: float) -> int:
    """floor(log2 |x|) of a finite nonzero number."""
    import math

    return math.frexp(x)[1] - 1


def _real(
    name: str, bits: int, p: int, emin: int, top: float, *, overflow: Overflow = "inf", storage: str = ""
) -> Format:
    return Format(name, "real", bits, p, emin, top, overflow, True, storage or name)


def _int(name: str, bits: int, *, signed: bool = True) -> Format:
    precision = bits - 1 if signed else bits
    return Format(name, "int", bits, precision, 0, float(2**precision - 1), "saturate", signed, name)


_ALL = (
    _real("fp64", 64, 53, -1022, (2 - 2.0**-52) * 2.0**1023, storage="float64"),
    _real("fp32", 32, 24, -126, (2 - 2.0**-23) * 2.0**127, storage="float32"),
    _real("tf32", 32, 11, -126, (2 - 2.0**-10) * 2.0**127, storage="float32"),
    _real("fp16", 16, 11, -14, 65504.0, storage="float16"),
    _real("bf16", 16, 8, -126, (2 - 2.0**-7) * 2.0**127, storage="bfloat16"),
    # OCP 8-bit Floating Point Specification (OFP8) revision 1.0, table 1; overflow of e4m3fn is NaN there.
    _real("fp8_e4m3fn", 8, 4, -6, 448.0, overflow="nan", storage="float8_e4m3fn"),
    _real("fp8_e5m2", 8, 3, -14, 57344.0, storage="float8_e5m2"),
    # The "fnuz" pair: no infinities, no negative zero, bias one larger.
    _real("fp8_e4m3fnuz", 8, 4, -7, 240.0, overflow="nan", storage="float8_e4m3fnuz"),
    _real("fp8_e5m2fnuz", 8, 3, -15, 57344.0, overflow="nan", storage="float8_e5m2fnuz"),
    _int("int8", 8),
    _int("int16", 16),
    _int("int32", 32),
    _int("int64", 64),
    _int("uint8", 8, signed=False),
    Format("bool", "bool", 8, 1, 0, 1.0, "saturate", False, "bool"),
)

FORMATS: dict[str, Format] = {f.name: f for f in _ALL}
"""Every format by the name the language uses."""

STORED: dict[str, Format] = {f.storage: f for f in FORMATS.values() if f.name != "tf32"}
"""The format of an array, by NumPy's name of its dtype; tf32 lies in float32, which is fp32."""

FP64, FP32, FP16, BF16 = FORMATS["fp64"], FORMATS["fp32"], FORMATS["fp16"], FORMATS["bf16"]
INT64, BOOL = FORMATS["int64"], FORMATS["bool"]


def accumulator(bits: int) -> Format:
    """A hypothetical accumulator with `bits` significant bits and the range of fp32.

    Some matrix units keep about 14 bits in a 32-bit register; this states such a format exactly.
    """
    if not 2 <= bits <= 53:
        raise ValueError(f"bits={bits}: an accumulator has 2 to 53 significant bits")
    return _real(f"acc{bits}", 32, bits, -126, (2 - 2.0 ** (1 - bits)) * 2.0**127, storage="float64")


def find(name: str) -> Format | None:
    """The format called `name`, `accN` included; None when there is none."""
    if name in FORMATS:
        return FORMATS[name]
    if name.startswith("acc") and name[3:].isdigit() and 2 <= int(name[3:]) <= 53:
        return accumulator(int(name[3:]))
    return None


def wider(a: Format, b: Format) -> Format:
    """The one with more significant bits (range breaks a tie)."""
    return max(a, b, key=lambda f: (f.precision, f.max_finite))
