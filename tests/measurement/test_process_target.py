"""Targets: what a user types finds the function, or one sentence says why not."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.errors import TargetError, UsageError
from kernel_contracts.measurement.fingerprint import digest, platform_fingerprint
from kernel_contracts.measurement.process import ArrayIn, Kernel
from kernel_contracts.measurement.target import parse

HOSTILE = Path(__file__).parents[1] / "hostile" / "kernels.py"
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("attribute", "factor"), [("Scaler.apply", 3), ("Scaler.double", 2), ("scaler", 3), ("scaler.apply", 3)]
)
def test_methods_and_callable_objects_are_kernels(attribute: str, factor: int) -> None:
    with Kernel(f"{HOSTILE}:{attribute}") as k:
        np.testing.assert_array_equal(k.call([ArrayIn("x", X)]).outputs[0], X * factor)
        assert k.load().parameters == ("x",)


def test_a_library_function_is_a_kernel() -> None:
    with Kernel("numpy:linalg.norm") as k:
        report = k.load()
        assert k.call([ArrayIn("x", X)], {"ord": 1, "eps": 1}).dropped == ("eps",)
    assert (report.name, report.stack, report.stack_version) == ("norm", "numpy", np.__version__)
    assert report.sha256 == hashlib.sha256(Path(report.file).read_bytes()).hexdigest()


def test_a_relative_file_is_found_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "helper.py").write_text("def twice(x):\n    return x * 2\n")
    (tmp_path / "sub" / "json.py").write_text("import json\nfrom helper import twice\nassert json.dumps(1)\n")
    with Kernel("sub/json.py:twice", working_directory=tmp_path) as k:
        np.testing.assert_array_equal(k.call([ArrayIn("x", X)]).outputs[0], X * 2)
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_file_that_changes_during_the_measurement_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text("import os\ndef f(x):\n    os.abort()\n")
    with Kernel(f"{file}:f") as k:
        k.call([ArrayIn("x", X)])
        file.write_text("def f(x):\n    return x\n")
        with pytest.raises(TargetError, match="changed during the measurement"):
            k.call([ArrayIn("x", X)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("softmax", "names no function"),
        ("nowhere.py:f", "there is no file"),
        ("kernels.py", "the file defines honest, scaled"),
        ("kernels.py:", "names no function"),
        ("kernels.py:a b", "names no function"),
        ("some-module:f", "neither a Python file nor a module name"),
        (":f", "names no function"),
    ],
)
def test_a_target_that_cannot_be_meant_is_refused_before_anything_runs(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        parse(text, HOSTILE.parent)


BROKEN = [
    ("import no_such_thing_here", "ModuleNotFoundError: No module named 'no_such_thing_here' at "),
    ("1 / 0", "ZeroDivisionError: division by zero at "),
    ("def f(:", "SyntaxError in "),
    ("import sys; sys.exit(4)", "SystemExit: 4"),
    ("import os; os._exit(4)", "exited with status 4"),
    ("import os; os.abort()", "killed by SIGABRT"),
    ("import os; os.closerange(3, 4096)", "closed the control channel"),
    ("f = 3", "is a int, not a function"),
    ("class f: pass", "is a class, not a function"),
    ("fast = 3\ndef ff(x): return x", "has no f; did you mean ff"),
    ("", "has no f; it has no public names"),
]


@pytest.mark.parametrize(("source", "words"), BROKEN, ids=[b[0][:30] or "empty" for b in BROKEN])
def test_a_kernel_that_cannot_be_loaded_gives_one_sentence(tmp_path: Path, source: str, words: str) -> None:
    (tmp_path / "k.py").write_text(source)
    with Kernel("k.py:f", working_directory=tmp_path) as k:
        with pytest.raises(TargetError) as failure:
            k.load()
        assert words in str(failure.value)
        assert "Traceback" not in str(failure.value)


def test_unknown_names_say_what_there_is() -> None:
    with Kernel(f"{HOSTILE}:NeedsArgument.apply") as k, pytest.raises(TargetError, match="make an instance"):
        k.load()
    with Kernel("no_such_module_here:f") as k, pytest.raises(TargetError, match="there is no module"):
        k.load()
    with Kernel("numpy:matmul", stack="abacus") as k, pytest.raises(UsageError, match=r"choose one of .*numpy"):
        k.load()
    with Kernel("numpy:matmul", device="cuda:9") as k, pytest.raises(UsageError, match="no device 'cuda:9'"):
        k.load()


def test_a_stack_that_does_not_start_is_not_the_kernels_fault(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libsomething.so.9: cannot open shared object file')")
    broken = Kernel("numpy:matmul", stack="torch", environment={"PYTHONPATH": str(tmp_path)})
    with broken as k, pytest.raises(UsageError, match="stack torch cannot be used here: OSError: libsomething"):
        k.load()


def test_the_fingerprint_is_stable_and_complete() -> None:
    with Kernel(f"{HOSTILE}:honest") as k:
        first = k.load().fingerprint
    with Kernel(f"{HOSTILE}:segfault") as k:
        second = k.load().fingerprint
    assert digest(first) == digest(second)
    assert first["numpy"]["version"] == np.__version__
    assert first["stack"]["name"] == "numpy"
    assert first["cpu"]["count"] >= 1
    ours = platform_fingerprint(first["stack"])
    assert {*ours, "isolation"} == first.keys(), "what encloses a worker is known in the worker alone"
    assert digest(ours) != digest({**ours, "arch": "other"})
