"""Loss scales applied twice, and clipping in the wrong order: silent at a scale of one, accused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from case_harness import CONTRACTS, check, conforms, load, story

from kernel_contracts import api
from kernel_contracts.contracts.evidence import Verdict

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
CASES = [
    pytest.param("o10_double_unscale", "unscale", ("fp32", "fp16"), "unscaled_twice", id="O10"),
    pytest.param("o11_clip_scaled", "clip_grad", ("fp32",), "clipped_scaled", id="O11"),
]


@pytest.mark.parametrize("seed", [1, 22, 333])
@pytest.mark.parametrize(("module", "operation", "dtypes", "defect"), CASES)
def test_the_faulty_kernel_is_accused_by_name(
    module: str, operation: str, dtypes: tuple[str, ...], defect: str, seed: int
) -> None:
    found = check(load(module).faulty, operation=operation, dtypes=dtypes, seed=seed, samples=10, limit=1 << 18)
    assert len(found) == len(dtypes)
    for r in found:
        assert r.verdict is Verdict.VIOLATES, story(r)
        assert r.finding.signature is not None
        assert r.finding.signature.name == defect, story(r)


@pytest.mark.parametrize("seed", [1, 22, 333])
@pytest.mark.parametrize(("module", "operation", "dtypes", "defect"), CASES)
def test_the_sibling_conforms(module: str, operation: str, dtypes: tuple[str, ...], defect: str, seed: int) -> None:
    found = check(load(module).sibling, operation=operation, dtypes=dtypes, seed=seed, samples=10, limit=1 << 18)
    conforms(found)
    assert all("away from range ends, compared bit for bit" in " ".join(r.finding.notes) for r in found)


def test_a_scale_of_one_hides_both() -> None:
    rng = np.random.default_rng(0)
    g, b = rng.standard_normal((16, 8)).astype(np.float32), rng.standard_normal(8).astype(np.float32)
    for module, inputs in (("o10_double_unscale", (g[0],)), ("o11_clip_scaled", (g, b))):
        kernels = load(module)
        for wrong, right in zip(kernels.faulty(*inputs), kernels.sibling(*inputs), strict=True):
            np.testing.assert_array_equal(wrong, right)


def test_the_numbers_of_the_reports() -> None:
    scale = 65536.0
    one = np.asarray([scale], np.float32)
    assert load("o10_double_unscale").sibling(one, scale=scale)[0] == 1
    np.testing.assert_allclose(load("o10_double_unscale").faulty(one, scale=scale)[0], 1.526e-5, rtol=1e-3)
    g, b = np.asarray([[3, 4]], np.float32) * np.float32(scale), np.zeros(2, np.float32)
    right, wrong = (getattr(load("o11_clip_scaled"), k)(g, b, scale=scale)[0] for k in ("sibling", "faulty"))
    np.testing.assert_allclose(right, [[0.6, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(wrong, [[9.16e-6, 1.22e-5]], rtol=2e-3)


@pytest.mark.parametrize(("module", "operation", "dtypes", "defect"), CASES)
def test_the_whole_way_in_a_process_of_its_own(
    module: str, operation: str, dtypes: tuple[str, ...], defect: str
) -> None:
    def verdict(which: str) -> Any:
        target = f"{CONTRACTS.parent / 'cases' / module}.py:{which}"
        (r,) = api.check(target, operation, classes=["C-PRC-04"], dtypes=["fp32"], seed=1, samples=6)
        return r.verdict, r.finding.signature.name if r.finding.signature else ""

    assert verdict("faulty") == (Verdict.VIOLATES, defect)
    assert verdict("sibling") == (Verdict.CONFORMS, "")
