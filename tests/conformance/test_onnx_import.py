"""An ONNX graph becomes steps that compute what ONNX Runtime computes from the whole file, or is refused by name."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from model_steps import played
from onnx_graphs import Arrays, by_runtime, node, write

from kernel_contracts.conformance.model_file import Model, load
from kernel_contracts.conformance.model_moves import MOVES
from kernel_contracts.conformance.onnx_import import reading
from kernel_contracts.conformance.onnx_import.importing import import_onnx
from kernel_contracts.errors import UsageError

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from kc import kc, one_sentence


def draw(*shape: int, seed: int = 1) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


X = draw(2, 5, 6)
W, V, B, G = draw(6, 4, seed=2), draw(2, 6, 3, seed=3), draw(4, seed=4), draw(6, seed=5)
INTS = np.array([[1, -1, 0], [4, 2, 2]])
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])


def i64(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def f32(value: float) -> NDArray[np.float32]:
    return np.array(value, np.float32)


def compared(folder: Path, nodes: Sequence[Any], outputs: str, constants: Arrays, inputs: Arrays, **how: Any) -> Model:
    """The imported model, after its outputs were held against those of ONNX Runtime running the file."""
    path = write(folder / "g.onnx", nodes, inputs, outputs.split(), constants, **how)
    model = import_onnx(path, inputs)
    for ours, theirs in zip(played(model), by_runtime(path, inputs), strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)
    return model


GELU = [
    node("Div", "x root", "d"), node("Erf", "d", "e"), node("Add", "e one", "a"), node("Mul", "x a", "m"),
    node("Mul", "m half", "y"),
]  # fmt: skip
GELU_BY_PRODUCT = [
    node("Mul", "x half", "h"), node("Mul", "x inverse", "d"), node("Erf", "d", "e"), node("Add", "one e", "a"),
    node("Mul", "h a", "y"),
]  # fmt: skip
NORM = [
    node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "d"), node("Pow", "d two", "s"),
    node("ReduceMean", "s", "spread", axes=[-1]), node("Add", "spread eps", "t"), node("Sqrt", "t", "r"),
    node("Div", "d r", "q"), node("Mul", "q gamma", "g"), node("Add", "g beta", "y"),
]  # fmt: skip
CONSTANTS = {
    "root": f32(math.sqrt(2)), "inverse": f32(math.sqrt(0.5)), "one": f32(1), "half": f32(0.5), "two": f32(2),
    "eps": f32(1e-5), "gamma": G, "beta": draw(6, seed=9), "w": W, "v": V, "b": B, "vector": G, "minus": f32(-3),
    "third": f32(1 / 3), "big": f32(5000), "low": f32(-0.5), "high": f32(0.75), "last": i64(-1), "middle": i64(1),
    "both": i64(1, 2), "wide": i64(2, 5, 6), "flat": i64(0, -1), "table": draw(5, 7, seed=6), "three": i64(1, 4, 1),
    "starts": i64(-1, 1), "ends": i64(-1000, 4), "axes": i64(2, 1), "steps": i64(-2, 1), "lone": f32(0.5),
    "place": np.array(1), "image": draw(3, 2, 3, 3, seed=7), "shift": draw(3, seed=8), "hole": f32(-1e9),
    "pairs": i64(2, 4), "far": i64(-100),
}  # fmt: skip

CASES: dict[str, tuple[list[Any], list[str]]] = {
    "linear": ([node("MatMul", "x w", "p"), node("Add", "b p", "y")], ["linear"]),
    "product": ([node("MatMul", "x w", "y")], ["matmul"]),
    "batch": ([node("MatMul", "x v", "y")], ["batched_matmul"]),
    "gemm": ([node("Flatten", "x", "f", axis=2), node("Gemm", "f w b", "y")], ["linear"]),
    "gemm without a bias": ([node("Flatten", "x", "f", axis=-1), node("Gemm", "f w", "y")], ["matmul"]),
    "bias that is a matrix": ([node("MatMul", "x w", "p"), node("Add", "p p", "y")], ["matmul", "add"]),
    "gelu": ([node("Gelu", "x", "y")], ["gelu"]),
    "gelu by tanh": ([node("Gelu", "x", "y", approximate="tanh")], ["gelu_tanh"]),
    "gelu in parts": (GELU, ["gelu"]),
    "gelu in other parts": (GELU_BY_PRODUCT, ["gelu"]),
    "silu": ([node("Sigmoid", "x", "s"), node("Mul", "s x", "y")], ["silu"]),
    "relu, exp": ([node("Exp", "x", "e"), node("Relu", "e", "y")], ["exp", "relu"]),
    "layernorm": ([node("LayerNormalization", "x gamma beta", "y", epsilon=1e-12)], ["layernorm"]),
    "layernorm without a shift": ([node("LayerNormalization", "x gamma", "y")], ["layernorm"]),
    "softmax": ([node("Softmax", "x", "y")], ["softmax"]),
    "softmax of columns": ([node("Softmax", "x", "y", axis=1)], ["softmax"]),
    "log softmax": ([node("LogSoftmax", "x", "y")], ["log_softmax"]),
    "sum of two axes": ([node("ReduceSum", "x both", "y", keepdims=0)], ["sum"]),
    "sum of all": ([node("ReduceSum", "x", "y", keepdims=0)], ["sum"]),
    "mean of columns": ([node("ReduceMean", "x middle", "y")], ["mean"]),
    "norm": ([node("ReduceL2", "x last", "y")], ["norm"]),
    "largest": ([node("ReduceMax", "x last", "y")], ["max"]),
    "scale": ([node("Mul", "third x", "y")], ["scale"]),
    "factor out of range": ([node("Mul", "x big", "y")], ["mul"]),
    "difference": ([node("Sub", "x vector", "a"), node("Sub", "vector a", "y")], ["add", "mul", "add"]),
    "opposite": ([node("Neg", "x", "y")], ["mul"]),
    "quotient": ([node("Exp", "x", "e"), node("Div", "x e", "y")], ["exp", "div"]),
    "square": ([node("Pow", "x two", "y")], ["mul"]),
    "limits": ([node("Clip", "x low high", "y")], ["clamp"]),
    "lower limit": ([node("Clip", "x low", "y")], ["maximum"]),
    "upper limit": ([node("Clip", "x - high", "y")], ["minimum"]),
    "larger of three": ([node("Max", "x vector low", "y")], ["maximum", "maximum"]),
    "shapes": (
        [node("Unsqueeze", "x last", "u"), node("Squeeze", "u last", "s"), node("Reshape", "s flat", "f"),
         node("Reshape", "f wide", "g"), node("Transpose", "g", "y", perm=[2, 0, 1])], [],
    ),
    "shape of what is computed": (
        [node("Relu", "x", "r"), node("Shape", "r", "s"), node("Expand", "vector s", "e"), node("Add", "r e", "y")],
        ["relu", "add"],
    ),
    "embedding": ([node("Gather", "table ids", "g"), node("Relu", "g", "y")], ["embedding", "relu"]),
    "one token": ([node("Gather", "x place", "y", axis=1)], ["gather"]),
    "columns": ([node("Gather", "x three", "y", axis=-1)], ["gather"]),
    "slice": ([node("Slice", "x starts ends axes steps", "y")], ["gather", "gather"]),
    "slice of nothing": ([node("Slice", "x middle far last", "y")], ["gather"]),
    "slice from before the first": ([node("Slice", "x far middle last", "y")], ["gather"]),
    "split": ([node("Split", "x pairs", "a c", axis=2), node("Concat", "c a", "y", axis=2)], ["gather", "gather"]),
    "mask": (
        [node("Cast", "mask", "m", to=9), node("Unsqueeze", "m last", "n"), node("Where", "n x hole", "y")], [],
    ),
    "mean of the words": (
        [node("Cast", "mask", "m", to=1), node("Unsqueeze", "m last", "n"), node("Mul", "x n", "p"),
         node("ReduceSum", "p middle", "s", keepdims=0), node("ReduceSum", "n middle", "c", keepdims=0),
         node("Div", "s c", "y")], ["mul", "sum", "sum", "div"],
    ),
    "nothing is dropped": ([node("Dropout", "x", "d"), node("Identity", "d", "i"), node("Relu", "i", "y")], ["relu"]),
    "what no output needs": ([node("Tanh", "x", "t"), node("Relu", "x", "y")], ["relu"]),
}  # fmt: skip
INPUTS = {"x": X, "ids": INTS, "mask": MASK}


@pytest.mark.parametrize("name", CASES)
def test_a_graph_computes_what_the_runtime_computes(name: str, tmp_path: Path) -> None:
    nodes, operations = CASES[name]
    model = compared(tmp_path, nodes, "y", CONSTANTS, INPUTS)
    assert [s.operation for s in model.steps if s.operation not in MOVES] == operations


def test_a_graph_without_fixed_sizes_takes_those_of_its_inputs(tmp_path: Path) -> None:
    nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "y")]
    assert compared(tmp_path, nodes, "y", CONSTANTS, INPUTS, sizes=False).steps


@pytest.mark.parametrize("opset", [13, 17])
def test_older_operator_sets_are_read(opset: int, tmp_path: Path) -> None:
    model = compared(tmp_path, NORM, "y", CONSTANTS, INPUTS, opset=opset)
    assert [s.operation for s in model.steps if s.operation not in MOVES] == ["layernorm"]
    assert next(s for s in model.steps if s.operation == "layernorm").parameters == {"eps": 1e-5}


def test_an_image_is_convolved(tmp_path: Path) -> None:
    image = {"x": draw(2, 2, 7, 7)}
    nodes = [
        node("Conv", "x image shift", "c", strides=[2, 2], pads=[1, 1, 1, 1]), node("GlobalAveragePool", "c", "y"),
    ]  # fmt: skip
    model = compared(tmp_path, nodes, "y", CONSTANTS, image)
    assert [s.operation for s in model.steps if s.operation not in MOVES] == ["conv2d", "add", "mean"]


def test_outputs_keep_their_names_and_may_be_used_further(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "y"), node("Exp", "y", "z"), node("Identity", "z", "same")]
    model = compared(tmp_path, nodes, "y z same", CONSTANTS, INPUTS)
    assert model.outputs == ("y", "z", "same")


def test_in_fp16_nodes_that_round_between_stay_apart(tmp_path: Path) -> None:
    """The library's linear layer rounds once; a product and a sum in fp16 round twice."""
    half = {"x": X.astype(np.float16)}
    nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "y")]
    path = write(tmp_path / "g.onnx", nodes, half, ["y"], {"w": W.astype(np.float16), "b": B.astype(np.float16)})
    steps = import_onnx(path, half).steps
    assert [s.operation for s in steps if s.operation not in MOVES] == ["matmul", "add"]


