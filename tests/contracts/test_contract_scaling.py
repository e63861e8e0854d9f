"""What a contract promises across scales: how it is read, and what is refused."""

from __future__ import annotations

import pytest

from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.scaling import scalings_of
from kernel_contracts.errors import LanguageError
from kernel_contracts.language.printer import format_source
from kernel_contracts.vocabulary import vocabulary

TEXT = """contract c version 1.0 implements C-PRC-04
{{
  scope     unscale for P in {{fp16}} (g: P[N]; scale: real = 1.0, count: int = 1) -> h: fp32[N], top: fp32[]
  pre       N in 1..64
  post      h within tolerance of reference and {promise}
  reference {{
    h = g * (1.0 / scale) in fp32
    top = max(abs(h)) * count
  }}
}}
"""


def read(promise: str):
    (contract,) = load_text(TEXT.format(promise=promise), "c.kc", vocabulary())
    return scalings_of(contract)


def test_a_range_and_what_carries_it() -> None:
    (found,) = read("h bitwise equal across scales(2^0..2^15, g, scale) away from range ends")
    assert (found.output, found.low, found.high, found.away) == ("h", 0, 15, True)
    assert found.carriers == {"g": 1, "scale": 1}


def test_without_names_every_real_input_and_parameter_carries_it() -> None:
    (found,) = read("h bitwise equal across scales(2^-4..2^4)")
    assert found.carriers == {"g": 1, "scale": 1}
    assert not found.away


@pytest.mark.parametrize(
    ("written", "power"), [("top", 1), ("1 / top", -1), ("top ^ 2", 2), ("1 / top ^ 3", -3), ("1.0 / top", -1)]
)
def test_a_result_may_carry_a_power_of_it(written: str, power: int) -> None:
    (found,) = read(f"top bitwise equal across scales(0.5..4, g, {written})")
    assert found.carriers == {"g": 1, "top": power}
    assert (found.low, found.high) == (-1, 2)


def test_a_single_factor_is_a_range_of_one() -> None:
    (found,) = read("h bitwise equal across scales(1024, g, scale)")
    assert (found.low, found.high) == (10, 10)


def test_several_promises_are_kept_apart() -> None:
    first, second = read(
        "h bitwise equal across scales(2^0..2^4, g, scale) and top bitwise equal across scales(2^0..2^4, g, top)"
    )
    assert (first.output, second.output) == ("h", "top")


def test_other_variations_are_no_promise_across_scales() -> None:
    assert read("h bitwise equal across runs(10)") == ()
    assert read("h bitwise equal reference") == ()


@pytest.mark.parametrize(
    ("promise", "code"),
    [
        ("h + 1 bitwise equal across scales(2^0..2^4)", "N208"),
        ("h bitwise equal across scales(2^0..2^4, x)", "N201"),
        ("h bitwise equal across scales(2^0..2^4, count)", "N201"),
        ("h bitwise equal across scales(2^0..2^4, g + 1)", "T303"),
        ("h bitwise equal across scales(2^0..2^4, 2 / g)", "T303"),
        ("h bitwise equal across scales(1..10)", "T310"),
        ("h bitwise equal across scales(g)", "T310"),
        ("h bitwise equal across scales(0..4)", "T310"),
        ("h bitwise equal across scales()", "T310"),
        ("h bitwise equal across scales(2^4..2^0)", "T311"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(promise: str, code: str) -> None:
    with pytest.raises(LanguageError) as caught:
        read(promise)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.span.line == 5


def test_the_form_survives_printing() -> None:
    text = TEXT.format(promise="h bitwise equal across scales(2^0..2^15, g, 1 / scale) away from range ends")
    assert "scales(2^0..2^15, g, 1 / scale) away from range ends" in format_source(text)
