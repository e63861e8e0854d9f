"""The C ABI: libraries and C files measured as they are, and every way to name one wrongly told in a sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import own_operations
import pytest

from kernel_contracts.api import check
from kernel_contracts.contracts.evidence import Verdict
from kernel_contracts.errors import TargetError
from kernel_contracts.measurement.calls import Scope, Tensor
from kernel_contracts.stacks.c import STACK

COMPILER = os.environ.get("CC", "cc").split()[0]
pytestmark = pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"there is no C compiler {COMPILER}")

LIBRARY = """
#include <stdint.h>
#include <stdlib.h>

void row_sums(const float *x, float *y, int64_t R, int64_t N) {
  for (int64_t r = 0; r < R; r++) {
    float total = 0;
    for (int64_t i = 0; i < N; i++) total += x[r * N + i];
    y[r] = total;
  }
}

void short_sums(const float *x, float *y, int64_t R, int64_t N) { row_sums(x, y, R, N > 20 ? 20 : N); }

void nothing(const float *x, float *y, int64_t R, int64_t N) {}

void dies(const float *x, float *y, int64_t R, int64_t N) { *(volatile int *)0 = 1; }

const char scaled_kc[] = "formats = fp64; returns = status";
int scaled(const double *x, double *y, int64_t N, double by, int64_t plus, int negate) {
  for (int64_t i = 0; i < N; i++) y[i] = (x[i] * by + plus) * (negate ? -1 : 1);
  return N > 3 ? 5 : 0;
}

const char odd_kc[] = "formats = fp12";
void odd(void) {}
const char older_kc[] = "takes = floats";
void older(void) {}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("c")
    (folder / "kernels.c").write_text(LIBRARY)
    made = folder / "libkernels.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", made, folder / "kernels.c"], check=True)
    return str(made)


def test_a_function_of_a_library_is_measured_in_the_format_that_it_takes(library: str) -> None:
    results = check(f"{library}:row_sums", operation="sum", stack="c", samples=6, seed=1, classes=["C-CMP-03"])
    assert [(r.verdict, dict(r.bound.dtypes)) for r in results] == [(Verdict.CONFORMS, {"P": "fp32"})]


@pytest.mark.parametrize("name", ["short_sums", "nothing", "dies"])
def test_a_wrong_function_is_found_out(library: str, name: str) -> None:
    (result,) = check(f"{library}:{name}", operation="sum", stack="c", samples=6, seed=1, classes=["C-CMP-03"])
    assert result.verdict is Verdict.VIOLATES


def called(target: str, scope: Scope, *arrays: np.ndarray, **scalars: object) -> np.ndarray:
    file, _, entry = target.rpartition(":")
    return STACK.open(file, entry, "cpu").launch(scope)(*arrays, **scalars)


def scaled_scope(count: int) -> Scope:
    kinds = (("by", "real"), ("plus", "int"), ("negate", "bool"))
    return Scope((Tensor("x", "fp64", (count,)),), (Tensor("y", "fp64", (count,)),), kinds, (("N", count),))


def test_scalars_follow_the_sizes_and_a_status_is_an_error(library: str) -> None:
    x = np.arange(3.0)
    assert called(f"{library}:scaled", scaled_scope(3), x, by=0.5, plus=4, negate=True).tolist() == [-4, -4.5, -5]
    with pytest.raises(RuntimeError, match="scaled returned status 5"):
        called(f"{library}:scaled", scaled_scope(4), np.arange(4.0), by=0.5, plus=4, negate=True)


def test_sizes_that_do_not_fit_the_contract_are_refused(library: str) -> None:
    scope = Scope((Tensor("x", "fp32", (2, 3)),), (Tensor("y", "fp32", (2,)),))
    with pytest.raises(TargetError, match="do not fit the contract's"):
        called(f"{library}:row_sums", scope, np.ones((2, 3), np.float32))


def wrong(library: str) -> Iterator[tuple[str, str]]:
    yield library, "names no function"
    yield f"{library}:absent", "exports no symbol absent"
    yield f"{library}:odd", "takes fp12, which is no number format"
    yield f"{library}:older", "says `kc: takes = floats`; write NAME = VALUE with one of formats, returns"
    broken = Path(library).with_name("broken.so")
    broken.write_text("no library")
    yield f"{broken}:f", "broken.so cannot be loaded"
    unfinished = Path(library).with_name("unfinished.c")
    unfinished.write_text("void f(float *x) { return }")
    yield f"{unfinished}:f", "unfinished.c:f cannot be compiled: unfinished.c:1:"


def test_what_cannot_be_opened_is_told_in_a_sentence(library: str) -> None:
    for target, sentence in wrong(library):
        with pytest.raises(TargetError) as caught:
            check(target, operation="sum", stack="c", samples=1, seed=1, classes=["C-CMP-03"])
        assert sentence in str(caught.value), str(caught.value)
        assert "\n" not in str(caught.value)


def test_every_operation_of_its_own_is_right() -> None:
    assert list(own_operations.wrong(STACK)) == []


@pytest.mark.parametrize("operation", ["matmul", "sum"])
def test_the_order_of_its_sums_is_read_as_of_any_other_kernel(operation: str) -> None:
    """A kernel file is built for each call's scope, the calls that reveal an order among them."""
    results = check(operation=operation, stack="c", dtypes=["fp32"], samples=4, seed=1, classes=["C-ORD-01"])
    assert results
    for result in results:
        orders = [o.facts["order"] for o in result.observations if "order" in o.facts]
        assert orders == ["sequential"]


def test_flags_of_a_variant_reach_the_compiler() -> None:
    """-ffast-math takes it that there is no NaN."""
    found = {}
    for stack in ("c", "c@fast-math"):
        (result,) = check(operation="max", stack=stack, dtypes=["fp32"], samples=16, seed=3, classes=["C-EXC-01"])
        found[stack] = result.verdict
    assert found == {"c": Verdict.CONFORMS, "c@fast-math": Verdict.VIOLATES}
