"""What real array libraries do that a contract forbids: how to see it, and what is right, worked out apart from us.

The exact values come from the definition of the operation, by ball arithmetic or in the integers, and from no part
of the measurement. A number such as S6 is that of a list of known behaviours; N marks what was found beside it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import flint
import ml_dtypes
import numpy as np

STUDY = Path(__file__).parents[1] / "studies" / "one_processor"
KERNELS = str(STUDY / "kernels.py")


@dataclass(frozen=True)
class Known:
    """One finding: the command that shows it, and a tiny call with its exact answer."""

    id: str
    what: str
    stack: str
    operation: str
    """Operation of the standard library."""
    class_id: str
    signatures: tuple[str, ...]
    """Any of these is the right name for it."""
    arrays: tuple[Any, ...]
    exact: Callable[[], Any]
    """The exact answer to the call on `arrays`, as a text or a number."""
    dtype: str = ""
    samples: int | None = None
    kernel: str = ""
    """Function of `kernels.py`; empty for the stack's own operation."""
    calls: int = 1
    """With more than one call, what counts is the number of different answers."""
    timeout: float = 30.0
    tries: int = 1
    """What shows now and then only is looked for with so many seeds."""

    def options(self) -> list[str]:
        """The arguments of `kc check`."""
        target = [f"{KERNELS}:{self.kernel}"] if self.kernel else []
        out = [*target, "--stack", self.stack, "--as", self.operation, "--class", self.class_id]
        out += ["--dtype", self.dtype] if self.dtype else []
        out += ["--samples", str(self.samples)] if self.samples else []
        return out + (["--timeout", f"{self.timeout:g}"] if self.timeout != 30.0 else [])


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def _ball(function: Callable[[Any], Any], x: float) -> float:
    """A function of one number by ball arithmetic with 200 bits, rounded once to double."""
    flint.ctx.prec = 200
    return float(function(flint.arb(x)).mid())


def _erf_near_zero(dtype: Any) -> float:
    return _ball(lambda x: x.erf(), float(np.array(-1.4e-7, np.float32).astype(dtype)))


def _bf16(x: Fraction) -> float:
    return float(np.float32(float(x)).astype(ml_dtypes.bfloat16))


def _fp16(x: Fraction) -> float:
    """The nearest half, ties to even, as the standard library of Python packs it."""
    return float(struct.unpack("<e", struct.pack("<e", float(x)))[0])


def _gelu_tanh(x: Any) -> Any:
    inner = (2 / flint.arb.pi()).sqrt() * (x + flint.arb(44715) / 1000000 * x**3)
    return x / 2 * (1 + inner.tanh())


def _twice_rounded() -> float:
    """0.0311 in fp16, times 1000 and rounded, times 3/4 and rounded."""
    return _fp16(Fraction(3, 4) * Fraction(_fp16(1000 * Fraction(float(np.float16(0.0311))))))


def _updates() -> tuple[Any, ...]:
    rng = np.random.default_rng(1)
    return (
        np.zeros((16, 1), np.float32),
        rng.normal(size=(200_000, 1)).astype(np.float32),
        rng.integers(0, 16, 200_000),
    )


def _wide_updates() -> tuple[Any, ...]:
    rng, shape = np.random.default_rng(1), (63_652, 4)
    index = rng.integers(0, 16, shape[0])
    return (np.zeros((16, 4)), rng.normal(size=shape) * 10.0 ** rng.integers(-20, 20, shape), index)


TABLE = np.arange(1, 11, dtype=np.float32).reshape(10, 1)
ROW = np.ascontiguousarray(TABLE.T)
PAST, LAST = np.array([10]), np.array([-1])
TENTHS = np.full((1, 1_000_000), 0.1, np.float32)
NAN_INSIDE = np.array([[1, np.nan, 3]], np.float32)
FEW = np.linspace(-3, 3, 64, dtype=np.float32)
_A = 1 + 2.0**-12