def test_a_constant_that_is_not_the_nearest_is_no_gelu(tmp_path: Path) -> None:
    model = compared(tmp_path, GELU, "y", {**CONSTANTS, "root": f32(1.4142)}, INPUTS)
    assert "gelu" not in [s.operation for s in model.steps]


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([node("Tanh", "x", "y")], r"node /y \(Tanh\) has no operation of the standard library"),
        ([node("Pow", "x third", "y")], r"node /y \(Pow\) has no operation"),
        ([node("CumSum", "x place", "y")], r"node /y \(CumSum\) has no operation"),
        ([node("Cast", "x", "y", to=11)], "turns float32 into float64"),
        ([node("Gather", "x big_index", "y")], "asks for an index outside of 2 rows"),
        ([node("Gemm", "table table", "y", transB=1, alpha=2.0)], "scales its product"),
        ([node("LayerNormalization", "x gamma beta", "y mean")], "gives its mean"),
        ([node("MatMul", "x vector", "y")], "multiplies with a vector"),
        ([node("Less", "x vector", "c"), node("Where", "c x vector", "y")], r"/c \(Less\) has no operation"),
        ([node("ArgMax", "x", "i"), node("Gather", "table i", "y")], r"/i \(ArgMax\) has no operation"),
    ],
)
def test_what_has_no_operation_is_refused_by_name(nodes: list[Any], says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "g.onnx", nodes, INPUTS, ["y"], {**CONSTANTS, "big_index": i64(2)})
    with pytest.raises(UsageError, match=says):
        import_onnx(path, INPUTS)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, r"needs its inputs as arrays of a .npz file, --inputs FILE.npz; it takes x float32\[2, 5, 6\]"),
        ({"x": X, "z": X}, "has no input z"),
        ({"x": X.astype(np.float64)}, "the input x is float64"),
        ({"x": X[:1]}, r"the input x is float32\[1, 5, 6\]"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(given: Arrays, says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "g.onnx", [node("Relu", "x", "y")], {"x": X}, ["y"])
    with pytest.raises(UsageError, match=says):
        import_onnx(path, given)


def test_files_that_are_no_graphs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no graph at all")
    old = write(tmp_path / "old.onnx", [node("Relu", "x", "y")], {"x": X}, ["y"], opset=11)
    for path, says in ((tmp_path / "bad.onnx", "is not a valid ONNX file"), (old, "13 is the oldest"),
                       (tmp_path / "gone.onnx", "cannot read")):  # fmt: skip
        with pytest.raises(UsageError, match=says):
            import_onnx(path, {})


def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "installed", lambda module: module != "onnx")
    with pytest.raises(UsageError, match=r"pip install 'kernel-contracts\[onnxruntime\]'"):
        import_onnx(tmp_path / "m.onnx", {})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    nodes = [node("MatMul", "x w", "p"), node("Add", "p b", "h"), node("Softmax", "h", "y")]
    np.savez("in.npz", x=X)
    return write(tmp_path / "m.onnx", nodes, {"x": X}, ["y"], CONSTANTS)


