"""A small transformer encoder as data: blocks of attention and a feed-forward part, weights drawn from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.conformance.model_file import Model, Step


def encoder(
    *, blocks: int = 2, tokens: int = 12, width: int = 32, heads: int = 4, vocabulary: int = 50, classes: int = 10,
    seed: int = 1,
) -> Model:  # fmt: skip
    """Token indices to logits, one sequence."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, NDArray[Any]] = {"tokens": rng.integers(0, vocabulary, tokens)}
    steps: list[Step] = []

    def weight(name: str, *shape: int) -> str:
        scale = 1 / np.sqrt(shape[-1]) if len(shape) > 1 else 0.1
        arrays[name] = (rng.standard_normal(shape) * scale).astype(np.float32)
        return name

    def step(name: str, operation: str, *inputs: str, **parameters: Any) -> str:
        steps.append(Step(name, operation, inputs, (f"{name}: y",), parameters))
        return f"{name}: y"

    def linear(name: str, x: str, out: int, into: int) -> str:
        return step(name, "linear", x, weight(f"{name}: w", out, into), weight(f"{name}: b", out))

    def norm(name: str, x: str) -> str:
        return step(name, "layernorm", x, weight(f"{name}: gamma", width), weight(f"{name}: beta", width))

    def split(name: str, x: str) -> str:
        apart = step(f"{name}: split", "reshape", x, shape=[1, tokens, heads, width // heads])
        return step(f"{name}: heads", "permute", apart, axes=[0, 2, 1, 3])

    x = step("embedding", "embedding", weight("table", vocabulary, width), "tokens")
    for k in range(blocks):
        at = f"block {k}"
        h = norm(f"{at} norm 1", x)
        parts = [split(f"{at} {p}", linear(f"{at} {p}", h, width, width)) for p in ("q", "k", "v")]
        o = step(f"{at} attention", "attention", *parts)
        o = step(f"{at} merge", "permute", o, axes=[0, 2, 1, 3])
        o = step(f"{at} flat", "reshape", o, shape=[tokens, width])
        x = step(f"{at} add 1", "add", x, linear(f"{at} out", o, width, width))
        h = linear(f"{at} up", norm(f"{at} norm 2", x), 4 * width, width)
        h = step(f"{at} line", "reshape", h, shape=[tokens * 4 * width])
        h = step(f"{at} gelu", "gelu", h)
        h = step(f"{at} rows", "reshape", h, shape=[tokens, 4 * width])
        x = step(f"{at} add 2", "add", x, linear(f"{at} down", h, width, 4 * width))
    logits = linear("head", norm("last norm", x), classes, width)
    return Model("encoder", arrays, tuple(steps), (logits,))
