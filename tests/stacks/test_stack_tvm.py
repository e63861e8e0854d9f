"""TVM: its operations are right, its accumulator is what the variant says, and the contract tells the two apart."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import own_operations
import pytest

from kernel_contracts.api import check
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.stacks.base import find, stacks
from kernel_contracts.stacks.natives import natives
from kernel_contracts.stacks.tvm import ACCUMULATOR, STACK, TARGET, accumulator

needed = pytest.mark.skipif(not STACK.available(), reason=f"TVM is not installed: {STACK.install_hint()}")

KERNEL = """
import tvm
from tvm import te

def twice(x):
    a = te.placeholder(x.shape, x.dtype, name="a")
    b = te.compute(a.shape, lambda i: a[i] + a[i], name="b")
    made = tvm.runtime.empty(x.shape, x.dtype)
    tvm.compile(te.create_prim_func([a, b]), target="llvm")(x, made)
    return made
"""


own = functools.partial(own_operations.own, STACK)


def test_it_is_listed_with_its_variants_and_how_to_install_it() -> None:
    assert stacks()["tvm"] is STACK
    assert STACK.install_hint() == "run: pip install 'kernel-contracts[tvm]'"
    assert {"matmul", "softmax", "gather", "sum", "add", "cast_fp16"} <= natives("tvm").keys()
    assert STACK.variants["fp16-accumulator"] == {ACCUMULATOR: "float16"}


def test_an_accumulator_is_float32_at_least_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ACCUMULATOR, raising=False)
    wanted = {"float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64"}
    assert {d: accumulator(d) for d in wanted} == wanted
    monkeypatch.setenv(ACCUMULATOR, "float16")
    assert {accumulator(d) for d in wanted} == {"float16"}


@needed
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_its_own_operations_are_right(dtype: str) -> None:
    """Each answer within a few roundings of the same operation in float64; moves exactly."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    unit = 2.0 ** -{"float32": 23, "float16": 10, "bfloat16": 7, "float64": 52}[dtype]
    rng = np.random.default_rng(5)
    x, w, y = (rng.standard_normal(shape).astype(kind) for shape in ((5, 9), (9, 4), (3, 9)))
    index = np.array([4, 0, 4])
    wide, after = x.astype(np.float64), y.astype(np.float64)
    shifted = np.exp(wide - wide.max(-1, keepdims=True))
    added = wide.copy()
    np.add.at(added, index, after)
    centred = wide - wide.mean(-1, keepdims=True)
    layer = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 0.5) * after[0] + after[1]
    expected: dict[str, tuple[np.ndarray, Any]] = {
        "matmul": (own("matmul", x, w), wide @ w.astype(np.float64)),
        "sum": (own("sum", x), wide.sum(-1)),
        "mean": (own("mean", x), wide.mean(-1)),
        "variance": (own("variance", x), wide.var(-1)),
        "cumsum": (own("cumsum", x), wide.cumsum(-1)),
        "softmax": (own("softmax", x), shifted / shifted.sum(-1, keepdims=True)),
        "logsumexp": (own("logsumexp", x), np.log(np.exp(wide).sum(-1))),
        "layernorm": (own("layernorm", x, y[0], y[1], eps=0.5), layer),
        "exp": (own("exp", x), np.exp(wide)),
        "gelu_tanh": (
            own("gelu_tanh", x),
            wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))) / 2,
        ),
        "scale": (own("scale", x, s=0.75), wide * 0.75),
        "div": (own("div", x, x + kind.type(8)), wide / (x + kind.type(8)).astype(np.float64)),
        "scatter_add": (own("scatter_add", x, y, index), added),
    }
    for name, (given, wanted) in expected.items():
        assert given.dtype == kind, name
        off = np.abs(given.astype(np.float64) - wanted).max()
        assert off <= 16 * unit * max(1.0, np.abs(wanted).max()), f"{name} is off by {off}"
    for name, moved, exactly in (
        ("transpose", own("transpose", x), x.T),
        ("gather", own("gather", x, index), x[index]),
        ("max", own("max", x), x.max(-1)),
        ("pad", own("pad", x, before=2, after=1), np.pad(x, ((0, 0), (2, 1)))),
    ):
        assert moved.tobytes() == np.ascontiguousarray(exactly).tobytes(), name
    assert own("argmax", x).tolist() == wide.argmax(-1).tolist()


@needed
def test_a_kernel_of_ones_own_compiles_inside_the_call(tmp_path: Any) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    with Kernel(f"{tmp_path}/kernel.py:twice", stack="tvm", device="cpu") as kernel:
        result = kernel.call([ArrayIn("x", np.arange(5, dtype=np.float32))])
    assert result.outputs[0].tolist() == [0, 2, 4, 6, 8]


@needed
def test_a_narrow_accumulator_is_told_from_a_wide_one() -> None:
    """The same expression and the same contract; only the dtype of the accumulator differs."""
    found = {}
    for stack in ("tvm", "tvm@fp16-accumulator"):
        (result,) = check(operation="matmul", stack=stack, dtypes=["fp16"], samples=4, seed=1, classes=["C-PRC-01"])
        signature = result.finding.signature
        found[stack] = (result.verdict, signature.name if signature else "")
    assert found == {
        "tvm": (Verdict.CONFORMS, ""),
        "tvm@fp16-accumulator": (Verdict.VIOLATES, "accumulator_narrowed"),
    }


@needed
@pytest.mark.parametrize(("stack", "expected"), [("tvm", 4096.0), ("tvm@fp16-accumulator", 2048.0)])
def test_the_variant_reaches_the_kernel(stack: str, expected: float) -> None:
    """In fp16 one added to 2048 is lost: the sum of 4096 ones stays there."""
    ones = np.ones((1, 4096), np.float16)
    with Kernel(natives(stack)["matmul"], stack=stack) as kernel:
        result = kernel.call([ArrayIn("A", ones), ArrayIn("B", np.ascontiguousarray(ones.T))])
        told = kernel.load().fingerprint["stack"]["settings"]
    assert result.outputs[0].tolist() == [[expected]]
    assert told == dict(find(stack).environment)


@needed
def test_the_processor_there_is_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = STACK.fingerprint()["target"]
    monkeypatch.setenv(TARGET, "native")
    assert STACK.fingerprint()["target"] != plain
    assert "mcpu" in STACK.fingerprint()["target"]
