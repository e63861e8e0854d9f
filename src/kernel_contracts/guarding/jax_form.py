"""The guard for JAX: a function whose `dot_general`s are verified where they run, compiled along with them.

The function is traced and traced again with a first look beside every product, so that checks run on the device, with
a secret that is an argument of each call. Operands leave the device only where a look is suspicious: a callback hands
them to `check_product`, and nothing but that accuses. Inner jitted functions, checkpoints and scans are entered; what
is inside other control flow is counted as uncovered. Differentiate first: `guarded(jax.grad(f))`. Since products are
kept apart from what follows them, XLA may fuse, and round, the rest otherwise than without the guard.
"""

from __future__ import annotations

import functools
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from kernel_contracts.errors import UsageError
from kernel_contracts.guarding.events import Event, ProductFaultError
from kernel_contracts.guarding.spread import MEANS, spread
from kernel_contracts.guarding.thin import GRADE
from kernel_contracts.numerics.freivalds.product import check_product

_FORMATS = {"float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16"}
_ENTERED = ("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2", "custom_jvp_call", "custom_vjp_call")
"""Primitives that hold a function and do no more than call it."""


class JaxGuard:
    """Guards functions: `f = g(f)`; what is wrong is in `events`, or raised by `step`."""

    def __init__(self, on_violation: Literal["raise", "record"] = "raise", false_alarm: float = 1e-9) -> None:
        if on_violation not in ("raise", "record"):
            raise UsageError(f"on_violation={on_violation!r}: raise or record; what ran on a device cannot be repaired")
        if not 0 < false_alarm < 1:
            raise UsageError(f"false_alarm={false_alarm}: a probability between 0 and 1, for example 1e-9")
        self.events: list[Event] = []
        self.covered: Counter[str] = Counter()
        """Products that were traced, by their formats."""
        self.uncovered: Counter[str] = Counter()
        """Products that are not verified, by the primitive that holds them."""
        self.suspicious = 0
        self._raise, self.false_alarm = on_violation == "raise", false_alarm
        self._told = self._step = 0
        self._lock = threading.Lock()

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """f, jitted, with its products verified. Arguments are arrays, or trees of them."""
        import jax

        def traced(secret: Any, args: Any, kwargs: Any) -> Any:
            closed, shape = jax.make_jaxpr(lambda a, k: f(*a, **k), return_shape=True)(args, kwargs)
            flat = jax.tree.leaves((args, kwargs))
            results = _Run(self, jax.random.key(secret)).run(closed.jaxpr, closed.consts, flat)
            return jax.tree.unflatten(jax.tree.structure(shape), results)

        compiled = jax.jit(traced)

        @functools.wraps(f)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            return compiled(np.uint32(secrets.randbits(32)), args, kwargs)

        return guarded

    def step(self) -> None:
        """Wait for what was called so far, and raise ProductFaultError for what was wrong, if so chosen."""
        import jax

        jax.effects_barrier()
        with self._lock:
            new, self._told = self.events[self._told :], len(self.events)
            self._step += 1
        if new and self._raise:
            raise ProductFaultError(new[0])

    def examine(self, how: dict[str, Any], a: Any, b: Any, c: Any) -> None:
        """The second look, on the host."""
        found = check_product(np.asarray(a), np.asarray(b), np.asarray(c), false_alarm=self.false_alarm, **how)
        with self._lock:
            self.suspicious += 1
            if not found.ok:
                shapes = tuple(tuple(x.shape) for x in (a, b, c))
                self.events.append(Event(self._step, self.suspicious, "dot_general", shapes, False, found, ()))


