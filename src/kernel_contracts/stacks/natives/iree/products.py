"""Products, by IREE."""

from __future__ import annotations

from kernel_contracts.stacks.natives.iree._modules import Array, Graph, Port, gelu_of, made, tensor


def matmul(A: Array, B: Array) -> Array:
    """In the format of the data, as a front end lowers it that names no other."""
    return made(lambda g, A, B: g.dot(A, B, (1, 0)), A, B)


def batched_matmul(A: Array, W: Array) -> Array:
    return made(lambda g, A, W: g.dot(A, W, (2, 1), 1), A, W)


def linear(x: Array, w: Array, b: Array) -> Array:
    return made(_linear, x, w, b)


def _linear(g: Graph, x: Port, w: Port, b: Port) -> Port:
    product = g.dot(x, w, (1, 1))
    return g.add(product, g.spread(b, product.shape, (1,)))


def linear_gelu(x: Array, w: Array, b: Array) -> Array:
    return made(_linear_gelu, x, w, b)


def _linear_gelu(g: Graph, x: Port, w: Port, b: Port) -> Port:
    bias = g.wide(b)
    product = g.dot(x, w, (1, 1), element=bias.element)
    return g.convert(gelu_of(g, g.add(product, g.spread(bias, product.shape, (1,)))), x.element)


def conv2d(x: Array, w: Array, *, stride: int = 1, padding: int = 0) -> Array:
    return made(_conv2d, x, w, stride=stride, padding=padding)


def _conv2d(g: Graph, x: Port, w: Port, stride: int, padding: int) -> Port:
    height, width = ((x.shape[k] + 2 * padding - w.shape[k]) // stride + 1 for k in (2, 3))
    shape = (x.shape[0], w.shape[0], height, width)
    text = (
        f"stablehlo.convolution({x.name}, {w.name}) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], "
        f"window = {{stride = [{stride}, {stride}], pad = [[{padding}, {padding}], [{padding}, {padding}]]}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} "
        f": ({x.type}, {w.type}) -> {tensor(shape, x.element)}"
    )
    return g.raw(text, (shape, x.element))[0]
