"""Products of matrices, linear layers and convolutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernel_contracts.conformance.onnx_import.building import Builder, NoOperation, Value
from kernel_contracts.conformance.onnx_import.reading import OnnxNode

Inputs = Sequence[Value]


def matmul(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    """With one matrix on the right all rows at once, else a product for each entry of the batch."""
    x, y = inputs
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise NoOperation(f"{node} multiplies with a vector: give it a second axis")
    if len(y.shape) == 2:
        rows = b.rows(x)
        product = b.step("matmul", (rows, y), (rows.shape[0], y.shape[1]))
        return b.reshape(product, (*x.shape[:-1], y.shape[1]))
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    count = int(np.prod(batch, dtype=np.int64))
    one, two = (b.reshape(b.expand(v, (*batch, *v.shape[-2:])), (count, *v.shape[-2:])) for v in (x, y))
    product = b.step("batched_matmul", (one, two), (count, x.shape[-2], y.shape[-1]))
    return b.reshape(product, (*batch, x.shape[-2], y.shape[-1]))


def gemm(b: Builder, node: OnnxNode, inputs: Sequence[Value | None]) -> Value:
    x, w, c = (*inputs, None)[:3]
    assert x is not None
    assert w is not None
    if node.attributes.get("alpha", 1.0) != 1 or (c is not None and node.attributes.get("beta", 1.0) != 1):
        raise NoOperation(f"{node} scales its product or its bias; write the factor as a node of its own")
    x = b.permute(x, (1, 0)) if node.attributes.get("transA", 0) else x
    if c is None:
        w = b.permute(w, (1, 0)) if node.attributes.get("transB", 0) else w
        return b.step("matmul", (x, w), (x.shape[0], w.shape[1]))
    w = w if node.attributes.get("transB", 0) else b.permute(w, (1, 0))
    width = w.shape[0]
    if c.size not in (1, width) or (c.size == width and c.shape[-1:] != (width,)):
        raise NoOperation(f"{node} adds a {list(c.shape)}; a bias for each of the {width} columns has an operation")
    return b.step("linear", (x, w, b.line(b.expand(b.line(c), (width,)))), (x.shape[0], width))


def conv(b: Builder, node: OnnxNode, inputs: Inputs) -> Value:
    """Of images, with one stride and one padding; a bias is added by a step of its own."""
    x, w, *bias = inputs
    a = node.attributes
    strides, pads = list(a.get("strides", [1, 1])), list(a.get("pads", [0] * 4))
    plain = (
        len(x.shape) == 4
        and a.get("group", 1) == 1
        and a.get("auto_pad", b"NOTSET") == b"NOTSET"
        and set(a.get("dilations", [1])) == {1}
        and len(set(strides)) == 1
        and len(set(pads)) == 1
    )
    if not plain:
        raise NoOperation(
            f"{node} is grouped, dilated, padded unevenly or not of images; conv2d has one stride and one padding"
        )
    stride, padding = int(strides[0]), int(pads[0])
    sizes = [(n + 2 * padding - k) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    shape = (x.shape[0], w.shape[0], *sizes)
    y = b.step("conv2d", (x, w), shape, parameters={"stride": stride, "padding": padding})
    if not bias:
        return y
    spread = b.rows(b.expand(b.reshape(bias[0], (1, w.shape[0], 1, 1)), shape))
    return b.reshape(b.step("add", (b.rows(y), spread), spread.shape), shape)


RULES: Mapping[str, Callable[..., Value]] = {"MatMul": matmul, "Gemm": gemm, "Conv": conv}
