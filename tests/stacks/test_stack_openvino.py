"""OpenVINO: its own operations are right, model files are kernels, and its switches stay in the worker's process."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import own_operations
import pytest

from kernel_contracts.api import check
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import TargetError, UsageError
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.process import Kernel
from kernel_contracts.stacks.base import find, stacks
from kernel_contracts.stacks.natives import natives
from kernel_contracts.stacks.openvino import STACK

needed = pytest.mark.skipif(not STACK.available(), reason=f"OpenVINO is not installed: {STACK.install_hint()}")


own = functools.partial(own_operations.own, STACK)


def saved(path: Path, **ports: Any) -> str:
    """GELU in a file of OpenVINO's own format; its input and output are called as `ports` says."""
    import openvino
    from openvino import opset15

    x = opset15.parameter([-1], openvino.Type.f32, name=ports.get("x", "x"))
    y = opset15.gelu(x, ports.get("form", "erf"))
    model = openvino.Model([y], [x], "gelu")
    model.inputs[0].get_tensor().set_names({ports.get("x", "x")})
    model.outputs[0].get_tensor().set_names({ports.get("y", "y")})
    openvino.save_model(model, str(path), compress_to_fp16=False)
    return str(path)


def test_it_is_listed_with_its_variants_and_how_to_install_it() -> None:
    assert stacks()["openvino"] is STACK
    assert STACK.install_hint() == "run: pip install 'kernel-contracts[openvino]'"
    assert {"denormals-are-zero", "one-thread", "hint-bf16"} <= STACK.variants.keys()
    assert natives("openvino@one-thread") == natives("openvino")
    assert natives("openvino").keys() >= own_operations.ESSENTIAL


@pytest.mark.skipif(STACK.available(), reason="OpenVINO is installed")
def test_without_it_a_sentence_says_so() -> None:
    with pytest.raises(UsageError, match="stack 'openvino' is not installed: run: pip install"):
        find("openvino@one-thread")


@needed
@pytest.mark.parametrize("name", sorted(own_operations.ESSENTIAL))
def test_its_own_operations_are_right(name: str) -> None:
    own_operations.assert_right(STACK, name)


@needed
def test_operations_with_parameters_and_several_outputs() -> None:
    x = np.random.default_rng(5).standard_normal((4, 9)).astype(np.float32)
    values, places = own("topk", x, k=3)
    np.testing.assert_array_equal(places, np.argsort(-x, axis=-1, kind="stable")[:, :3])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, -1))
    np.testing.assert_array_equal(own("sort", x)[0], np.sort(x))
    np.testing.assert_array_equal(own("pad", x, before=2, after=1), np.pad(x, ((0, 0), (2, 1))))
    np.testing.assert_array_equal(own("clamp", x, low=-0.25, high=0.5), x.clip(-0.25, 0.5))
    pooled = own("max_pool", x, window=3, stride=3)
    np.testing.assert_array_equal(pooled, x.reshape(4, 3, 3).max(-1))
    np.testing.assert_array_equal(own("index_select", x, np.array([8, 0])), x[:, [8, 0]])


@needed
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, np.float16, np.int64])
def test_narrow_formats_go_through_a_model_by_their_bits(dtype: Any) -> None:
    x = np.arange(-8, 8).astype(dtype).reshape(2, 8)
    assert own("transpose", x).tobytes() == np.ascontiguousarray(x.T).tobytes()
    assert own("transpose", x[:, :0]).shape == (0, 2)


@needed
def test_answers_have_memory_of_their_own() -> None:
    x = np.arange(6, dtype=np.float32)
    module, _, name = natives("openvino")["relu"].partition(":")
    relu = getattr(importlib.import_module(module), name)
    first = relu(STACK.to_native(x, "cpu"))
    relu(STACK.to_native(-x, "cpu"))
    assert STACK.from_native(first).tolist() == x.tolist()


@needed
@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("input_1", "output_1")])
def test_a_model_is_a_kernel(x: str, y: str, tmp_path: Path) -> None:
    target = saved(tmp_path / "gelu.xml", x=x, y=y)
    (result,) = check(target, "gelu", stack="openvino", classes=["C-CMP-03"], samples=4, seed=1)
    assert (result.bound.dtypes["P"], result.verdict) == ("fp32", Verdict.CONFORMS)


@needed
def test_a_wrong_model_is_found(tmp_path: Path) -> None:
    target = saved(tmp_path / "gelu.xml", form="tanh")
    (result,) = check(target, "gelu", stack="openvino", classes=["C-CMP-03"], samples=4, seed=1)
    assert result.verdict is Verdict.VIOLATES


@needed
def test_mistakes_are_told_in_one_sentence(tmp_path: Path) -> None:
    good = saved(tmp_path / "gelu.xml")
    (tmp_path / "broken.xml").write_text("no model")
    for target, operation, options, says in [
        (str(tmp_path / "broken.xml"), "gelu", {}, "broken.xml cannot be opened by OpenVINO"),
        (f"{good}:entry", "gelu", {}, "name the file alone"),
        (good, "add", {}, "gelu.xml has the inputs x; the contract a, b"),
        (good, "gelu", {"dtypes": ["fp16"]}, "takes x as f32; the contract gives fp16"),
    ]:
        with pytest.raises(TargetError) as caught:
            check(target, operation, stack="openvino", samples=1, seed=1, **options)  # type: ignore[arg-type]
        assert says in str(caught.value)


@needed
def test_a_switch_of_a_variant_is_on_in_its_process_and_nowhere_else() -> None:
    """The switch stays on in the thread that ran the model, so that NumPy there loses subnormal numbers too."""
    tiny, one = np.full((1, 8), 1e-40, np.float32), np.ones((1, 8), np.float32)
    products = {}
    for stack in ("openvino", "openvino@denormals-are-zero"):
        with Kernel(natives(stack)["mul"], stack=stack) as kernel:
            products[stack] = kernel.call([ArrayIn("a", tiny), ArrayIn("b", one)]).outputs[0]
            facts = kernel.load().fingerprint["stack"]
        assert facts["settings"] == dict(find(stack).environment)
    assert (products["openvino"] == tiny).all()
    assert (products["openvino@denormals-are-zero"] == 0).all()
    assert (tiny * one == tiny).all()


@needed
def test_importing_it_sends_nothing() -> None:
    code = (
        "import sys, threading; from kernel_contracts.stacks.openvino import STACK; STACK.version(); "
        "print([m for m in sys.modules if 'openvino_telemetry' in m], threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 1"
