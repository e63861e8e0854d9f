"""The guard for JAX: products are verified where they run, compiled, forward and backward, within scans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernel_contracts.errors import UsageError
from kernel_contracts.guarding import jax_form
from kernel_contracts.guarding.events import ProductFaultError
from kernel_contracts.guarding.jax_form import JaxGuard

jax = pytest.importorskip("jax")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
jnp = jax.numpy


def network(w: Any, x: Any) -> Any:
    def layer(h: Any, v: Any) -> tuple[Any, None]:
        return jnp.tanh(h @ v), None

    h, _ = jax.lax.scan(layer, x, w["layers"])
    return jnp.mean((jax.checkpoint(lambda y: y @ w["last"])(h) - 1.0) ** 2)


def arguments(dtype: str = "float32") -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    w = {"layers": rng.standard_normal((3, 24, 24)) / 5, "last": rng.standard_normal((24, 5)) / 5}
    return jax.tree.map(lambda x: jnp.asarray(x, dtype), (w, rng.standard_normal((16, 24))))


@pytest.fixture
def spoiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the products that come out wrong in one element."""
    wrong: list[int] = []
    seen = [0]
    bind = jax_form.bind

    def spoil(eqn: Any, args: Any) -> list[Any]:
        out = bind(eqn, args)
        if eqn.primitive.name == "dot_general":
            seen[0] += 1
            if seen[0] in wrong:
                out = [out[0].at[(1,) * out[0].ndim].add(0.5)]
        return out

    monkeypatch.setattr(jax_form, "bind", spoil)
    return wrong


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_clean_training_steps_are_not_accused_and_come_out_the_same(dtype: str) -> None:
    w, x = arguments(dtype)
    step = jax.value_and_grad(network)
    g = JaxGuard()
    guarded = g(step)
    for _ in range(5):
        plain, found = jax.jit(step)(w, x), guarded(w, x)
        for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(found), strict=True):
            np.testing.assert_allclose(np.float64(one), np.float64(other), rtol=0.05, atol=0.01)
        g.step()
    # A product in the scan and one after it forward, two and two backward, and one more for the checkpoint.
    assert sum(g.covered.values()) >= 6
    assert (g.uncovered, g.suspicious, g.events) == ({}, 0, [])


@pytest.mark.parametrize("number", [1, 3, 5, 6])
def test_a_wrong_product_is_found_wherever_it_is(number: int, spoiled: list[int]) -> None:
    spoiled.append(number)
    w, x = arguments()
    g = JaxGuard("record")
    g(jax.value_and_grad(network))(w, x)
    g.step()
    assert g.events
    for event in g.events:  # in a scan once for each turn
        assert (event.check.faults[0].row, event.check.faults[0].column) == (1, 1)
        assert event.check.faults[0].got - event.check.faults[0].expected == pytest.approx(0.5, rel=1e-3)


def test_step_raises(spoiled: list[int]) -> None:
    spoiled.append(1)
    g = JaxGuard()
    a = jnp.ones((8, 8))
    g(lambda a: a @ a)(a)
    with pytest.raises(ProductFaultError, match="dot_general"):
        g.step()
    g.step()  # told once


def test_products_of_many_axes() -> None:
    rng = np.random.default_rng(1)
    a, b = (jnp.asarray(rng.standard_normal(s), "float32") for s in ((2, 3, 4, 5), (4, 6, 2, 5)))
    g = JaxGuard()
    f = lambda a, b: jnp.einsum("bxkl,kybl->bxy", a, b)  # noqa: E731
    np.testing.assert_allclose(g(f)(a, b), f(a, b), rtol=1e-5)
    h = jax.vmap(lambda u, v: u @ v, in_axes=(0, None))
    np.testing.assert_allclose(g(h)(a[0], b[0, 0, 0]), h(a[0], b[0, 0, 0]), rtol=1e-5)
    g.step()
    assert g.suspicious == 0
    assert sum(g.covered.values()) == 2


def test_what_is_not_entered_is_counted() -> None:
    g = JaxGuard()
    g(lambda x: jax.lax.while_loop(lambda c: c.sum() < 100, lambda c: c @ c, x))(jnp.ones((3, 3)))
    g(lambda x: x @ x)(jnp.ones((3, 3), "int32"))
    x = jnp.ones((1, 2, 5))
    g(lambda x: jax.lax.conv_general_dilated(x, jnp.ones((3, 2, 2)), (1,), "VALID"))(x)
    g.step()
    assert g.uncovered == {"while": 1, "dot_general": 1, "conv_general_dilated": 1}


def test_misuse() -> None:
    with pytest.raises(UsageError, match="repair"):
        JaxGuard("repair")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="false_alarm"):
        JaxGuard(false_alarm=2.0)
