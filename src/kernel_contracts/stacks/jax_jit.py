"""JAX compiled: every kernel goes through `jax.jit` as a whole.

Requirement: arrays are traced, parameters that are passed by name are compiled in. A kernel that looks at the values
of its arrays fails as it does for its users.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kernel_contracts.stacks.jax import JaxStack


class JaxJitStack(JaxStack):
    """Compiled JAX."""

    name = "jax_jit"

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        import jax

        made: Callable[..., Any] = jax.jit(function, static_argnames=_by_name(function))
        return made


def _by_name(function: Callable[..., Any]) -> tuple[str, ...]:
    """Parameters that take no arrays: those by name only, and those with a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(
        p.name
        for p in parameters
        if p.kind not in stars
        and (p.kind is inspect.Parameter.KEYWORD_ONLY or p.default is not inspect.Parameter.empty)
    )


STACK = JaxJitStack()
