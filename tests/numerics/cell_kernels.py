"""The kernels people write, as recipes for cells: softmax, norms, attention, convolution and the like."""

from __future__ import annotations

import math
from collections.abc import Mapping

from cells import Draft, Recipe, matrix, named


def _softmax(d: Draft, x: int) -> int:
    shifted = d.op("exp", d.op("sub", x, d.reduce("max", x)))
    return d.op("div", shifted, d.reduce("sum", shifted))


def softmax(d: Draft) -> int:
    return _softmax(d, matrix(d, 1))


def logsumexp(d: Draft) -> int:
    x = matrix(d, 1)
    top = d.reduce("max", x)
    return d.op("add", top, d.op("log", d.reduce("sum", d.op("exp", d.op("sub", x, top)))))


def layernorm(d: Draft) -> int:
    x = matrix(d, 1)
    centered = d.op("sub", x, d.reduce("mean", x))
    scale = d.op("rsqrt", d.op("add", d.reduce("var", x, correction=0), d.scalar(1e-5)))
    return d.op("add", d.op("mul", d.op("mul", centered, scale), d.real(("N",))), d.real(("N",)))


def rmsnorm(d: Draft) -> int:
    x = matrix(d, 1)
    scale = d.op("rsqrt", d.op("add", d.reduce("mean", d.op("mul", x, x)), d.builder.constant(1e-6)))
    return d.op("mul", d.op("mul", x, scale), d.real(("N",)))


def attention(d: Draft) -> int:
    q, k, v = (d.size("Q", low=1, high=13), d.size("S", low=1, high=64), d.size("D", low=1, high=64))
    scores = d.op("matmul", d.real((q, v)), d.op("transpose", d.real((k, v)), axes=None))
    scores = d.op("mul", scores, d.op("rsqrt", d.builder.size(v)))
    if d.chance(0.6):
        scores = d.op("where", d.truth((q, k)), scores, d.builder.constant(d.pick([-math.inf, -1e9])))
    p = _softmax(d, scores)
    if d.chance(0.4):
        p = d.op("at_least", p, format=named("bf16"))
    return d.op("matmul", p, d.real((k, v)))


def gelu(d: Draft) -> int:
    x = matrix(d)
    half = d.op("mul", x, d.builder.constant(0.5))
    if d.chance(0.5):
        inner = d.op("erf", d.op("div", x, d.op("sqrt", d.builder.constant(2.0))))
    else:
        cube = d.op("mul", d.op("mul", x, x), x)
        inner = d.op("add", x, d.op("mul", d.builder.constant(0.044715), cube))
        inner = d.op("tanh", d.op("mul", d.builder.constant(math.sqrt(2 / math.pi)), inner))
    return d.op("mul", half, d.op("add", d.builder.constant(1.0), inner))


def variance(d: Draft) -> int:
    x = matrix(d, 1)
    centered = d.op("sub", x, d.reduce("mean", x))
    total = d.reduce("sum", d.op("mul", centered, centered), keep=False)
    return d.op("div", total, d.builder.size("N"))


def cdist(d: Draft) -> int:
    a, b = d.real((d.size("M", high=13), d.size("K", high=64))), d.real((d.size("N", high=13), "K"))
    difference = d.op("sub", d.op("expand", a, axis=1), d.op("expand", b, axis=0))
    return d.op("sqrt", d.reduce("sum", d.op("mul", difference, difference), keep=False))


def conv2d(d: Draft) -> int:
    x = d.real((d.size("B", high=2), d.size("C", low=1, high=4), 7, 8))
    w = d.real((d.size("O", low=1, high=3), "C", 3, 2))
    stride, padding, dilation = int(d.rng.integers(1, 3)), int(d.rng.integers(0, 2)), int(d.rng.integers(1, 3))
    for axis in (2, 3):
        x = d.op("pad", x, axis=axis, before=padding, after=padding, value=0.0)
    for axis, size in ((2, 3), (3, 2)):
        x = d.op("windows", x, axis=axis, size=size, stride=stride, dilation=dilation)
    return d.op("einsum", x, w, spec="ncxyrs,ocrs->noxy")


def cross_entropy(d: Draft) -> int:
    x = matrix(d, 1)
    top = d.reduce("max", x)
    shifted = d.op("sub", x, top)
    norm = d.op("log", d.reduce("sum", d.op("exp", shifted)))
    chosen = d.op("take_along", shifted, d.whole(("M", 1), 0, d.sizes["N"]), axis=1)
    loss = d.op("sub", norm, chosen)
    return d.reduce("mean", loss, (0, 1), keep=False)


KERNEL_PROGRAMS: Mapping[str, Recipe] = {
    "softmax": softmax, "logsumexp": logsumexp, "layernorm": layernorm, "rmsnorm": rmsnorm, "attention": attention,
    "gelu": gelu, "variance": variance, "cdist": cdist, "conv2d": conv2d, "cross_entropy": cross_entropy,
}  # fmt: skip
