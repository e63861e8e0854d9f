"""Steps that move numbers: every bit is kept, and what does not fit is said with the step's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernel_contracts.conformance.model_file import Model, Step, moved
from kernel_contracts.errors import UsageError

X = np.array([[1.5, -0.0, np.nan], [np.inf, 2.0**-149, 3.0]], np.float32)


def made(operation: str, *arrays: Any, **parameters: Any) -> Any:
    return moved(Step("one", operation, ("x",) * len(arrays), ("y",), parameters), arrays)


def bits(x: Any) -> Any:
    return np.ascontiguousarray(x).view(np.uint32)


def test_every_move_keeps_every_bit() -> None:
    assert np.array_equal(bits(made("reshape", X, shape=[3, 2])), bits(X).reshape(3, 2))
    assert np.array_equal(bits(made("permute", X, axes=[1, 0])), bits(X).T)
    assert np.array_equal(bits(made("expand", X, shape=[4, 2, 3])), np.stack([bits(X)] * 4))
    assert np.array_equal(bits(made("concat", X, -X, axis=1)), np.hstack([bits(X), bits(-X)]))
    chosen = made("select", X > 0, X, -X)
    assert np.array_equal(bits(chosen), np.where(X > 0, bits(X), bits(-X)))


def test_what_is_given_is_contiguous_and_keeps_no_axis_too_many() -> None:
    assert made("permute", X, axes=[1, 0]).flags.c_contiguous
    assert made("reshape", X[:1, :1], shape=[]).shape == ()


@pytest.mark.parametrize(
    ("operation", "arrays", "parameters"),
    [
        ("reshape", (X,), {"shape": [7]}),
        ("reshape", (X,), {}),
        ("permute", (X,), {"axes": [0]}),
        ("expand", (X,), {"shape": [2, 4]}),
        ("concat", (X, X[:, :1]), {"axis": 0}),
        ("select", (X, X, X), {}),
        ("select", (X > 0, X, X[:1]), {}),
    ],
)
def test_what_does_not_fit_is_said_with_the_name_of_the_step(
    operation: str, arrays: tuple[Any, ...], parameters: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=f"step one cannot {operation}"):
        made(operation, *arrays, **parameters)


@pytest.mark.parametrize(("operation", "takes"), [("expand", "one array"), ("select", "three arrays")])
def test_a_move_of_too_many_arrays_is_refused(operation: str, takes: str) -> None:
    step = Step("one", operation, ("x", "x"), ("y",))
    with pytest.raises(UsageError, match=f"{operation} takes {takes} and gives one"):
        Model("small", {"x": X}, (step,), ("y",))
