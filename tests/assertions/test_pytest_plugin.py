"""The plugin in a pytest of its own: fixtures, options, and a failure that shows its story and nothing of ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

assert np  # a pytest within this one drops what it imports, and NumPy cannot be imported twice
pytest_plugins = ["pytester"]

WRONG = """
import numpy as np

def test_wrong(conforms):
    x = np.zeros((1, 2), np.float32)
    conforms(np.ones((1, 2), np.float32), "softmax", x)
"""

KERNEL = """
import numpy as np

def softmax(x):
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    e = np.exp(wide - wide.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)

def unstable(x):
    with np.errstate(all="ignore"):
        e = np.exp(x)
        return e / e.sum(-1, keepdims=True)

def no_array(x):
    return "nothing"

def writes(x):
    x[...] = 0
    return x
"""


@pytest.fixture(autouse=True)
def _kernels(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(kernels=KERNEL)
    pytester.syspathinsert()
    monkeypatch.delenv("KC_WITNESS_DIR")


def run(pytester: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=test)
    return pytester.runpytest("-p", "no:cacheprovider", "-p", "no:xdist", *options)


def test_a_right_answer_passes(pytester: pytest.Pytester) -> None:
    run(pytester, WRONG.replace("np.ones((1, 2), np.float32)", "[[0.5, 0.5]]")).assert_outcomes(passed=1)


def test_a_failure_shows_the_story_and_no_frame_of_ours(pytester: pytest.Pytester) -> None:
    result = run(pytester, WRONG)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*conforms(np.ones((1, 2), np.float32), *softmax*, x)",
            "E*ConformanceError: softmax: not what softmax-* 1.0 (C-*, P = fp32) admits",
            "E*worst*y[[]0, 0] = 1, oracle 0.5, tolerance *",
            "E*again*kc replay *",
        ]
    )
    shown = result.stdout.str()
    assert "test_it.py:5: ConformanceError" in shown
    assert "assertions.py:" not in shown
    assert "def assert_conforms" not in shown


def test_witnesses_go_where_the_option_says(pytester: pytest.Pytester) -> None:
    run(pytester, WRONG, "--kc-witness-dir", "found")
    (witness,) = (pytester.path / "found").iterdir()
    assert witness.name.startswith("softmax-")
    run(pytester, WRONG)
    assert [p.parent.name for p in (pytester.path / ".kc").rglob("*.json")] == ["witness"]


def test_the_option_leaves_the_environment_as_it_was(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import os

    monkeypatch.setenv("KC_WITNESS_DIR", str(tmp_path))
    run(pytester, WRONG, "--kc-witness-dir", "found")
    assert os.environ["KC_WITNESS_DIR"] == str(tmp_path)
    assert list((pytester.path / "found").iterdir())


CHECK = """
import kernels
import pytest

def test_kernel(check_kernel):
    results = check_kernel({kernel}, "softmax", {options})
    assert {{r.verdict.value for r in results}} == {{"conforms"}}
    assert {{r.seed for r in results}} == {{{seed}}}
"""


ONE = 'dtypes=["fp32"], samples=4, classes=["C-PRC-02"]'


def check(kernel: str, options: str = 'dtypes=["fp32"], samples=6', seed: int = 0) -> str:
    return CHECK.format(kernel=kernel, options=options, seed=seed)


def test_a_function_that_keeps_its_contracts_passes(pytester: pytest.Pytester) -> None:
    run(pytester, check("kernels.softmax")).assert_outcomes(passed=1)


def test_a_target_is_run_in_a_process_of_its_own(pytester: pytest.Pytester) -> None:
    run(pytester, check('"kernels.py:softmax"')).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("kernel", "lines"),
    [
        ("kernels.unstable", ["E*violates: softmax-stable 1.0 (C-PRC-02, P = fp32)", "E*defect*overflowed: *"]),
        ("kernels.no_array", ["E*defect*wrong_type: *it is a str*"]),
        ("kernels.writes", ["E*defect*input_mutated: *"]),
        ('"kernels.py:unstable"', ["E*defect*overflowed: *"]),
    ],
)
def test_a_kernel_that_breaks_one_fails_with_the_defect(
    pytester: pytest.Pytester, kernel: str, lines: list[str]
) -> None:
    result = run(pytester, check(kernel, ONE))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*ConformanceError: * contracts do not hold (seed 0)", *lines])
    assert "pytest_plugin.py:" not in result.stdout.str()


def test_a_kernel_that_raises_everywhere_decides_nothing(pytester: pytest.Pytester) -> None:
    result = run(pytester, check("kernels.missing_shape") + "\nkernels.missing_shape = lambda x: x.no_such_thing\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*InconclusiveError: *", "E*inapplicable: *", "*no_such_thing*"])


def test_nothing_checked_is_no_pass(pytester: pytest.Pytester) -> None:
    result = run(pytester, check("kernels.softmax", 'dtypes=["fp8_e5m2"]'))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*InconclusiveError: nothing was checked*"])


def test_the_seed_can_be_chosen(pytester: pytest.Pytester) -> None:
    result = run(pytester, check("kernels.softmax", seed=17), "--kc-seed", "17")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["kernel contracts: seed 17"])


def test_a_random_seed_is_shown(pytester: pytest.Pytester) -> None:
    first, second = (run(pytester, "def test_nothing(): pass", "--kc-seed", "random") for _ in range(2))
    shown = [next(line for line in r.outlines if line.startswith("kernel contracts: seed ")) for r in (first, second)]
    assert shown[0] != shown[1]


def test_a_wrong_seed_is_one_sentence(pytester: pytest.Pytester) -> None:
    result = run(pytester, WRONG, "--kc-seed", "-3")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --kc-seed -3: give a whole number of at least 0, or random"])
