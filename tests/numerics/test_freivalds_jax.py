"""Arrays of JAX: what NumPy's give, on the processor and on a device; jit is refused in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernel_contracts.errors import UsageError
from kernel_contracts.numerics.freivalds import jax_arrays
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.repair import repair

jax = pytest.importorskip("jax")
jnp = jax.numpy

RNG = np.random.default_rng(1)
A = RNG.standard_normal((700, 900), dtype=np.float32)
B = RNG.standard_normal((900, 600), dtype=np.float32)


@pytest.fixture(params=["processor", "device"])
def place(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the check runs: a device is stood in for by the processor, with the arrays left to JAX."""
    if request.param == "device":
        monkeypatch.setattr(jax_arrays, "on_device", lambda operands: True)
    return str(request.param)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_what_numpy_finds(place: str, dtype: str) -> None:
    a, b = jnp.asarray(A, dtype), jnp.asarray(B, dtype)
    c = jnp.matmul(a.astype(jnp.float32), b.astype(jnp.float32), precision="highest").astype(dtype)
    ours = check_product(*(np.asarray(x) for x in (a, b, c)), seed=3)
    theirs = check_product(a, b, c, seed=3)
    assert ours.ok
    assert theirs.ok
    assert theirs.precision == "fp32"
    assert theirs.floor == pytest.approx(ours.floor, rel=0.5)
    wrong = c.at[7, 8].add(40)
    (fault,) = check_product(a, b, wrong, seed=3).faults
    assert (fault.row, fault.column) == (7, 8)


def test_forms(place: str) -> None:
    a, b = jnp.asarray(A), jnp.asarray(B)
    bias, z = jnp.arange(600.0), jnp.ones((700, 600))
    c = 0.5 * jnp.matmul(a, b, precision="highest") - 2 * z + bias
    more = {"alpha": 0.5, "beta": -2.0, "addend": z, "bias": bias, "seed": 1}
    assert check_product(a, b, c, **more).ok
    assert check_product(a.T, b.T, c, transpose="ab", **more).ok
    assert not check_product(a, b, c.at[3, 3].add(1), **more).ok
    batch = jnp.stack([c, c])
    assert check_product(jnp.stack([a, a]), b, batch, **more).ok
    (fault,) = check_product(jnp.stack([a, a]), b, batch.at[1, 3, 4].add(1), **more).faults
    assert (fault.batch, fault.row, fault.column) == ((1,), 3, 4)


@pytest.mark.parametrize("kind", ["positive", "outliers"])
def test_families_whose_statistics_differ(place: str, kind: str) -> None:
    a, b = np.abs(A), np.abs(B)
    if kind == "outliers":
        b = b * np.where(np.arange(900) % 90 == 0, 100, 1)[:, None].astype(np.float32)
    a, b = jnp.asarray(a), jnp.asarray(b)
    c = jnp.matmul(a, b, precision="highest")
    assert check_product(a, b, c, seed=2).ok
    assert not check_product(a, b, c.at[5, 6].multiply(1.01), seed=2).ok


def test_small_ones_and_fp64_are_checked_on_the_processor(place: str) -> None:
    a, b = jnp.asarray(A[:20, :30]), jnp.asarray(B[:30, :10])
    assert check_product(a, b, a @ b, seed=1).precision == "fp64"
    a, b = jnp.asarray(A), jnp.asarray(B)
    assert check_product(a, b, jnp.matmul(a, b, precision="highest"), seed=1, precision="fp64").precision == "fp64"


def test_integers(place: str) -> None:
    a = jnp.asarray(RNG.integers(-9, 9, (700, 900)), jnp.int32)
    b = jnp.asarray(RNG.integers(-9, 9, (900, 600)), jnp.int32)
    assert check_product(a, b, a @ b).ok
    assert not check_product(a, b, (a @ b).at[1, 2].add(1)).ok


def test_under_jit_there_is_nothing_to_check() -> None:
    def f(a: Any, b: Any) -> Any:
        check_product(a, b, a @ b)
        return a

    with pytest.raises(UsageError, match="outside of jit"):
        jax.jit(f)(jnp.asarray(A), jnp.asarray(B))


def test_repair() -> None:
    a, b = jnp.asarray(A[:50]), jnp.asarray(B)
    c = np.asarray(a) @ np.asarray(b)
    wrong = jnp.asarray(c).at[3, 4].add(5)
    done = repair(a, b, wrong, lambda: c)
    assert done.ok
    assert isinstance(done.value, jax.Array)
    assert np.array_equal(np.asarray(done.value), c)
