"""Functions of one element, moves and conversions, in OpenVINO."""

from __future__ import annotations

from kernel_contracts.stacks.natives.openvino._models import Ops, Port, Value, back, made, number, whole, wide


def gelu(x: Value) -> Value:
    return made(lambda ops, x: ops.gelu(x, "erf"), x)


def gelu_tanh(x: Value) -> Value:
    return made(lambda ops, x: ops.gelu(x, "tanh"), x)


def silu(x: Value) -> Value:
    return made(lambda ops, x: ops.swish(x), x)


def exp(x: Value) -> Value:
    return made(lambda ops, x: ops.exp(x), x)


def erf(x: Value) -> Value:
    return made(lambda ops, x: ops.erf(x), x)


def sqrt(x: Value) -> Value:
    return made(lambda ops, x: ops.sqrt(x), x)


def scale(x: Value, *, s: float = 0.5) -> Value:
    return made(_scale, x, s=s)


def _scale(ops: Ops, x: Port, s: float) -> Port:
    """In fp32, where the factor fits."""
    v = wide(ops, x)
    return back(ops, ops.multiply(v, number(ops, s, v)), x)


def multiply_add(a: Value, b: Value, c: Value) -> Value:
    return made(lambda ops, a, b, c: ops.add(ops.multiply(a, b), c), a, b, c)


def mul_chain(x: Value) -> Value:
    """All of it in the format of the data."""
    return made(lambda ops, x: ops.multiply(ops.multiply(x, number(ops, 1000, x)), number(ops, 0.75, x)), x)


def copy(x: Value) -> Value:
    """A model whose output is its input."""
    return made(lambda ops, x: x, x)


def transpose(x: Value) -> Value:
    return made(lambda ops, x: ops.transpose(x, whole(ops, 1, 0)), x)


def pad(x: Value, *, before: int = 1, after: int = 2) -> Value:
    return made(
        lambda ops, x, before, after: ops.pad(
            x, whole(ops, 0, before), whole(ops, 0, after), "constant", number(ops, 0, x)
        ),
        x, before=before, after=after,
    )  # fmt: skip


def cast_fp32(x: Value) -> Value:
    return made(lambda ops, x: ops.convert(x, "f32"), x)


def cast_fp16(x: Value) -> Value:
    return made(lambda ops, x: ops.convert(x, "f16"), x)


def cast_bf16(x: Value) -> Value:
    return made(lambda ops, x: ops.convert(x, "bf16"), x)


def cast_int8(x: Value) -> Value:
    return made(lambda ops, x: ops.convert(x, "i8"), x)


def cast_fp8_e4m3fn_nonsaturating(x: Value) -> Value:
    """What a conversion does with numbers beyond 448."""
    return made(lambda ops, x: ops.convert(x, "f8e4m3"), x)


def cast_fp8_e4m3fn(x: Value) -> Value:
    """Brought within 448 first: a conversion by itself does not saturate."""
    return made(lambda ops, x: ops.convert(ops.clamp(x, -448.0, 448.0), "f8e4m3"), x)


def cast_fp8_e5m2(x: Value) -> Value:
    return made(lambda ops, x: ops.convert(x, "f8e5m2"), x)


def cast_chain(x: Value) -> Value:
    return made(lambda ops, x: ops.convert(ops.convert(x, "bf16"), "f32"), x)
