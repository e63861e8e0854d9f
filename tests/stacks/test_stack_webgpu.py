"""WebGPU: `.wgsl` files launched as they say, bindings that are checked, and no adapter told in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import own_operations
import pytest

from kernel_contracts.api import check
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import TargetError, UsageError
from kernel_contracts.measurement.calls import Scope, Tensor
from kernel_contracts.stacks.webgpu import STACK

pytest.importorskip("wgpu")
pytestmark = pytest.mark.skipif(
    not STACK.devices(), reason="there is no WebGPU adapter; apt-get install mesa-vulkan-drivers brings one in software"
)

HEAD = """
@group(0) @binding(0) var<storage, read> x: array<x_t>;
@group(0) @binding(1) var<storage, read_write> y: array<y_t>;
struct Numbers { N: i32, by: f32 }
@group(0) @binding(2) var<uniform> given: Numbers;
"""
TWICE = """
@compute @workgroup_size(4)
fn twice(@builtin(global_invocation_id) at: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  if (i32(at.x) < given.N) { y[at.x] = x[at.x] * given.by + f32(groups.x * groups.y - 1); }
}
"""


def called(text: str, folder: Path, x: np.ndarray[Any, Any], entry: str = "twice", fmt: str = "fp32") -> Any:
    (folder / "shader.wgsl").write_text(text)
    scope = Scope((Tensor("x", fmt, x.shape),), (Tensor("y", fmt, x.shape),), (("by", "real"),), (("N", x.size),))
    device = STACK.devices()[0]
    launched = STACK.open(str(folder / "shader.wgsl"), entry, device).launch(scope)
    return STACK.from_native(launched(STACK.to_native(x, device), by=2.0))


def without_drivers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Points the loaders of drivers at nothing, in processes that are started from here."""
    for name in ("VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES"):
        monkeypatch.setenv(name, str(folder / "none.json"))
    monkeypatch.setenv("LIBGL_DRIVERS_PATH", str(folder))


def test_one_invocation_for_each_element(tmp_path: Path) -> None:
    assert called(HEAD + TWICE, tmp_path, np.arange(3, dtype=np.float32)).tolist() == [0, 2, 4]
    assert called(HEAD + TWICE, tmp_path, np.zeros(0, np.float32)).shape == (0,)


def test_a_file_says_how_it_is_launched(tmp_path: Path) -> None:
    text = "// kc: global = N * 4, 3\n" + HEAD + TWICE
    assert called(text, tmp_path, np.zeros(2, np.float32)).tolist() == [2 * 3 - 1] * 2


def test_a_directive_stays_in_front(tmp_path: Path) -> None:
    text = "// a remark\ndiagnostic(off, derivative_uniformity);\n" + HEAD + TWICE
    assert called(text, tmp_path, np.ones(1, np.float32)).tolist() == [2]


@pytest.mark.parametrize(
    ("text", "entry", "sentence"),
    [
        (HEAD + TWICE, "absent", "is no compute shader with a workgroup_size of that file"),
        (HEAD + TWICE.replace("size(4)", "size(w)"), "twice", "has the workgroup_size (w); write numbers"),
        (HEAD + TWICE.replace("given.by", "missing"), "twice", "cannot be translated: Shader '' parsing error"),
        (HEAD + HEAD + TWICE, "twice", "declares binding 0 twice"),
        (
            HEAD.replace("binding(2)", "binding(7)") + TWICE,
            "twice",
            "declares binding 7; the contract gives x, y, sizes",
        ),
        (HEAD.replace("(2)", "(9)").replace("(1)", "(2)") + TWICE, "twice", "declares binding 9"),
        ("// kc: global = Q\n" + HEAD + TWICE, "twice", "names the size 'Q'; the sizes of the contract here: N"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(tmp_path: Path, text: str, entry: str, sentence: str) -> None:
    with pytest.raises(TargetError) as caught:
        called(text, tmp_path, np.zeros(2, np.float32), entry)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_workgroups_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="is the most"):
        called("// kc: global = 1000000 * N\n" + HEAD + TWICE, tmp_path, np.zeros(2, np.float32))


def test_an_element_that_is_not_written_shows(tmp_path: Path) -> None:
    text = HEAD + TWICE.replace("if (i32(at.x) < given.N)", "if (i32(at.x) + 1 < given.N)")
    assert np.isnan(called(text, tmp_path, np.zeros(4, np.float32))).tolist() == [False, False, False, True]


def test_the_example_of_the_page_conforms(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "device-kernels.md").read_text()
    (tmp_path / "row_sums.wgsl").write_text(page.partition("```c\n// row_sums.wgsl\n")[2].partition("```")[0])
    target = f"{tmp_path}/row_sums.wgsl:row_sums"
    results = check(target, operation="sum", stack="webgpu", samples=4, seed=1, classes=["C-CMP-03"])
    assert {(r.verdict, r.bound.dtypes["P"]) for r in results} == {(Verdict.CONFORMS, "fp32")}


def test_every_operation_of_its_own_is_right() -> None:
    assert list(own_operations.wrong(STACK)) == []


def test_max_is_found_to_lose_nan() -> None:
    """The language lets `max` return either operand when one is NaN; the contract does not."""
    (result,) = check(operation="relu", stack="webgpu", dtypes=["fp32"], samples=8, seed=7, classes=["C-EXC-01"])
    assert result.verdict in (Verdict.CONFORMS, Verdict.VIOLATES)
    if "llvmpipe" in str(STACK.fingerprint()["adapters"]["cpu"]):
        assert result.finding.signature is not None
        assert result.finding.signature.name == "nan_lost"


def test_a_machine_without_an_adapter_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_drivers(monkeypatch, tmp_path)
    with pytest.raises(UsageError, match="stack webgpu finds no device on this machine"):
        check(operation="exp", stack="webgpu", samples=1, seed=1, classes=["C-PRC-03"])


def test_an_array_is_a_buffer() -> None:
    with pytest.raises(TypeError, match=r"it is a numpy\.ndarray; return a kernel_contracts"):
        STACK.from_native(np.zeros(3))
    made = STACK.to_native(np.arange(3, dtype=np.float32), STACK.devices()[0])
    assert (made.shape, made.dtype, made.buffer.size) == ((3,), np.float32, 16)


def test_doctor_says_that_there_is_no_adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_drivers(monkeypatch, tmp_path)
    command = [sys.executable, "-m", "kernel_contracts.stacks.conformance", "webgpu", ""]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "stack webgpu finds no device" in json.loads(done.stdout.splitlines()[-1])
