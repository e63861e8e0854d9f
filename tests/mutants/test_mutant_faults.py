"""Each mutant does what it says: its numbers are those of the fault, worked out beside it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mutant_programs import mutate, only, program, rounded, value

from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.formats import FORMATS
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.numerics.rounding import round_to

RNG = np.random.default_rng(11)
FP16, BF16, TF32 = FORMATS["fp16"], FORMATS["bf16"], FORMATS["tf32"]
MATMUL = program("f (x: fp32[M, K], w: fp32[K, N]) -> y: fp32[M, N]", "y = matmul(x, w) in fp32")
SUM = program("f (x: fp32[N]) -> y: fp32[]", "y = sum(x) in fp32")
SOFTMAX = program(
    "f (x: fp32[M, N]) -> y: fp32[M, N]",
    "e = exp(x - max(x, axis = -1, keep)) in fp32\n y = e / sum(e, axis = -1, keep) in fp32",
)
VAR = program("f (x: fp32[M, N]) -> y: fp32[M]", "y = var(x, axis = -1) in fp32")
BIASED = program(
    "f (x: fp32[M, K], w: fp32[K, N], b: fp32[N]) -> y: bf16[M, N]",
    "y = round(maximum(matmul(x, w) + b, 0.0), bf16) in fp32",
)


def numbers(*shape: int) -> np.ndarray:
    return round_to(RNG.normal(size=shape), FORMATS["fp32"])


# ------------------------------------------------------------------------------------------------------- precision


def test_accumulate_keeps_sums_in_fewer_bits() -> None:
    ones = np.ones(4096)
    assert rounded(SUM, x=ones) == 4096
    assert rounded(only(SUM, "accumulate", "bf16"), x=ones) == 256, "256 + 1 is 256 in eight bits"
    made = only(MATMUL, "accumulate", "fp16")
    assert [n.format.name for n in made.nodes if n.op == "matmul"] == ["fp16"]
    assert (
        made.nodes[made.outputs["y"]].type.format == FP16 or rounded(made, x=[[2048.0, 1.0]], w=[[1.0], [1.0]]) == 2048
    )
    assert mutate(only(SUM, "accumulate", "bf16"), "accumulate", "fp16") == [], "nothing there is wider than fp16"


def test_operands_are_rounded_before_they_are_used() -> None:
    x, w = numbers(3, 8), numbers(8, 2)
    made = only(MATMUL, "operands", "tf32")
    assert np.allclose(value(made, x=x, w=w), round_to(x, TF32) @ round_to(w, TF32), rtol=1e-14, atol=1e-14)
    assert not np.allclose(value(made, x=x, w=w), x @ w, rtol=1e-6)


def test_narrow_rounds_one_intermediate_at_a_time() -> None:
    made = mutate(SOFTMAX, "narrow", "bf16")
    assert len(made) >= 3
    assert all("held in bf16" in where for where, _ in made)
    exponentials = dict(made)["e held in bf16"]
    x = numbers(2, 5)
    e = round_to(np.exp(x - x.max(-1, keepdims=True)), BF16)
    assert np.allclose(value(exponentials, x=x), e / e.sum(-1, keepdims=True), rtol=1e-12)
    assert len({str(p.nodes) for _, p in made}) == len(made)


def test_narrow_leaves_what_may_be_narrow_alone() -> None:
    base = program("f (x: fp32[N]) -> y: fp32[N]", "t = at_least(exp(x), bf16) in fp32\n y = t + t in fp32")
    assert mutate(base, "narrow", "bf16") == []


def test_unrounded_skips_a_mandated_rounding() -> None:
    base = program(
        "f (x: fp32[N]) -> y: bf16[N]", "t = round(x * 3.0, bf16) in fp32\n y = round(t * 3.0, bf16) in fp32"
    )
    made = only(base, "unrounded")
    x = numbers(64)
    twice = round_to(3 * round_to(3 * x, BF16), BF16)
    assert np.array_equal(value(base, x=x), twice)
    assert np.array_equal(value(made, x=x), round_to(9 * x, BF16))
    assert not np.array_equal(value(made, x=x), twice)


def test_partial_adds_rounded_parts() -> None:
    x, w = numbers(3, 10), numbers(10, 2)
    made = only(MATMUL, "partial", "fp16", 4)
    cuts = [10 * k // 4 for k in range(5)]
    parts = [round_to(x[:, a:b] @ w[a:b], FP16) for a, b in itertools.pairwise(cuts)]
    total = parts[0]
    for part in parts[1:]:
        total = round_to(total + part, FP16)
    assert np.allclose(value(made, x=x, w=w), total, rtol=2.0**-10)
    assert not np.allclose(value(made, x=x, w=w), x @ w, rtol=1e-6)


def test_truncate_cuts_the_result_off() -> None:
    base = program("f (x: fp32[N]) -> y: bf16[N]", "y = round(x * 1.0, bf16) in fp32")
    made = only(base, "truncate")
    x = numbers(200)
    assert (np.abs(rounded(made, x=x)) <= np.abs(x)).all()
    assert np.array_equal(rounded(made, x=x), np.sign(x) * (np.abs(x).astype(np.float32).view(np.uint32) >> 16 << 16)
                          .astype(np.uint32).view(np.float32))  # fmt: skip
    assert not np.array_equal(rounded(made, x=x), rounded(base, x=x))
    assert mutate(MATMUL, "truncate") == [], "nothing is narrowed at its end"


def test_arithmetic_does_everything_in_fewer_bits() -> None:
    made = only(SOFTMAX, "arithmetic", "bf16")
    assert {n.format.name for n in made.nodes if n.args} == {"bf16"}
    x = numbers(4, 16)
    assert np.array_equal(rounded(made, x=x), round_to(rounded(made, x=x), BF16))


# ---------------------------------------------------------------------------------------------------------- shapes


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 40, 48])
def test_drop_tail_leaves_out_exactly_the_tail_of_a_sum(size: int) -> None:
    made = dict(mutate(SUM, "drop_tail", 16))["terms past the last whole tile of 16 left out of sums"]
    x = np.ones(size)
    assert value(made, x=x) == size // 16 * 16


@pytest.mark.parametrize("size", [1, 8, 11, 16])
def test_drop_tail_zeroes_exactly_the_tail_of_an_output(size: int) -> None:
    made = dict(mutate(MATMUL, "drop_tail", 8))
    x, w = numbers(size, 8), numbers(8, size)
    kept = size // 8 * 8
    rows = value(made["the tail of y along axis 0 never written (tile 8)"], x=x, w=w)
    columns = value(made["the tail of y along axis 1 never written (tile 8)"], x=x, w=w)
    right = x @ w
    assert np.allclose(rows[:kept], right[:kept])
    assert not rows[kept:].any()
    assert np.allclose(columns[:, :kept], right[:, :kept])
    assert not columns[:, kept:].any()
    assert rows.shape == columns.shape == right.shape


def test_pad_zero_takes_padding_for_data() -> None:
    made = dict(mutate(SOFTMAX, "pad_zero", 16))
    x = numbers(2, 5)
    padded = np.pad(x, ((0, 0), (0, 11)))
    e = np.exp(padded - padded.max(-1, keepdims=True))
    got = value(made["zeros of the padding of N (to a multiple of 16) taken for data"], x=x)
    assert np.allclose(got, (e / e.sum(-1, keepdims=True))[:, :5])
    assert np.allclose(
        value(made["zeros of the padding of M (to a multiple of 16) taken for data"], x=x), value(SOFTMAX, x=x)
    )
    whole = numbers(2, 16)
    assert np.allclose(value(made["zeros of the padding of N (to a multiple of 16) taken for data"], x=whole),
                       value(SOFTMAX, x=whole))  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- stages


def test_no_max_subtraction_overflows_where_the_original_does_not() -> None:
    made = only(SOFTMAX, "no_max_subtraction")
    x = np.array([[0.5, 0.25, -1.0]])
    assert np.allclose(value(made, x=x), value(SOFTMAX, x=x))
    shifted = rounded(SOFTMAX, x=x + 100)
    with np.errstate(all="ignore"):
        assert not np.isfinite(rounded(made, x=x + 100)).all()
    assert np.allclose(shifted, rounded(SOFTMAX, x=x), rtol=1e-4)


def test_naive_variance_is_the_formula() -> None:
    made = only(VAR, "naive_variance")
    x = numbers(3, 20)
    assert np.allclose(value(made, x=x), (x * x).mean(-1) - x.mean(-1) ** 2, rtol=1e-12)
    assert np.allclose(value(made, x=x), value(VAR, x=x))
    off = x + 4096
    assert np.allclose(rounded(VAR, x=off), off.var(-1), rtol=1e-4)
    assert not np.allclose(rounded(made, x=off), off.var(-1), rtol=0.1), "it cancels"


def test_bessel_divides_by_the_other_count() -> None:
    x = numbers(3, 7)
    assert np.allclose(value(only(VAR, "bessel"), x=x), x.var(-1, ddof=1))
    unbiased = program("f (x: fp32[M, N]) -> y: fp32[M]", "y = var(x, axis = -1, correction = 1) in fp32")
    assert np.allclose(value(only(unbiased, "bessel"), x=x), x.var(-1))


def test_erf_by_tanh_is_the_approximation() -> None:
    gelu = program("f (x: fp32[N]) -> y: fp32[N]", "y = 0.5 * x * (1.0 + erf(x * 0.7071067811865476)) in fp32")
    x = np.linspace(-4, 4, 81)
    exact = np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x])
    tanh = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    assert np.allclose(value(gelu, x=x), exact, atol=1e-12)
    assert np.allclose(value(only(gelu, "erf_by_tanh"), x=x), tanh, atol=1e-9)
    assert np.abs(tanh - exact).max() > 4e-4


def test_bias_and_activation_swapped() -> None:
    x, w, b = numbers(3, 4), numbers(4, 2), np.array([-5.0, 5.0])
    right = np.maximum(x @ w + b, 0)
    late = np.maximum(x @ w, 0) + b
    assert np.allclose(value(BIASED, x=x, w=w, b=b), right, rtol=0.01, atol=1e-6)
    assert np.allclose(value(only(BIASED, "bias_after_activation"), x=x, w=w, b=b), late, rtol=0.01, atol=1e-6)
    plain = program("f (x: fp32[M, K], w: fp32[K, N], b: fp32[N]) -> y: fp32[M, N]", "y = matmul(x, w) + b in fp32")
    assert mutate(plain, "bias_after_activation") == [], "without an activation nothing is swapped"


def test_an_addend_left_out() -> None:
    x, w, b = numbers(3, 4), numbers(4, 2), np.array([-5.0, 5.0])
    got = value(only(BIASED, "drop_addend"), x=x, w=w, b=b)
    assert np.allclose(got, np.maximum(x @ w, 0), rtol=0.01, atol=1e-6)


def test_a_mask_ignored() -> None:
    base = program("f (x: fp32[N], z: fp32[N]) -> y: fp32[N]", "y = where(x > 0, z, -inf) in fp32")
    x, z = np.array([1.0, -1.0]), np.array([3.0, 4.0])
    assert list(value(base, x=x, z=z)) == [3.0, -np.inf]
    assert list(value(only(base, "no_mask"), x=x, z=z)) == [3.0, 4.0]


def test_a_scale_without_its_root() -> None:
    base = program("f (x: fp32[M, D]) -> y: fp32[M, D]", "y = x / sqrt(D) in fp32")
    x = numbers(2, 16)
    assert np.allclose(value(base, x=x), x / 4)
    assert np.allclose(value(only(base, "drop_sqrt"), x=x), x / 16)


def test_a_parameter_ignored() -> None:
    base = program(
        "f (x: fp32[N]; eps: real = 1e-3, k: int = 4, flag: bool = true) -> y: fp32[N]",
        "y = where(flag, x + eps, x) * k in fp32",
    )
    given = {"eps": 0.5, "k": 3, "flag": True}
    x = np.array([1.0])
    made = dict(mutate(base, "ignore_parameter"))
    found = {w.split()[2]: float(value(p, given, x=x)[0]) for w, p in made.items()}
    assert found == pytest.approx({"eps": 3 * (1 + 1e-5), "k": 1.5, "flag": 3.0})
    assert list(dict(mutate(base, "ignore_parameter", "k"))) == ["the parameter k ignored"]


def test_rows_in_the_wrong_order() -> None:
    x = numbers(4, 3)
    base = program("f (x: fp32[M, N]) -> y: fp32[M, N]", "y = x + x in fp32")
    assert np.array_equal(value(only(base, "flip_rows"), x=x), 2 * x[::-1])


# -------------------------------------------------------------------------------------------------- in general


NONE = program("f (x: fp32[N]) -> y: fp32[N]", "y = x")
NOT_FOR_COPIES = sorted(set(mutants()) - {"drop_tail", "flip_rows", "pad_zero"})


@pytest.mark.parametrize("name", NOT_FOR_COPIES)
def test_a_mutant_yields_nothing_where_it_does_not_apply(name: str) -> None:
    for arguments in mutants()[name].defaults:
        assert mutate(NONE, name, *arguments) == []


@pytest.mark.parametrize("name", ["accumulate", "operands", "narrow", "partial", "arithmetic"])
def test_an_unknown_format_is_named(name: str) -> None:
    with pytest.raises(ArithmeticScopeError, match="there is no number format fp31"):
        mutate(MATMUL, name, "fp31")


# ------------------------------------------------------------------------------------------------- forms of a function


def test_erf_by_its_complement_has_no_digits_near_zero() -> None:
    base = program("f (x: fp32[N]) -> y: fp32[N]", "y = erf(x) in fp32")
    x = np.array([2.0**-30, 0.5])
    made = rounded(only(base, "cancelling_form"), x=x)
    assert made[0] == 0, "1 - erfc is 1 - 1 there"
    assert made[1] == pytest.approx(math.erf(0.5), rel=2.0**-21)


def test_a_root_by_its_reciprocal_is_off_by_a_unit_at_most_but_not_nearest() -> None:
    base = program("f (x: fp32[N]) -> y: fp32[N]", "y = round(sqrt(x), fp32) in fp64")
    x = round_to(1 + RNG.random(4000), FORMATS["fp32"])
    right = round_to(np.sqrt(x), FORMATS["fp32"])
    made = rounded(only(base, "reciprocal_root"), x=x)
    assert np.array_equal(rounded(base, x=x), right)
    assert 0 < np.count_nonzero(made != right) < x.size
    assert np.abs(made - right).max() <= 2 * 2.0**-23
    assert rounded(only(base, "reciprocal_root"), x=np.zeros(1))[0] == 0