class _Run:
    """One evaluation of a traced function, with looks."""

    def __init__(self, guard: JaxGuard, key: Any) -> None:
        self._guard, self._key, self._drawn = guard, key, 0

    def run(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

        def read(v: Any) -> Any:
            return v.val if hasattr(v, "val") else values[v]

        for eqn in jaxpr.eqns:
            results = self._equation(eqn, [read(v) for v in eqn.invars])
            values.update(zip(eqn.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def _equation(self, eqn: Any, args: list[Any]) -> list[Any]:
        name = eqn.primitive.name
        inner = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
        if name in _ENTERED and inner is not None:
            return self.run(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), args)
        if name == "scan":
            return self._scan(eqn.params, args)
        if name == "dot_general":
            return [self._product(eqn.params, args[0], args[1], bind(eqn, args)[0])]
        held = sum(_products(sub) for sub in _held(eqn.params)) + (name == "conv_general_dilated")
        if held:
            self._guard.uncovered[name] += held
        return bind(eqn, args)

    def _scan(self, p: dict[str, Any], args: list[Any]) -> list[Any]:
        import jax

        first, second = p["num_consts"], p["num_consts"] + p["num_carry"]
        consts, carry, xs = args[:first], args[first:second], args[second:]

        def body(carry: Any, x: Any) -> Any:
            out = self.run(p["jaxpr"].jaxpr, p["jaxpr"].consts, [*consts, *carry, *x])
            return out[: p["num_carry"]], out[p["num_carry"] :]

        carry, ys = jax.lax.scan(body, carry, xs, length=p["length"], reverse=p["reverse"], unroll=p["unroll"])
        return [*carry, *ys]

    def _product(self, p: dict[str, Any], a: Any, b: Any, c: Any) -> Any:
        """c, with a look at it beside."""
        import jax
        from jax.experimental import io_callback

        names = [str(x.dtype) for x in (a, b, c)]
        if any(n not in _FORMATS for n in names) or c.size == 0 or a.size == 0 or p.get("out_sharding") is not None:
            self._guard.uncovered["dot_general"] += bool(c.size and a.size)
            return c
        self._guard.covered[" x ".join(names)] += 1
        a, b, c = jax.lax.optimization_barrier((a, b, c))  # what is looked at is what is used
        matrices = _matrices(p["dimension_numbers"], a, b, c)
        how = _allowed(p.get("precision"), names)
        flag = self._look(how, *matrices)

        def tell(*given: Any) -> None:
            io_callback(functools.partial(self._guard.examine, how), None, *given)

        jax.lax.cond(flag, tell, lambda *given: None, *matrices)
        return c

    def _look(self, how: dict[str, str], a: Any, b: Any, c: Any) -> Any:
        """Whether a residual passes its limit; batches of matrices."""
        import jax
        import jax.numpy as jnp

        fmt = [_FORMATS[str(x.dtype)] for x in (a, b, c)]
        double = "fp64" in fmt
        a, b, c = (x.astype(jnp.float64 if double else jnp.float32) for x in (a, b, c))
        (m, k), n = a.shape[-2:], b.shape[-1]
        self._drawn += 1
        even = jax.random.uniform(jax.random.fold_in(self._key, self._drawn), (n,), c.dtype, -0.5, 0.5)
        r = even * (4 * GRADE) + jnp.copysign(1 - GRADE, even).astype(c.dtype)

        def times(x: Any, y: Any) -> Any:
            return jnp.einsum("...mk,...k->...m", x, y, precision="highest")

        z, found = times(a, times(b, r)), times(c, r)
        q = jnp.sum(a * a, -1) * (jnp.sum(b * b, (-2, -1)) / k)[..., None]
        mean = jnp.sum(jnp.mean(b, -2) ** 2, -1)[..., None]
        base = MEANS * q + jnp.sum(a, -1) ** 2 * mean
        own = "fp64" if double else "fp32"
        s = spread(
            m * max(1, int(np.prod(c.shape[:-2]))), k, n, 1.0, False, how["accumulate"] or own, fmt[2],
            how["operands"], own, self._guard.false_alarm,
        )  # fmt: skip
        limit = s.squares * q + s.norms * (base + jnp.maximum(z * z - 4 * base, 0)) + s.constant
        return jnp.logical_not(jnp.all(limit - (z - found) ** 2 >= 0))


def bind(eqn: Any, args: Sequence[Any]) -> list[Any]:
    """The results of an equation as they are."""
    found = eqn.primitive.get_bind_params(eqn.params)
    subfuns, params = found if isinstance(found, tuple) else ((), found)  # versions before 0.8 give functions apart
    out = eqn.primitive.bind(*subfuns, *args, **params)
    return list(out) if eqn.primitive.multiple_results else [out]


def _matrices(numbers: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    """The product as batches (batch, m, k), (batch, k, n), (batch, m, n)."""
    (left, right), (batch_a, batch_b) = numbers
    free_a = [i for i in range(a.ndim) if i not in (*left, *batch_a)]
    free_b = [i for i in range(b.ndim) if i not in (*right, *batch_b)]
    k = int(np.prod([a.shape[i] for i in left]))
    lead = int(np.prod([a.shape[i] for i in batch_a]))
    a = a.transpose((*batch_a, *free_a, *left)).reshape(lead, -1, k)
    b = b.transpose((*batch_b, *right, *free_b)).reshape(lead, k, -1)
    return a, b, c.reshape(lead, a.shape[1], b.shape[2])


def _allowed(precision: Any, names: Sequence[str]) -> dict[str, str]:
    """What XLA may do: sums of fp16 and bf16 in their own format, and operands cut as accelerators do by default."""
    import jax

    narrow = {"float16": "fp16", "bfloat16": "bf16"}
    accumulate = narrow.get(names[2], "")
    each = precision if isinstance(precision, tuple) else (precision, precision)
    exact = jax.default_backend() == "cpu" or all(str(p).endswith("HIGHEST") for p in each)
    cut = "" if exact or "float32" not in names else "bf16" if jax.default_backend() == "tpu" else "tf32"
    return {"accumulate": accumulate, "operands": cut}


def _held(params: dict[str, Any]) -> list[Any]:
    """Functions among the parameters of a primitive."""
    flat = [y for x in params.values() for y in (x if isinstance(x, tuple | list) else (x,))]
    return [getattr(x, "jaxpr", x) for x in flat if hasattr(getattr(x, "jaxpr", x), "eqns")]


def _products(jaxpr: Any) -> int:
    """Products in a function and in what it holds."""
    return sum(
        (eqn.primitive.name in ("dot_general", "conv_general_dilated"))
        + sum(_products(sub) for sub in _held(eqn.params))
        for eqn in jaxpr.eqns
    )