KNOWN: Sequence[Known] = (
    Known(
        "S1",
        "Compiled index_add gives other bits from call to call",
        "inductor@two-threads",
        "scatter_add",
        "C-ORD-02",
        ("run_dependent", "thread_dependent", "load_dependent"),
        _updates(),
        lambda: "one answer",
        "fp32",
        1,
        calls=20,
    ),
    Known(
        "S2",
        "index_put(accumulate=True) gives other bits from call to call",
        "torch@two-threads",
        "scatter_add",
        "C-ORD-02",
        ("run_dependent", "thread_dependent"),
        _updates(),
        lambda: "one answer",
        "fp32",
        3,
        kernel="index_put",
        calls=20,
    ),
    Known(
        "S3",
        "jit drops the rounding of an fp16 product",
        "jax_jit",
        "mul_chain",
        "C-CMP-01",
        ("rounding_skipped",),
        (np.array([0.0311], np.float16),),
        _twice_rounded,
        "fp16",
        4,
    ),
    Known(
        "S3",
        "inductor drops a cast to bf16 and back",
        "inductor",
        "cast_chain",
        "C-CMP-01",
        ("rounding_skipped",),
        (f32(1.2345),),
        lambda: _bf16(Fraction(float(np.float32(1.2345)))),
        samples=4,
    ),
    Known(
        "S4",
        "fp16 models are computed in fp32",
        "onnxruntime",
        "mul_chain",
        "C-CMP-01",
        ("rounding_skipped",),
        (np.array([0.0311], np.float16),),
        _twice_rounded,
        "fp16",
        4,
    ),
    Known(
        "S6",
        "ReduceMax sees NaN in some places only",
        "onnxruntime",
        "max",
        "C-EXC-01",
        ("position_dependent", "nan_lost"),
        (NAN_INSIDE,),
        lambda: math.nan,
        "fp32",
    ),
    Known(
        "S6",
        "ArgMax sees NaN in some places only",
        "onnxruntime",
        "argmax",
        "C-EXC-01",
        ("position_dependent", "nan_lost"),
        (NAN_INSIDE,),
        lambda: 1,
        "fp32",
    ),
    Known(
        "S7",
        "gloo's MAX sees NaN on some ranks only",
        "torch",
        "all_reduce_max",
        "C-EXC-01",
        ("position_dependent", "nan_lost"),
        (np.stack([np.full(8, np.nan, np.float32), np.full(8, 2, np.float32)]),),
        lambda: math.nan,
        "fp32",
    ),
    Known(
        "S8",
        "gloo adds fp16 step by step in fp16",
        "torch",
        "all_reduce",
        "C-ORD-03",
        ("accumulator_narrowed",),
        (np.repeat(np.array([[2048], [0.75], [0.75], [0.75]], np.float16), 16, axis=1),),
        lambda: _fp16(2048 + 3 * Fraction(3, 4)),
        "fp16",
        8,
        kernel="all_reduce_gloo",
    ),
    Known(
        "S9",
        "A product with a subnormal number is zero",
        "jax",
        "mul",
        "C-PRC-03",
        ("result_flushed", "input_flushed", "subnormals_mixed"),
        (f32(1e-40), f32(1.0)),
        lambda: float(np.float32(1e-40)),
        "fp32",
        4,
    ),
    Known(
        "S10",
        "jit contracts a * b + c to one rounding",
        "jax_jit",
        "multiply_add",
        "C-CMP-01",
        ("rounding_skipped",),
        (f32(_A), f32(_A), f32(-(1 + 2.0**-11))),
        lambda: 0.0,
        "fp32",
        4,
    ),
    Known(
        "S11",
        "table[index] past the end is the last row",
        "jax@x64",
        "embedding",
        "C-EXC-02",
        ("clamped",),
        (TABLE, PAST),
        lambda: "an error",
        "fp32",
    ),
    Known(
        "S11",
        "take past the end is NaN",
        "jax@x64",
        "gather",
        "C-EXC-02",
        ("wrong_value", "zero_filled"),
        (TABLE, PAST),
        lambda: "an error",
        "fp32",
    ),
    Known(
        "S11",
        "take past the end is other memory, or the end of the process",
        "mlx",
        "gather",
        "C-EXC-02",
        ("crashed", "foreign_memory", "wrong_value"),
        (TABLE, PAST),
        lambda: "an error",
        "fp32",
    ),
    Known(
        "S12",
        "index_select(-1) raises eagerly and wraps when compiled",
        "inductor",
        "index_select_strict",
        "C-EXC-02",
        ("wrapped",),
        (ROW, LAST),
        lambda: "an error",
        "fp32",
    ),
    Known(
        "S13",
        "GELU of one element differs from GELU of the batch",
        "torch",
        "gelu",
        "C-ORD-02",
        ("batch_dependent",),
        (FEW,),
        lambda: "each as alone",
        "fp32",
    ),
    Known(
        "S14",
        "A square root is not the nearest number",
        "torch",
        "sqrt",
        "C-CMP-03",
        ("wrong_value",),
        (np.arange(1, 4097, dtype=np.float32) / 512,),
        lambda: "all 4096 nearest",
        "fp32",
        4,
    ),
    Known(
        "S15",
        "A session that flushes leaves its thread flushing",
        "onnxruntime",
        "relu",
        "C-PRC-03",
        ("caller_state_changed",),
        (f32(1e-40),),
        lambda: float(np.float32(1e-40)),
        "fp32",
        4,
        kernel="relu_flushing",
    ),
    Known(
        "S18",
        "A gradient of an empty layer norm never ends, now and then",
        "mlx",
        "layernorm_backward",
        "C-CMP-03",
        ("hung",),
        (np.zeros((0, 8), np.float32), np.ones(8, np.float32), np.zeros((0, 8), np.float32)),
        lambda: "1000 answers",
        "fp32",
        timeout=15.0,
        tries=8,
    ),
    Known(
        "S19",
        "A long sum is not as accurate as pairwise summation",
        "onnxruntime",
        "sum",
        "C-ORD-01",
        ("order_exceeded",),
        (TENTHS,),
        lambda: float(1_000_000 * Fraction(float(np.float32(0.1)))),
        "fp32",
        8,
    ),
    Known(
        "S19",
        "A long sum is added from left to right",
        "mlx",
        "sum",
        "C-ORD-01",
        ("order_exceeded",),
        (TENTHS,),
        lambda: float(1_000_000 * Fraction(float(np.float32(0.1)))),
        "fp32",
        8,
    ),
    Known(
        "S21",
        "An infinity becomes 448 in fp8, and nothing else can be asked for",
        "torch",
        "cast_fp8_e4m3fn_nonsaturating",
        "C-EXC-01",
        ("nan_lost", "inf_lost"),
        (f32(np.inf).reshape(1, 1),),
        lambda: math.nan,
        "fp8_e4m3fn",
    ),
    Known(
        "S22",
        "300 as int8 depends on how many there are",
        "inductor",
        "cast_int8",
        "C-ORD-02",
        ("batch_dependent",),
        (np.full(32, 300, np.float32),),
        lambda: "each as alone",
    ),
    *(
        Known(
            "S23",
            "erf is accurate absolutely, not near zero",
            stack,
            "erf",
            "C-PRC-02",
            ("cancelled", "wrong_value"),
            (np.full(32, -1.4e-7, np.float32).astype(dtype),),
            partial(_erf_near_zero, dtype),
            name,
            8,
        )
        for stack, name, dtype in (
            ("mlx", "fp32", np.float32),
            ("inductor", "fp32", np.float32),
            ("torch", "bf16", ml_dtypes.bfloat16),
        )
    ),
    Known(
        "S24",
        "Sigmoid is 0 from -18 down",
        "onnxruntime",
        "silu",
        "C-CMP-01",
        ("cancelled", "wrong_value", "underflowed"),
        (f32(-20.0),),
        lambda: _ball(lambda x: x / (1 + (-x).exp()), -20.0),
        "fp32",
        4,
    ),
    Known(
        "N1",
        "standardize takes the variance as E[x^2] - E[x]^2",
        "jax",
        "layernorm",
        "C-PRC-02",
        ("cancelled",),
        (f32(10000, 10001, 10002, 10003).reshape(1, 4), np.ones(4, np.float32), np.zeros(4, np.float32)),
        lambda: _ball(lambda x: -1.5 / (flint.arb(1.25) + x).sqrt(), 1e-5),
        "fp32",
        4,
    ),
    Known(
        "N2",
        "Gelu in fp64 rounds its constants to fp32",
        "onnxruntime",
        "gelu_tanh",
        "C-CMP-01",
        ("wrong_value", "intermediate_narrowed"),
        (np.array([-1.0]),),
        lambda: _ball(_gelu_tanh, -1.0),
        "fp64",
        2,
    ),
    Known(
        "S17",
        "max in a fast-math loop loses NaN",
        "numba@fastmath",
        "max",
        "C-EXC-01",
        ("nan_lost", "position_dependent"),
        (NAN_INSIDE,),
        lambda: math.nan,
        "fp32",
    ),
    Known(
        "S17",
        "max of a parallel reduction loses NaN",
        "numba@parallel",
        "max",
        "C-EXC-01",
        ("nan_lost", "inf_for_nan", "position_dependent"),
        (NAN_INSIDE,),
        lambda: math.nan,
        "fp32",
    ),
    Known(
        "S17",
        "Additions of a parallel loop are lost",
        "numba@parallel",
        "scatter_add",
        "C-ORD-02",
        ("run_dependent", "load_dependent"),
        _updates(),
        lambda: "one answer",
        "fp32",
        2,
        calls=20,
    ),
    *(
        Known(
            "S11",
            "An index past the end reads other memory, or ends the process",
            stack,
            "gather",
            "C-EXC-02",
            ("crashed", "foreign_memory", "wrong_value"),
            (TABLE, np.array([2**31 - 1])),
            lambda: "an error",
            "fp32",
            4,
        )
        for stack in ("numba", "opencl")
    ),
    Known(
        "S11",
        "An index past the end is a row of zeros",
        "webgpu",
        "gather",
        "C-EXC-02",
        ("zero_filled",),
        (TABLE, PAST),
        lambda: "an error",
        "fp32",
        4,
    ),
    *(
        Known(
            "N3",
            f"{function}(NaN, 0) is 0",
            stack,
            "relu",
            "C-EXC-01",
            ("nan_lost",),
            (f32(math.nan).reshape(1, 1),),
            lambda: math.nan,
            "fp32",
            16,
        )
        for function, stack in (("fmax", "opencl"), ("max", "webgpu"))
    ),
    Known(
        "S9",
        "A product with a subnormal number is zero under -cl-denorms-are-zero",
        "opencl@denorms-are-zero",
        "mul",
        "C-PRC-03",
        ("result_flushed", "input_flushed"),
        (f32(1e-40).reshape(1, 1), f32(1.0).reshape(1, 1)),
        lambda: float(np.float32(1e-40)),
        "fp32",
        8,
    ),
    Known(
        "S9",
        "exp flushes and division does not, so softmax keeps some subnormal weights only",
        "webgpu",
        "softmax",
        "C-PRC-03",
        ("subnormals_mixed", "result_flushed"),
        (f32(0, 0, 0, -88).reshape(1, 4),),
        lambda: _ball(lambda x: x.exp() / (3 + x.exp()), -88.0),
        "fp32",
        8,
    ),
    Known(
        "N4",
        "exp is up to 16 units in the last place off",
        "webgpu",
        "exp",
        "C-PRC-03",
        ("wrong_value",),
        (f32(-17.384041).reshape(1, 1),),
        lambda: _ball(lambda x: x.exp(), float(np.float32(-17.384041))),
        "fp32",
        8,
    ),
    Known(
        "N5",
        "A maximum compiled with -ffast-math loses NaN",
        "c@fast-math",
        "max",
        "C-EXC-01",
        ("nan_lost", "position_dependent"),
        (NAN_INSIDE,),
        lambda: math.nan,
        "fp32",
        16,
    ),
    Known(
        "N6",
        "ScatterND with reduction=add gives other bits from call to call",
        "onnxruntime",
        "scatter_add",
        "C-ORD-02",
        ("run_dependent", "load_dependent"),
        _wide_updates(),
        lambda: "one answer",
        "fp64",
        3,
        calls=100,
        tries=4,
    ),
)

ABSENT = {
    "S16": "Triton's interpreter takes bf16 for integers: it is no device, so that what it does is no evidence",
}
"""Behaviours of the list that nothing here shows, and why."""
