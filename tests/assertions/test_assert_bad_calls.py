"""A call that cannot be judged is told apart from a wrong answer: a UsageError of one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import assert_cases as cases
import numpy as np
import pytest

from kernel_contracts.assertions import AssertOptions, assert_conforms
from kernel_contracts.errors import LanguageError, UsageError
from kernel_contracts.tolerances import tolerance

X = np.zeros((2, 3), np.float32)
ROWS = np.zeros(3, np.float32)


def special(value: float) -> Any:
    x = X.copy()
    x[1, 2] = value
    return x


@pytest.mark.parametrize(
    ("contract", "inputs", "params", "words"),
    [
        ("softmaks", [X], {}, "no operation softmaks; did you mean `softmax`?"),
        ("", [X], {}, "no operation"),
        (3, [X], {}, "not a int"),
        ("softmax", [], {}, "softmax takes 1 array(s) (x), not 0"),
        ("softmax", [X, X], {}, "softmax takes 1 array(s) (x), not 2"),
        ("softmax", [None], {}, "input x cannot be used: it is a NoneType"),
        ("softmax", [X.astype(np.complex64)], {}, "dtype complex64"),
        ("softmax", [X.astype(np.int32)], {}, "does not cover these dtypes (x int32)"),
        ("matmul", [X, X.T.astype(np.float64)], {}, "does not cover these dtypes (A fp32, B fp64)"),
        ("softmax", [X[0]], {}, "input x has shape [3]"),
        ("matmul", [X, X], {}, "another input has K = 3"),
        ("layernorm", [X, ROWS[:2], ROWS], {}, "N = 2"),
        ("softmax", [X], {"axis": -1}, "softmax has no parameter axis"),
        ("layernorm", [X, ROWS, ROWS], {"epsilon": 1e-5}, "no parameter epsilon; did you mean `eps`?"),
        ("layernorm", [X, ROWS, ROWS], {"eps": "small"}, "eps is of type real"),
        ("layernorm", [X, ROWS, ROWS], {"eps": 7.0}, "eps = 7.0 is not in 1e-12..1"),
        (
            "softmax",
            [special(np.nan)],
            {},
            "finite(x) of softmax-stable is not met by input x at index [1, 2]: it is nan",
        ),
        ("softmax", [special(-np.inf)], {}, "it is -inf there"),
        ("softmax", [X[:, :0]], {}, "N = 0 is not in 1..131072"),
        (
            "gather",
            [X, np.array([0, 2])],
            {},
            "index <= 1 of gather-shapes is not met by input index at index [1]: it is 2",
        ),
        ("gather", [X, np.array([-1])], {}, "index >= 0"),
        ("gather", [X, np.array([0.5])], {}, "does not cover these dtypes"),
        ("missing.kc", [X], {}, "cannot read the contract file missing.kc"),
    ],
)
def test_bad_calls_are_one_sentence(contract: Any, inputs: list[Any], params: dict[str, Any], words: str) -> None:
    for run in (
        lambda: assert_conforms(X, contract, *inputs, **params),
        lambda: tolerance(contract, *inputs, **params),
    ):
        with pytest.raises(UsageError) as caught:
            run()
        text = str(caught.value)
        assert words in text
        assert "\n" not in text
        assert not isinstance(caught.value, AssertionError)


def test_an_unknown_class_is_named() -> None:
    with pytest.raises(UsageError, match="no contract class C-PRC-1"):
        assert_conforms(X, "softmax", X, options=AssertOptions(classes=("C-PRC-1",)))


def test_a_class_without_a_contract_here_is_named() -> None:
    with pytest.raises(UsageError, match="no contract of C-CMP-01 applies here"):
        assert_conforms(X, "softmax", X, options=AssertOptions(classes=("C-CMP-01",)))


def test_a_missing_parameter_is_asked_for(tmp_path: Path) -> None:
    text = cases.TWO_OUTPUTS.replace("(x: P[R, N])", "(x: P[R, N]; scale: real)")
    with pytest.raises(UsageError, match="needs the parameter scale; pass it by name"):
        assert_conforms((X, X, X), cases.write(tmp_path, text), X)


def test_facts_of_the_precondition_are_checked(tmp_path: Path) -> None:
    text = cases.TWO_OUTPUTS.replace("finite(x)", "finite(x) and abs(x) <= 2 and positive(x)")
    path = cases.write(tmp_path, text)
    with pytest.raises(UsageError, match=r"x > 0 of peak is not met by input x at index \[0, 0\]"):
        assert_conforms((X, X, X), path, X)
    with pytest.raises(UsageError, match=r"abs\(x\) <= 2 of peak is not met by input x at index \[1, 2\]: it is 3"):
        assert_conforms((X, X, X), path, special(3.0) + np.float32(0.5) * (special(3.0) == 0))


def test_a_contract_that_compares_nothing_cannot_be_asserted(tmp_path: Path) -> None:
    text = cases.TWO_OUTPUTS
    start, end = text.index("  post"), text.index("  tolerance")
    text = text[:start] + "  post      top bitwise equal across runs(4)\n" + text[end:]
    with pytest.raises(UsageError, match="peak: no guarantee here compares values with a reference"):
        assert_conforms((X, X, X), cases.write(tmp_path, text), X)


def test_a_wrong_contract_text_is_a_language_error(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=r"own\.kc"):
        assert_conforms(X, cases.write(tmp_path, "contract broken {"), X)


def test_the_error_shows_no_frame_of_this_package() -> None:
    with pytest.raises(UsageError) as caught:
        assert_conforms(X, "softmaks", X)
    assert [entry.name for entry in caught.traceback][-1] == "assert_conforms"
