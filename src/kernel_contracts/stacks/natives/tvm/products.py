"""Products as sums over an axis, in TVM, in the accumulator's dtype and rounded once."""

from __future__ import annotations

from kernel_contracts.stacks.natives.tvm._build import Array, Expression, product, rounded, run, wide


def matmul(A: Array, B: Array) -> Array:
    return run(_matmul, A, B)


def _matmul(a: Expression, b: Expression) -> Expression:
    from tvm import te

    k = te.reduce_axis((0, a.shape[1]), "k")
    shape = (a.shape[0], b.shape[1])
    return rounded(te.compute(shape, lambda i, j: te.sum(product(a[i, k], b[k, j]), axis=k), name="total"), a)


def batched_matmul(A: Array, W: Array) -> Array:
    return run(_batched, A, W)


def _batched(a: Expression, w: Expression) -> Expression:
    from tvm import te

    k = te.reduce_axis((0, a.shape[2]), "k")
    shape = (a.shape[0], a.shape[1], w.shape[2])
    return rounded(te.compute(shape, lambda n, i, j: te.sum(product(a[n, i, k], w[n, k, j]), axis=k), name="total"), a)


def linear(x: Array, w: Array, b: Array) -> Array:
    return run(_linear, x, w, b)


def _linear(x: Expression, w: Expression, b: Expression) -> Expression:
    """The bias is added before the product is rounded."""
    from tvm import te, topi

    k = te.reduce_axis((0, x.shape[1]), "k")
    shape = (x.shape[0], w.shape[0])
    total = te.compute(shape, lambda i, j: te.sum(product(x[i, k], w[j, k]), axis=k), name="total")
    return rounded(topi.add(total, wide(b)), x)


def conv2d(x: Array, w: Array, *, stride: int = 1, padding: int = 0) -> Array:
    return run(_conv2d, x, w, stride=stride, padding=padding)


def _conv2d(x: Expression, w: Expression, stride: int, padding: int) -> Expression:
    from tvm import topi

    from kernel_contracts.stacks.tvm import accumulator

    return rounded(topi.nn.conv2d_nchw(x, w, stride, padding, 1, accumulator(str(x.dtype))), x)
