"""The probes' claims: one exact answer in every order, and no narrow accumulator or cut operand gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_contracts.formats import BF16, FORMATS, FP16, FP32, FP64, Format, accumulator
from kernel_contracts.measurement.inputs.base import Request, TensorSpec, families
from kernel_contracts.numerics.rounding import round_to

LENGTHS = (16, 256, 4096)
Order = Callable[[np.ndarray, Callable[[np.ndarray], np.ndarray]], np.ndarray]

OPERANDS = [FORMATS[n] for n in ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2", "fp8_e4m3fnuz")]
ACCUMULATORS = [FP64, FP32, FP16, BF16, accumulator(14)]


def matrices(p: Format, q: Format, m: int, k: int, n: int) -> tuple[TensorSpec, TensorSpec]:
    return TensorSpec("A", p, (m, k), (1,)), TensorSpec("B", q, (k, n), (0,))


def make(name: str, tensors: tuple[TensorSpec, ...], acc: Format, out: Format, seed: int, products: bool) -> Request:
    return Request(tensors, acc, products, out, np.random.default_rng(seed))


def quanta(terms: np.ndarray) -> np.ndarray:
    """The lowest bit set in any term of each sum (last axis); 1 for a sum of zeros."""
    mantissa, exponent = np.frexp(terms)
    whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    lowest = np.where(whole > 0, np.ldexp((whole & -whole).astype(np.float64), exponent - 53), np.inf)
    least = lowest.min(axis=-1, initial=np.inf)
    return np.where(np.isinf(least), 1.0, least)


def check_exact_in_any_order(terms: np.ndarray, acc: Format, out: Format, *, magnitudes: bool = True) -> None:
    """Every partial sum in every order is a multiple of the quantum within 2^p of them, and the result is finite."""
    quantum = quanta(terms)
    plus = np.where(terms > 0, terms, 0).sum(-1) / quantum
    minus = -np.where(terms < 0, terms, 0).sum(-1) / quantum
    extreme = plus + minus if magnitudes else np.maximum(plus, minus)
    assert (extreme <= 2.0**acc.precision).all()
    assert (quantum >= acc.least_subnormal).all()
    assert (extreme * quantum <= acc.max_finite).all()
    assert (np.abs(terms.sum(-1)) <= out.max_finite).all()


def product_terms(values: dict[str, np.ndarray]) -> np.ndarray:
    return values["A"][:, None, :] * values["B"].T[None, :, :]


PROBES = [("exact", True), ("swamping", True), ("width", False), ("powers", True), ("permutation", True)]


@pytest.mark.parametrize(("name", "magnitudes"), PROBES)
@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_products_are_exact_in_every_order(name: str, magnitudes: bool, data: st.DataObject) -> None:
    p, q = data.draw(st.sampled_from(OPERANDS)), data.draw(st.sampled_from(OPERANDS))
    acc = data.draw(st.sampled_from(ACCUMULATORS))
    out = data.draw(st.sampled_from([*OPERANDS, BF16, FP16]))
    k = data.draw(st.sampled_from([1, 2, 3, 4, 5, 16, 33, 100, 1000]))
    m, n = data.draw(st.sampled_from([(1, 1), (1, 9), (7, 1), (6, 5)]))
    positive = data.draw(st.sampled_from(["", "", "", "A", "B"]))
    limit = data.draw(st.sampled_from([None, None, None, 0.3, 3.0, 100.0]))
    a, b = matrices(p, q, m, k, n)
    a = TensorSpec("A", p, a.shape, (1,), positive=positive == "A", limit=limit)
    b = TensorSpec("B", q, b.shape, (0,), positive=positive == "B")
    if positive and name in ("exact", "powers") and 2.0**acc.precision < 4 * k:
        return  # positive integers alone outgrow the accumulator: nothing exact exists
    values = families()[name].generate(make(name, (a, b), acc, out, data.draw(st.integers(0, 2**30)), True))
    terms = product_terms(values)
    if positive and name == "exact" and out.max_finite / 4 < k:
        out = FP64  # likewise for the output
    check_exact_in_any_order(terms, acc, out, magnitudes=magnitudes)


@pytest.mark.parametrize(("name", "magnitudes"), PROBES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_plain_sums_are_exact_in_every_order(name: str, magnitudes: bool, data: st.DataObject) -> None:
    p, acc = data.draw(st.sampled_from(OPERANDS)), data.draw(st.sampled_from(ACCUMULATORS))
    out = data.draw(st.sampled_from([*OPERANDS, BF16, FP16]))
    k = data.draw(st.sampled_from([1, 2, 3, 4, 16, 33, 1000]))
    spec = TensorSpec("x", p, (4, k, 3), (1,))
    values = families()[name].generate(make(name, (spec,), acc, out, data.draw(st.integers(0, 2**30)), False))
    check_exact_in_any_order(np.moveaxis(values["x"], 1, -1), acc, out, magnitudes=magnitudes)


@pytest.mark.parametrize("seed", range(20))
def test_a_bias_keeps_the_sums_exact(seed: int) -> None:
    bias = TensorSpec("bias", BF16, (5,))
    for name, magnitudes in PROBES:
        request = make(name, (*matrices(BF16, BF16, 6, 64, 5), bias), FP32, BF16, seed, True)
        values = families()[name].generate(request)
        with_bias = np.concatenate([product_terms(values), np.broadcast_to(values["bias"], (6, 5))[..., None]], axis=-1)
        check_exact_in_any_order(with_bias, FP32, BF16, magnitudes=magnitudes)


# ---------------------------------------------------------------------------- emulated kernels


def sequential(terms: np.ndarray, add: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    total = np.zeros(terms.shape[:-1])
    for i in range(terms.shape[-1]):
        total = add(total + terms[..., i])
    return total


def backwards(terms: np.ndarray, add: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return sequential(terms[..., ::-1], add)


def shuffled(terms: np.ndarray, add: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return sequential(terms[..., np.random.default_rng(9).permutation(terms.shape[-1])], add)


def pairwise(terms: np.ndarray, add: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    while terms.shape[-1] > 1:
        odd = terms[..., -1:] if terms.shape[-1] % 2 else terms[..., :0]
        halves = terms[..., : terms.shape[-1] // 2 * 2]
        terms = np.concatenate([add(halves[..., ::2] + halves[..., 1::2]), odd], axis=-1)
    return terms[..., 0]


def lanes(terms: np.ndarray, add: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    split = [sequential(terms[..., i::8], add) for i in range(8)]
    return sequential(np.stack(split, axis=-1), add)


ORDERS: list[Order] = [sequential, backwards, shuffled, pairwise, lanes]


def run(terms: np.ndarray, acc: Format, out: Format, order: Order) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        return round_to(order(round_to(terms, acc), lambda x: round_to(x, acc)), out)


def probe_cases(name: str, p: Format, out: Format) -> Iterator[tuple[Request, dict[str, np.ndarray]]]:
    for k in LENGTHS:
        for seed in range(2):
            request = make(name, matrices(p, p, 6, k, 6), FP32, out, seed, True)
            yield request, families()[name].generate(request)


@pytest.mark.parametrize("order", ORDERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("p", [FP16, BF16], ids=str)
@pytest.mark.parametrize("name", ["exact", "swamping", "width"])
def test_probes_tell_the_declared_accumulator_from_narrow_ones(name: str, p: Format, order: Order) -> None:
    """One sample each: the fp32 accumulator is exact in every order; fp16, bf16 and 14 bits are not."""
    for _, values in probe_cases(name, p, p):
        terms = product_terms(values)
        right = round_to(terms.sum(-1), p)
        np.testing.assert_array_equal(run(terms, FP32, p, order), right)
        for narrow in (FP16, BF16, accumulator(14)):
            got = run(terms, narrow, p, order)
            assert not np.array_equal(got, right), (terms.shape, narrow)


@pytest.mark.parametrize("name", ["exact", "swamping", "width"])
def test_plain_sums_show_narrow_accumulators(name: str) -> None:
    for p in (FP32, FP16, BF16):
        for k in LENGTHS:
            request = make(name, (TensorSpec("x", p, (24, k), (1,)),), FP32, p, k, False)
            terms = families()[name].generate(request)["x"]
            right = round_to(terms.sum(-1), p)
            for order in (sequential, shuffled):
                np.testing.assert_array_equal(run(terms, FP32, p, order), right)
                for narrow in (FP16, BF16, accumulator(14)):
                    assert not np.array_equal(run(terms, narrow, p, order), right), (p, k, narrow)


@pytest.mark.parametrize("bits", [8, 11, 13, 14, 18, 22, 23, 24])
@pytest.mark.parametrize("p", [FP32, FP16, BF16], ids=str)
def test_width_reads_the_bits_of_the_accumulator(bits: int, p: Format) -> None:
    family = families()["width"]
    for k in (16, 256):
        readings = []
        for seed in range(4):
            request = make("width", matrices(p, p, 48, k, 16), FP32, p, seed, True)
            values = family.generate(request)
            terms = product_terms(values)
            right = {"C": terms.sum(-1)}
            got = {"C": run(terms, accumulator(bits), p, shuffled)}
            readings.append(family.read(request, values, got, right)["effective_bits"])
        assert min(readings) == bits


def test_width_reads_fp8_products_within_its_window() -> None:
    family, fp8 = families()["width"], FORMATS["fp8_e4m3fn"]
    for bits in (14, 24):
        readings = []
        for seed in range(12):
            request = make("width", matrices(fp8, fp8, 40, 64, 8), FP32, BF16, seed, True)
            values = family.generate(request)
            terms = product_terms(values)
            got = {"C": run(terms, accumulator(bits), BF16, sequential)}
            reading = family.read(request, values, got, {"C": terms.sum(-1)})
            readings.append(reading["effective_bits"])
        assert min(readings) == bits


def test_width_claims_nothing_where_it_cannot_read() -> None:
    family = families()["width"]
    request = make("width", matrices(FP32, FP32, 4, 2, 4), FP32, FP32, 0, True)
    values = family.generate(request)
    right = {"C": values["A"] @ values["B"]}
    assert family.read(request, values, right, right) == {}
    request = make("width", matrices(FP32, FP32, 4, 64, 4), FP32, FP32, 0, True)
    values = family.generate(request)
    right = {"C": values["A"] @ values["B"]}
    large = np.abs(values["A"]).max() * np.abs(values["B"]).max()
    for wrong in (right["C"] + large, -large + right["C"], np.inf * right["C"]):  # a large term missing, or worse
        assert family.read(request, values, {"C": wrong}, right) == {"effective_bits": 24.0}
    assert family.read(request, values, {}, right) == {}
    assert family.read(request, values, {"C": np.full((4, 4), np.nan)}, right) == {"effective_bits": 24.0}


@pytest.mark.parametrize("k", LENGTHS)
def test_operand_coercion_shows(k: int) -> None:
    """fp32 operands cut to tf32 or bf16, fp16 operands cut to bf16: exact and permutation see each."""
    for p, cut in ((FP32, FORMATS["tf32"]), (FP32, BF16), (FP16, BF16)):
        for name in ("exact", "permutation"):
            wrong = {"A": False, "B": False}
            for seed in range(6):
                values = families()[name].generate(make(name, matrices(p, p, 8, k, 8), FP32, p, seed, True))
                right = round_to(values["A"] @ values["B"], p)
                for operand in "AB":
                    coerced = values | {operand: round_to(values[operand], cut)}
                    wrong[operand] |= not np.array_equal(round_to(coerced["A"] @ coerced["B"], p), right)
            assert all(wrong.values()), (p, cut, name, wrong)


def test_permutation_is_a_copy() -> None:
    for seed in range(6):
        values = families()["permutation"].generate(make("", matrices(FP16, FP16, 9, 33, 7), FP32, FP16, seed, True))
        result = values["A"] @ values["B"]
        assert np.isin(result, np.concatenate([values["A"].ravel(), values["B"].ravel()])).all()
        assert len(np.unique(np.abs(result))) > 3


def test_convolution_like_sums_stay_exact() -> None:
    """Two summed tensors without equal extents: any subset of the terms must be exact, as padding drops some."""
    image, kernel = TensorSpec("x", FP16, (2, 3, 9, 9), (1,)), TensorSpec("w", FP16, (4, 3, 3, 3), (1, 2, 3))
    for name, magnitudes in PROBES:
        for seed in range(5):
            values = families()[name].generate(make(name, (image, kernel), FP32, FP16, seed, True))
            for i, j in ((0, 0), (3, 2)):
                window = values["x"][:, None, :, i : i + 3, j : j + 3] * values["w"][None]
                terms = window.reshape(2, 4, -1)
                check_exact_in_any_order(terms, FP32, FP16, magnitudes=magnitudes)
                assert (np.abs(terms).sum(-1) > 0).any()


def test_batched_and_transposed_layouts_carry_the_same_claims() -> None:
    a, b = TensorSpec("q", BF16, (2, 3, 5, 64), (3,)), TensorSpec("k", BF16, (2, 3, 7, 64), (3,))
    for name, magnitudes in PROBES:
        values = families()[name].generate(make(name, (a, b), FP32, BF16, 1, True))
        terms = values["q"][:, :, :, None, :] * values["k"][:, :, None, :, :]
        check_exact_in_any_order(terms, FP32, BF16, magnitudes=magnitudes)
