"""The conformance kit: every installed stack keeps every promise, and the kit notices each one that is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from kernel_contracts.stacks.base import stacks
from kernel_contracts.stacks.conformance import PROMISES, examine, patterns, undisturbed
from kernel_contracts.stacks.numpy import NumpyStack


@pytest.mark.parametrize("name", stacks())
def test_a_stack_keeps_every_promise(name: str) -> None:
    stack = stacks()[name]
    if not stack.available():
        pytest.skip(f"{name} is not installed: {stack.install_hint()}")
    command = [sys.executable, "-m", "kernel_contracts.stacks.conformance", name, ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **stack.environment})
    assert done.stdout, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    if isinstance(found, str):
        pytest.skip(found)
    assert len(found) == len(PROMISES) + 1
    assert [p for p in found if p["broken"]] == []


class Quiet(NumpyStack):
    """Drops the sign of zeros, as a library that computes `x + 0` on the way would."""

    def to_native(self, array: Any, device: str) -> Any:
        return array + np.float32(0) if array.dtype == np.float32 else array


class Converting(NumpyStack):
    """Takes a format that it lacks for another."""

    def to_native(self, array: Any, device: str) -> Any:
        return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


class Eager(NumpyStack):
    """Imports to find out whether it can."""

    def available(self) -> bool:
        sys.modules.pop("tabnanny", None)
        import tabnanny  # noqa: F401

        return True


class Writing(NumpyStack):
    """Needs arrays that it may write."""

    def to_native(self, array: Any, device: str) -> Any:
        if not array.flags.writeable:
            raise ValueError("the array is not writable")
        return array


class Sloppy(NumpyStack):
    """Takes anything for an array."""

    def from_native(self, value: Any) -> Any:
        return np.asarray(value)


class Counting(NumpyStack):
    """Its fingerprint is never the same twice."""

    calls = 0

    def fingerprint(self) -> dict[str, Any]:
        self.calls += 1
        return {**super().fingerprint(), "calls": self.calls}


class Flat(NumpyStack):
    """Has no arrays of rank 0."""

    def to_native(self, array: Any, device: str) -> Any:
        return np.atleast_1d(array)


class Reusing(NumpyStack):
    """One buffer for all."""

    buffer = np.zeros(1 << 20, np.uint8)

    def to_native(self, array: Any, device: str) -> Any:
        made = self.buffer[: array.nbytes].view(array.dtype).reshape(array.shape)
        made[...] = array
        return made


class Nameless(NumpyStack):
    variants = {"fast": {"THREADS": 1}}  # type: ignore[dict-item]  # noqa: RUF012


@pytest.mark.parametrize(
    ("stack", "promise"),
    [
        (Quiet(), "every native format keeps every bit"),
        (Converting(), "a format that it lacks"),
        (Eager(), "imports nothing"),
        (Writing(), "may not be written"),
        (Sloppy(), "what is no array"),
        (Counting(), "the fingerprint is plain data"),
        (Flat(), "every native format keeps every bit"),
        (Reusing(), "leaves it and every other"),
        (Nameless(), "are data"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, NumpyStack) else "",
)
def test_the_kit_notices(stack: NumpyStack, promise: str) -> None:
    assert promise in "; ".join(p.text for p in examine(stack) if p.broken)


def test_the_kit_notices_a_switch_that_is_changed() -> None:
    class Silencing(NumpyStack):
        def version(self) -> str:
            np.seterr(all="ignore")
            os.environ["OMP_TEST_SWITCH"] = "1"
            return super().version()

    before = np.geterr()
    try:
        (last,) = [p for p in undisturbed(Silencing()) if "switch" in p.text]
    finally:
        np.seterr(**before)
        os.environ.pop("OMP_TEST_SWITCH", None)
    assert last.broken == "environment, numpy_errors"


def test_the_special_values_are_what_they_are_called() -> None:
    wide = patterns("fp32")
    assert np.isnan(wide).sum() == 6
    assert np.isinf(wide).sum() == 2
    assert ((wide != 0) & (np.abs(wide) < np.finfo(np.float32).tiny)).sum() == 4
    assert len(patterns("bf16")) == 1 << 16
    assert sorted(patterns("int64").tolist())[0] == -(1 << 63)
