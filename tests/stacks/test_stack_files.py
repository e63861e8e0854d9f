"""Kernel files as targets, by the example of `.onnx`: found by name or by order, refused in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_contracts.api import check
from kernel_contracts.checking import Result
from kernel_contracts.contracts.evidence import Outcome, Verdict
from kernel_contracts.errors import TargetError, UsageError
from kernel_contracts.measurement.calls import ArrayIn, Scope, Tensor
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.measurement.scoping import scope_of
from kernel_contracts.measurement.target import parse

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
FLOAT, FLOAT16, INT64 = 1, 10, 7


def model(path: Path, nodes: list[Any], inputs: dict[str, tuple[int, int]], outputs: dict[str, tuple[int, int]]) -> str:
    """Saves a model; inputs and outputs are name -> (type, rank)."""
    helper = onnx.helper
    given, made = (
        [helper.make_tensor_value_info(n, type_, [None] * rank) for n, (type_, rank) in values.items()]
        for values in (inputs, outputs)
    )
    graph = helper.make_graph(nodes, "kernel", given, made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), str(path))
    return str(path)


def gelu(path: Path, x: str = "x", y: str = "y", approximate: str = "none") -> str:
    node = onnx.helper.make_node("Gelu", [x], [y], approximate=approximate)
    return model(path, [node], {x: (FLOAT, 1)}, {y: (FLOAT, 1)})


def shapes(target: str, operation: str = "gelu", **options: Any) -> list[Result]:
    return check(target, operation, stack="onnxruntime", classes=["C-CMP-03"], samples=4, seed=1, **options)


@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("input_1", "output_1")])
def test_a_model_is_a_kernel_in_its_own_formats(x: str, y: str, tmp_path: Path) -> None:
    results = shapes(gelu(tmp_path / "m.onnx", x, y))
    assert [(r.bound.dtypes["P"], r.verdict) for r in results] == [("fp32", Verdict.CONFORMS)]
    assert results[0].kernel is not None
    assert results[0].kernel.formats == {"fp32"}
    assert len(results[0].kernel.sha256) == 64


def test_a_wrong_model_is_found(tmp_path: Path) -> None:
    (result,) = shapes(gelu(tmp_path / "m.onnx", approximate="tanh"))
    assert result.verdict is Verdict.VIOLATES


def test_several_outputs_follow_the_scope_whatever_their_order(tmp_path: Path) -> None:
    """The model gives indices first; the contract says values first."""
    helper = onnx.helper
    last = helper.make_node("Constant", [], ["minus_one"], value_ints=[-1])
    size = helper.make_node("Shape", ["x"], ["n"], start=1)
    sort = helper.make_node("TopK", ["x", "n"], ["y", "index"], axis=-1, largest=0)
    made = model(tmp_path / "sort.onnx", [last, size, sort], {"x": (FLOAT, 2)}, {"index": (INT64, 2), "y": (FLOAT, 2)})
    (result,) = shapes(made, "sort")
    assert result.verdict is Verdict.CONFORMS


def test_a_scalar_of_the_contract_is_an_input_of_that_name(tmp_path: Path) -> None:
    mul = onnx.helper.make_node("Mul", ["x", "s"], ["y"])
    made = model(tmp_path / "scale.onnx", [mul], {"s": (FLOAT, 0), "x": (FLOAT, 2)}, {"y": (FLOAT, 2)})
    with Kernel(made, stack="onnxruntime") as kernel:
        result = kernel.call([ArrayIn("x", np.ones((1, 3), np.float32))], {"s": 0.25}, poison=[((1, 3), "fp32")])
    assert result.outcome is Outcome.RETURNED
    np.testing.assert_array_equal(result.outputs[0], np.full((1, 3), 0.25, np.float32))


def test_mistakes_are_told_in_one_sentence(tmp_path: Path) -> None:
    good = gelu(tmp_path / "m.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    two = model(
        tmp_path / "two.onnx", [onnx.helper.make_node("Add", ["p", "q"], ["y"])],
        {"p": (FLOAT, 2), "q": (FLOAT, 2)}, {"y": (FLOAT, 2)},
    )  # fmt: skip
    for target, options, says in [
        (str(tmp_path / "broken.onnx"), {}, "broken.onnx cannot be opened by ONNX Runtime"),
        (f"{good}:entry", {}, "name the file alone"),
        (two, {}, "has the inputs p, q; the contract x"),
        (good, {"dtypes": ["fp16"]}, "takes x as tensor(float); the contract gives fp16"),
    ]:
        with pytest.raises(TargetError) as caught:
            shapes(target, **options)
        assert says in str(caught.value)
    with pytest.raises(TargetError, match=r"stack numpy runs Python functions, no \.onnx files"):
        check(good, "gelu", stack="numpy")
    with pytest.raises(UsageError, match=r"there is no file missing\.onnx"):
        check("missing.onnx:main", "gelu", stack="onnxruntime")


def test_a_target_is_parsed_without_being_run(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text("this is not a kernel")
    found = parse("k.cl:entry", tmp_path)
    assert (found.foreign, found.file, found.attribute) == (True, str(tmp_path / "k.cl"), "entry")
    assert not parse("kernels:f", tmp_path).foreign


def test_the_scope_has_the_names_sizes_and_types_of_the_contract() -> None:
    from kernel_contracts.checking import contracts_for

    (contract, *_) = contracts_for("layernorm", None)
    x, gamma = np.ones((3, 5), np.float32), np.ones(5, np.float32)
    arrays = [ArrayIn("x", x), ArrayIn("gamma", gamma), ArrayIn("beta", gamma)]
    scope = scope_of((contract, contract.bound[0]), arrays, {"eps": 1e-5}, [((3, 5), "fp32")])
    assert scope.inputs[0] == Tensor("x", "fp32", (3, 5))
    assert scope.outputs == (Tensor("y", "fp32", (3, 5)),)
    assert scope.scalars == (("eps", "real"),)
    assert sorted(scope.dims, key=lambda d: d[1])[-1][1] == 5
    assert Scope.from_json(scope.as_json()) == scope
    assert hash(scope) == hash(Scope.from_json(scope.as_json()))
    bare = scope_of(None, arrays[:1], {"k": 3, "on": True}, [((3,), "fp32"), ((3,), "int64")])
    assert [t.name for t in bare.outputs] == ["out0", "out1"]
    assert bare.scalars == (("k", "int"), ("on", "bool"))