def test_the_command_runs_a_graph_on_two_stacks(file: Path) -> None:
    ended = kc("model", "m.onnx", "--inputs", "in.npz", "--stacks", "numpy,onnxruntime", "--json", "-")
    (found,) = ended.lines
    assert ended.status == 0
    assert [s["name"] for s in found["steps"]] == ["/h", "/y"]
    assert [s["operation"] for s in found["steps"]] == ["linear", "softmax"]
    assert found["outputs"]["y"]["relative"] < 1e-6


def test_the_command_writes_the_model_as_data(file: Path) -> None:
    ended = kc("model", "m.onnx", "--inputs", "in.npz", "-o", "m.json")
    assert (ended.status, ended.out) == (0, "m.json: 4 steps, 3 arrays\n")
    (again,) = played(load(Path("m.json")))
    np.testing.assert_allclose(again, by_runtime(file, {"x": X})[0], rtol=1e-5)
    assert json.loads(Path("m.json").read_text("utf-8"))["name"] == "small"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("m.onnx", "-o", "m.json"), "needs its inputs as arrays"),
        (("m.onnx", "--inputs", "gone.npz", "-o", "m.json"), "cannot read the arrays gone.npz"),
        (("m.onnx", "--inputs", "m.onnx", "-o", "m.json"), "m.onnx is not a .npz file"),
        (("m.onnx", "--inputs", "in.npz", "-o", "m.txt"), "name a .json file"),
        (("m.json", "--inputs", "in.npz"), "--inputs is for an .onnx file"),
    ],
)
def test_what_the_command_cannot_do_is_said_in_one_sentence(file: Path, arguments: tuple[str, ...], says: str) -> None:
    ended = kc("model", *arguments)
    assert ended.status == 2
    assert says in one_sentence(ended)
