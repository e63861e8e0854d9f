"""JAX in its worker: what it compiled is let go of before it fills the memory that a kernel may take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.measurement.process import ArrayIn, Kernel

pytest.importorskip("jax")

KERNEL = """
import jax
import jax.numpy as jnp
import numpy as np

compiled, kept = [0], []


@jax.jit
def inner(x):
    compiled[0] += 1  # runs while it is traced, and no more once it is compiled
    return x * 2


def grows(x):
    inner(x)
    kept.append(np.ones(600 << 20, np.uint8))
    return jnp.full(x.shape, compiled[0], x.dtype)


def stays(x):
    inner(x)
    return jnp.full(x.shape, compiled[0], x.dtype)
"""


@pytest.mark.parametrize(("name", "compiled"), [("stays", [1, 1, 1, 1, 1]), ("grows", [1, 1, 2, 2, 3])])
def test_compiled_code_is_dropped_where_a_process_has_grown_and_calls_go_on(
    tmp_path: Path, name: str, compiled: list[int]
) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    seen = []
    with Kernel(f"{tmp_path / 'k.py'}:{name}", stack="jax", timeout=60.0, memory_mb=4096) as kernel:
        for _ in range(5):
            result = kernel.call([ArrayIn("x", np.ones(3, np.float32))])
            assert result.outcome is Outcome.RETURNED, result.detail
            seen.append(int(result.outputs[0][0]))
        assert kernel.restarts == 0
    assert seen == compiled
