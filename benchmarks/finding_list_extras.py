"""What array libraries do that a contract forbids, of stacks that are installed apart: an extra each, in no test run.

Exact answers as in `finding_list.py`: by ball arithmetic, in the fractions or by counting, apart from the measurement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import flint
import ml_dtypes
import numpy as np
from finding_list import (
    _A,
    LAST,
    NAN_INSIDE,
    PAST,
    TABLE,
    TENTHS,
    Known,
    _ball,
    _bf16,
    _erf_near_zero,
    _twice_rounded,
    f32,
)


def _nan_at_500() -> np.ndarray:
    row = np.zeros((1, 1000), np.float32)
    row[0, 500] = np.nan
    return row


def _tenths() -> float:
    return float(1_000_000 * Fraction(float(np.float32(0.1))))


def _small() -> float:
    """1 + 1e-9 - 1 in the numbers that fp64 has."""
    return float(1 + Fraction(1e-9) - 1)


def _fp8(x: float) -> float:
    """The nearest number of fp8_e4m3fn between 1/2 and 1, where they are 1/16 apart."""
    return float(Fraction(round(16 * Fraction(x)), 16))


def _fp8_subnormal(x: float) -> float:
    """The nearest number of fp8_e4m3fn below 2^-6, where they are 2^-9 apart, ties to even."""
    return float(Fraction(round(512 * Fraction(x)), 512))


def _rms(x: float) -> float:
    """A row of equal numbers over its root mean square, with the 1e-6 that the operation adds by itself."""
    return _ball(lambda x: x / (x * x + flint.arb(1e-6)).sqrt(), x)


ONES = (np.ones((1, 4096), np.float16), np.ones((4096, 1), np.float16))
_BETWEEN = 1 + 3 * 2.0**-9
"""Three quarters of the way from 1 to the next number of bf16."""


def _bf16_array(x: float) -> np.ndarray:
    return np.full((1, 1), x, ml_dtypes.bfloat16)


NAN_ANYWHERE = np.array([[np.nan, 1, 3], [1, np.nan, 3], [1, 3, np.nan]], np.float32)
_TINY_FP8 = np.full((2, 2), 2.0**-9, ml_dtypes.float8_e4m3fn)
_SQUARED = (np.array([[1 + 2.0**-10, -1]], np.float16), np.array([[1 + 2.0**-10], [1 + 2.0**-9]], np.float16))
"""The square of 1 + 2^-10, less what fp16 has nearest to it."""
_COLD = float(np.float32(-83.8825))
_LITTLE, _NEGATIVE = float(np.float32(0.00899872929)), float(np.float32(-0.0119359521))
_NARROWED = ("accumulator_narrowed", "operand_coerced", "partial_sums_narrowed", "arithmetic_narrowed")
_FOREIGN = ("crashed", "foreign_memory", "wrong_value")

OPENVINO: Sequence[Known] = (
    Known("S4", "fp16 models are computed in fp32", "openvino", "mul_chain", "C-CMP-01", ("rounding_skipped",),
          (np.array([0.0311], np.float16),), _twice_rounded, "fp16", 4),
    Known("S4", "A cast to bf16 and back is removed, and then longer arrays may end the process", "openvino",
          "cast_chain", "C-CMP-01", ("rounding_skipped", "crashed"), (f32(1.2345),),
          lambda: _bf16(Fraction(float(np.float32(1.2345)))), samples=4),
    Known("S11", "An index past the end is a row of zeros", "openvino", "gather", "C-EXC-02", ("zero_filled",),
          (TABLE, PAST), lambda: "an error", "fp32", 4),
    Known("S15", "A model that flushes leaves its thread flushing", "openvino@denormals-are-zero", "relu", "C-PRC-03",
          ("caller_state_changed",), (f32(1e-40),), lambda: float(np.float32(1e-40)), "fp32", 4),
    Known("S19", "A long sum is not as accurate as pairwise summation", "openvino", "sum", "C-ORD-01",
          ("order_exceeded",), (TENTHS,), _tenths, "fp32", 8),
    Known("S20", "TopK with k = 1, which stands for argmax, loses NaN", "openvino", "argmax", "C-EXC-01",
          ("nan_lost", "position_dependent"), (_nan_at_500(),), lambda: 500, "fp32", 16),
    Known("S20", "ReduceMax sees NaN in some places only", "openvino", "max", "C-EXC-01",
          ("position_dependent", "nan_lost"), (NAN_INSIDE,), lambda: math.nan, "fp32", 16),
    Known("S20", "Maximum(NaN, 1) is 1, Maximum(1, NaN) is NaN", "openvino", "maximum", "C-EXC-01",
          ("position_dependent", "nan_lost"), (f32(math.nan), f32(1.0)), lambda: math.nan, "fp32", 16),
    Known("S23", "erf is accurate absolutely, not near zero", "openvino", "erf", "C-PRC-02",
          ("cancelled", "wrong_value"), (np.full(32, -1.4e-7, np.float32),), partial(_erf_near_zero, np.float32),
          "fp32", 8),
    Known("N3", "Relu(NaN) is 0", "openvino", "relu", "C-EXC-01", ("nan_lost",), (f32(math.nan).reshape(1, 1),),
          lambda: math.nan, "fp32", 16),
    Known("N7", "A conversion to bf16 leaves even numbers as they are when it should round them up", "openvino",
          "cast_bf16", "C-CMP-03", ("wrong_value", "rounding_truncated"), (f32(_BETWEEN).reshape(1, 1),),
          lambda: _bf16(Fraction(_BETWEEN)), samples=8),
    Known("N7", "A quotient of bf16 is cut to an even number where an odd one is nearer", "openvino", "div", "C-CMP-03",
          ("wrong_value", "rounding_truncated"), (_bf16_array(189 / 64), _bf16_array(190 / 64)),
          lambda: _bf16(Fraction(189, 190)), "bf16", 8),
    Known("N8", "fp64 is taken, computed in fp32 and given back as fp64", "openvino", "matmul", "C-PRC-01",
          ("accumulator_narrowed", "operand_coerced", "partial_sums_narrowed", "arithmetic_narrowed"),
          (np.array([[1, 1e-9, -1]]), np.ones((3, 1))), _small, "fp64", 8),
    Known("N10", "A conversion to fp8 rounds twice, to fp16 first", "openvino", "cast_fp8_e4m3fn", "C-CMP-03",
          ("wrong_value",), (f32(0.7813114).reshape(1, 1),), lambda: _fp8(float(np.float32(0.7813114))), samples=8),
)  # fmt: skip

IREE: Sequence[Known] = (
    Known("S5", "A product of fp16 is added up in fp16", "iree", "matmul", "C-PRC-01", ("accumulator_narrowed",),
          ONES, lambda: 4096, "fp16", 8),
    Known("S9", "A product with a subnormal number is zero", "iree", "mul", "C-PRC-03",
          ("result_flushed", "input_flushed", "subnormals_mixed"), (f32(1e-40).reshape(1, 1), f32(1.0).reshape(1, 1)),
          lambda: float(np.float32(1e-40)), "fp32", 4),
    Known("S10", "a * b + c is contracted to one rounding", "iree", "multiply_add", "C-CMP-01",
          ("rounding_skipped",), (f32(_A), f32(_A), f32(-(1 + 2.0**-11))), lambda: 0.0, "fp32", 4),
    Known("S11", "A gather past the end is the last row", "iree", "gather", "C-EXC-02", ("clamped",), (TABLE, PAST),
          lambda: "an error", "fp32", 4),
    Known("S19", "A long sum is added from left to right", "iree", "sum", "C-ORD-01", ("order_exceeded",), (TENTHS,),
          _tenths, "fp32", 8),
    Known("N11", "A pool whose one window leaves elements over is not compiled", "iree", "max_pool", "C-CMP-03",
          ("raised",), (f32(5, 5, 0, 5, 5, 0).reshape(2, 3),), lambda: 5, "fp32", 8),
    Known("S22", "300 as int8 depends on how many there are", "iree", "cast_int8", "C-ORD-02", ("batch_dependent",),
          (np.full(32, 300, np.float32),), lambda: "each as alone"),
    Known("N12", "A number that rounds up to the least normal one of fp8 becomes zero", "iree", "cast_fp8_e4m3fn",
          "C-CMP-03", ("underflowed", "wrong_value"), (f32(0.0151).reshape(1, 1),),
          lambda: float(Fraction(round(512 * Fraction(float(np.float32(0.0151)))), 512)), samples=2),
    Known("N9", "A sort is done in the memory of its input", "iree", "sort", "C-ORD-02", ("input_mutated",),
          (f32(3, 1, 2).reshape(1, 3),), lambda: "x0 unchanged", "fp32", 3),
    Known("N9", "A scatter is done in the memory of its first input", "iree", "scatter", "C-ORD-02",
          ("input_mutated",), (TABLE, -TABLE[:1], LAST + 1), lambda: "x0 unchanged", "fp32", 3),
)  # fmt: skip

TINYGRAD: Sequence[Known] = (
    Known("S3", "A cast to bf16 and back is dropped by its own x86 encoder", "tinygrad@x86", "cast_chain", "C-CMP-01",
          ("rounding_skipped",), (f32(1.2345),), lambda: _bf16(Fraction(float(np.float32(1.2345)))), samples=4),
    Known("S6", "max sees NaN in the first place only", "tinygrad", "max", "C-EXC-01",
          ("position_dependent", "nan_lost"), (NAN_ANYWHERE,), lambda: math.nan, "fp32", 16),
    Known("S6", "argmax of a row that begins with NaN is a place past its end", "tinygrad", "argmax", "C-EXC-01",
          ("position_dependent", "nan_lost"), (np.full((1, 3), np.nan, np.float32),), lambda: 0, "fp32", 16),
    Known("S10", "a * b + c is contracted to one rounding", "tinygrad", "multiply_add", "C-CMP-01",
          ("rounding_skipped",), (f32(_A), f32(_A), f32(-(1 + 2.0**-11))), lambda: 0.0, "fp32", 4),
    Known("S11", "A gather past the end is a row of zeros", "tinygrad", "gather", "C-EXC-02", ("zero_filled",),
          (TABLE, PAST), lambda: "an error", "fp32", 4),
    Known("S23", "erf is accurate absolutely, not near zero", "tinygrad", "erf", "C-PRC-02",
          ("cancelled", "wrong_value"), (np.full(32, -1.4e-7, np.float32),), partial(_erf_near_zero, np.float32),
          "fp32", 8),
    Known("N3", "relu(NaN) is 0", "tinygrad", "relu", "C-EXC-01", ("nan_lost",), (f32(math.nan).reshape(1, 1),),
          lambda: math.nan, "fp32", 16),
    Known("N4", "exp is a power of 2 with a rounded exponent, dozens of units in the last place off", "tinygrad", "exp",
          "C-PRC-03", ("wrong_value",), (f32(_COLD).reshape(1, 1),), lambda: _ball(lambda x: x.exp(), _COLD), "fp32",
          8),
    Known("N8", "An RMS norm of fp64 is computed in fp32 and given back as fp64", "tinygrad", "rmsnorm", "C-PRC-01",
          (*_NARROWED, "wrong_value"), (np.full((1, 4), 0.1), np.ones(4)), partial(_rms, 0.1), "fp64", 8),
    Known("N12", "A copy of fp8 loses subnormal numbers", "tinygrad", "copy", "C-PRC-03", ("input_flushed",),
          (_TINY_FP8,), lambda: 2.0**-9, "fp8_e4m3fn", 4),
    Known("N13", "A conversion to fp8 loses what is below its least normal number", "tinygrad", "cast_fp8_e4m3fn",
          "C-PRC-03", ("result_flushed",), (f32(_LITTLE).reshape(1, 1),), partial(_fp8_subnormal, _LITTLE), samples=4),
    Known("N15", "Its own x86 encoder rounds products of fp16 to fp16 before they are added up", "tinygrad@x86",
          "matmul", "C-PRC-01", ("accumulator_narrowed",), _SQUARED, lambda: 2.0**-20, "fp16", 8),
)  # fmt: skip

TVM: Sequence[Known] = (
    Known("S3", "A cast to bf16 and back is removed", "tvm", "cast_chain", "C-CMP-01", ("rounding_skipped",),
          (f32(1.2345),), lambda: _bf16(Fraction(float(np.float32(1.2345)))), samples=4),
    Known("S6", "max sees NaN in the last place only", "tvm", "max", "C-EXC-01", ("position_dependent", "nan_lost"),
          (NAN_ANYWHERE,), lambda: math.nan, "fp32", 16),
    Known("S11", "A gather past the end is other memory, or the end of the process", "tvm", "gather", "C-EXC-02",
          _FOREIGN, (TABLE, PAST), lambda: "an error", "fp32", 4),
    Known("N13", "A conversion to fp8 does not give the nearest number below its least normal one", "tvm",
          "cast_fp8_e4m3fn", "C-CMP-03", ("wrong_value",), (f32(_NEGATIVE).reshape(1, 1),),
          partial(_fp8_subnormal, _NEGATIVE), samples=8),
    Known("N14", "A sum over no terms is never written", "tvm", "matmul", "C-CMP-03", ("unwritten_output",),
          (np.zeros((16, 0), np.float32), np.zeros((0, 16), np.float32)), lambda: 0, "fp32", 16),
)  # fmt: skip

EXTRAS: Sequence[Known] = (*OPENVINO, *IREE, *TINYGRAD, *TVM)
