"""Symbolic sizes, and the type errors of programs under construction."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import BF16, BOOL, FORMATS, FP16, FP32, FP64, INT64
from kernel_contracts.numerics import dims
from kernel_contracts.numerics.builder import Builder
from kernel_contracts.numerics.operators import operator, operators, register

# ---------------------------------------------------------------------------------------------------------- dims

_LEAF = st.one_of(st.integers(0, 9), st.sampled_from("MNK"))
_SIZE = st.recursive(_LEAF, lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner), max_leaves=6)
_BINDING = {"M": 3, "N": 5, "K": 11}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from("+-*"), _SIZE, _SIZE)
def test_make_folds_without_changing_the_value(op: str, left: dims.Dim, right: dims.Dim) -> None:
    a, b = dims.evaluate(left, _BINDING), dims.evaluate(right, _BINDING)
    assert dims.evaluate(dims.make(op, left, right), _BINDING) == {"+": a + b, "-": a - b, "*": a * b}[op]


@settings(max_examples=100, deadline=None)
@given(_SIZE)
def test_text_reads_back_as_the_same_number(size: dims.Dim) -> None:
    assert eval(dims.text(size), {}, dict(_BINDING)) == dims.evaluate(size, _BINDING)
    assert dims.names(size) <= set(_BINDING)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (("+", "M", "N"), ("+", "N", "M"), True),
        (("*", 2, "M"), ("+", "M", "M"), True),
        (("*", ("+", "M", 1), "N"), ("+", ("*", "M", "N"), "N"), True),
        (("//", ("*", "M", 4), 2), ("*", "M", 2), True),
        ("M", "N", False),
        (("*", ("//", "M", 2), 2), "M", False),
        (("%", "M", 8), "M", False),
        (3, 4, False),
    ],
)
def test_sizes_are_equal_when_they_agree_everywhere(left: dims.Dim, right: dims.Dim, same: bool) -> None:
    assert dims.equal(left, right) is same
    found = dims.counterexample(left, right)
    if same:
        assert found is None
    else:
        assert found is not None
        assert dims.evaluate(left, found) != dims.evaluate(right, found)


def test_neutral_elements_vanish() -> None:
    assert dims.make("+", "M", 0) == dims.make("+", 0, "M") == dims.make("-", "M", 0) == "M"
    assert dims.make("*", "M", 1) == dims.make("*", 1, "M") == dims.make("//", "M", 1) == "M"
    assert dims.make("^", 2, 5) == 32
    assert dims.make("%", 7, 4) == 3


def test_broadcasting_follows_numpy_on_symbols() -> None:
    assert dims.broadcast([("M", 1), ("N",), ()]) == ("M", "N")
    assert dims.broadcast([(1, "N"), ("M", 1), (4, 1, 1)]) == (4, "M", "N")
    assert dims.product(("M", 1, 4)) == ("*", "M", 4)
    with pytest.raises(ArithmeticScopeError, match=r"\[M, K\] and \[N\] do not fit: K against N on axis -1"):
        dims.broadcast([("M", "K"), ("N",)])


@pytest.mark.parametrize(
    ("size", "message"), [("Q", "Q has no value"), (("//", "M", 0), "divides by zero"), (("?", 1, 2), "not '\\?'")]
)
def test_sizes_without_a_value_are_refused(size: dims.Dim, message: str) -> None:
    with pytest.raises(ArithmeticScopeError, match=message):
        dims.evaluate(size, _BINDING)


# ------------------------------------------------------------------------------------------------------- builder


def _draft() -> tuple[Builder, dict[str, int]]:
    b = Builder(FP32)
    return b, {
        "x": b.input("x", BF16, ("M", "K")), "w": b.input("w", BF16, ("K", "N")), "v": b.input("v", FP16, ("K",)),
        "i": b.input("i", INT64, ("M",)), "c": b.input("c", BOOL, ("M", "K")), "s": b.scalar("s", "real"),
    }  # fmt: skip


def test_types_follow_the_arithmetic_of_the_statement() -> None:
    b, n = _draft()
    assert str(b.type(b.op("matmul", [n["x"], n["w"]]))) == "fp32[M, N]"
    assert b.type(b.op("add", [n["x"], n["v"]])).shape == ("M", "K")
    b.format = BF16
    assert b.type(b.op("mul", [n["x"], n["x"]])).format == BF16
    assert b.type(b.op("add", [n["i"], n["i"]])).format == INT64
    assert b.type(b.op("mul", [n["i"], n["s"]])).format == BF16
    # what computes nothing keeps what its operands are held in, whatever the statement says
    assert b.type(b.op("max", [n["v"]], {"axis": (0,), "keep": False})).format == FP16
    assert b.type(b.op("where", [n["c"], n["x"], n["s"]])).format == FP64


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [("bf16", "fp16", "fp32"), ("tf32", "fp16", "tf32"), ("bf16", "fp32", "fp32"), ("fp8_e4m3fn", "fp8_e5m2", "fp32"),
     ("fp64", "fp16", "fp64"), ("fp8_e5m2", "fp16", "fp16")],
)  # fmt: skip
def test_mixed_formats_are_held_in_one_that_has_all_their_numbers(one: str, other: str, both: str) -> None:
    for names in ((one, other), (other, one)):
        b = Builder(FP32)
        parts = [b.input(n, FORMATS[n], (2,)) for n in names]
        assert b.type(b.op("concat", parts, {"axis": 0})).format.name == both


def test_equal_nodes_are_shared_and_unused_ones_dropped() -> None:
    b, n = _draft()
    square = b.op("mul", [n["x"], n["x"]])
    assert b.op("mul", [n["x"], n["x"]]) == square
    b.format = BF16
    assert b.op("mul", [n["x"], n["x"]]) != square
    b.op("exp", [n["w"]])
    b.name(square, "square")
    program = b.finish({"y": square}, ("M", "K"))
    assert [node.op for node in program.nodes].count("mul") == 1
    assert "exp" not in [node.op for node in program.nodes]
    assert set(program.inputs) == {"x", "w", "v", "i", "c"}
    assert set(program.scalars) == {"s"}
    result = program.nodes[program.outputs["y"]]
    assert result.label == "square"
    assert result.args == (program.inputs["x"],) * 2
    assert program.users(program.inputs["x"]) == [program.outputs["y"]]


Wrong = Callable[[Builder, dict[str, int]], int]
_WRONG: dict[str, tuple[Wrong, str]] = {
    "matmul sizes": (lambda b, n: b.op("matmul", [n["w"], n["x"]]), "contracts N with M"),
    "matmul rank": (lambda b, n: b.op("matmul", [n["s"], n["x"]]), "needs matrices"),
    "arity": (lambda b, n: b.op("add", [n["x"]]), r"add takes 2 operand\(s\), not 1"),
    "truth as number": (lambda b, n: b.op("add", [n["x"], n["c"]]), "a truth value is no number"),
    "number as truth": (lambda b, n: b.op("where", [n["x"], n["x"], n["x"]]), "where asks a truth value first"),
    "and of numbers": (lambda b, n: b.op("and", [n["x"], n["c"]]), "and joins truth values"),
    "any of numbers": (lambda b, n: b.op("any", [n["x"]], {"axis": (0,), "keep": False}), "any joins truth values"),
    "exp of truth": (lambda b, n: b.op("exp", [n["c"]]), "needs numbers"),
    "axis": (lambda b, n: b.op("sum", [n["x"]], {"axis": (2,), "keep": False}), "axis 2 does not exist"),
    "two axes": (lambda b, n: b.op("argmax", [n["x"]], {"axis": (0, 1), "keep": False}), "take one axis"),
    "cumsum axes": (lambda b, n: b.op("cumsum", [n["x"]], {"axis": (0, 1)}), "cumsum takes one axis"),
    "shapes": (lambda b, n: b.op("add", [n["x"], n["w"]]), "do not fit"),
    "reshape": (lambda b, n: b.op("reshape", [n["x"]], {"shape": ("M", "N")}), "changes the number of elements"),
    "transpose vector": (lambda b, n: b.op("transpose", [n["v"]], {"axes": None}), "needs two dimensions"),
    "transpose twice": (lambda b, n: b.op("transpose", [n["x"]], {"axes": (0, 0)}), "each of its 2 axes once"),
    "concat": (lambda b, n: b.op("concat", [n["x"], n["w"]], {"axis": 1}), "needs equal other sizes"),
    "broadcast": (lambda b, n: b.op("broadcast", [n["x"]], {"shape": ("K",)}), "would drop or shrink a dimension"),
    "broadcast to one": (lambda b, n: b.op("broadcast", [n["x"]], {"shape": (1, "K")}), "would drop or shrink"),
    "gather": (lambda b, n: b.op("gather", [n["x"], n["v"]], {"axis": 0}), "needs integer indices"),
    "take_along": (lambda b, n: b.op("take_along", [n["x"], n["i"]], {"axis": 0}), "of the same rank"),
    "scatter": (lambda b, n: b.op("scatter", [n["x"], n["w"], n["i"]], {"axis": 0}), "wants updates of shape"),
    "round to integers": (lambda b, n: b.op("round", [n["x"]], {"format": INT64}), "round goes to a real format"),
    "einsum form": (lambda b, n: b.op("einsum", [n["x"], n["w"]], {"spec": "ij,jk"}), "is not of the form"),
    "einsum repeat": (lambda b, n: b.op("einsum", [n["x"], n["w"]], {"spec": "ii,ik->k"}), "repeats an index"),
    "einsum result": (lambda b, n: b.op("einsum", [n["x"], n["w"]], {"spec": "ij,jk->iz"}), "that no operand has"),
    "einsum rank": (lambda b, n: b.op("einsum", [n["v"], n["w"]], {"spec": "ij,jk->ik"}), "wants rank 2"),
    "einsum sizes": (lambda b, n: b.op("einsum", [n["x"], n["w"]], {"spec": "ij,kj->ik"}), "index j is K and N"),
    "unknown": (lambda b, n: b.op("frobnicate", [n["x"]]), "no operator 'frobnicate'"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", sorted(_WRONG))
def test_programs_that_do_not_type_are_refused(wrong: str) -> None:
    make, message = _WRONG[wrong]
    with pytest.raises(ArithmeticScopeError, match=message):
        make(*_draft())


def test_an_operator_name_is_taken_once() -> None:
    assert register(operator("exp")) is operators()["exp"]
    from dataclasses import replace

    with pytest.raises(ValueError, match="'exp' exists already"):
        register(replace(operator("exp"), doc="another"))
