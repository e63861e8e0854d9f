"""What is no plain product: convolution, fused attention, softmax, look-ups, sums. Clean they pass, spoiled not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernel_contracts import guard

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
F = torch.nn.functional


class Spoil(torch.utils._python_dispatch.TorchDispatchMode):
    """Changes one element of a result of one operation, below the guard, as often as `times` says."""

    def __init__(self, operation: str, change: Callable[[Any], Any], which: int = 0, place: int = 7, times: int = 1):
        super().__init__()
        self.operation, self.change, self.which, self.place, self.left = operation, change, which, place, times

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func._schema.name == f"aten::{self.operation}" and self.left:
            self.left -= 1
            x = out[self.which] if isinstance(out, tuple) else out
            where = tuple(int(i) for i in torch.unravel_index(torch.tensor(self.place), x.shape))
            x[where] = self.change(x[where].clone())
        return out


def convolve(seed: int = 0, transposed: bool = False, dtype: Any = torch.float32, **how: Any) -> None:
    torch.manual_seed(seed)
    x = torch.randn(2, 4, 9, 8, dtype=dtype, requires_grad=True)
    w = torch.randn(*((4, 6) if transposed else (6, 4 // how.get("groups", 1))), 3, 3, dtype=dtype, requires_grad=True)
    f = F.conv_transpose2d if transposed else F.conv2d
    y = f(x, w, torch.randn(6, dtype=dtype), **how)
    (y * torch.randn_like(y)).sum().backward()


def attend(causal: bool = False, masked: bool = False, dtype: Any = torch.float32, scale: float | None = None) -> None:
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 3, n, 16, dtype=dtype, requires_grad=True) for n in (40, 50, 50))
    mask = torch.where(torch.rand(40, 50) < 0.4, -float("inf"), 0.0).to(dtype) if masked else None
    out = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)
    (out * torch.randn_like(out)).sum().backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(
    "how", [{}, {"stride": 2}, {"padding": 2}, {"dilation": 2}, {"groups": 2}, {"stride": 3, "padding": 1}], ids=str
)
def test_clean_convolutions_pass_both_looks(how: dict[str, Any], dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernel_contracts.guarding.convolution import Convolution

    with guard(seed=1) as g:
        convolve(dtype=dtype, **how)
    a = g.account
    assert (a.products, a.checked, a.suspicious, a.uncovered) == (3, 3, 0, {})
    monkeypatch.setattr(Convolution, "glance", lambda self, kit, fresh=False: (True, None))
    with guard(seed=2) as g:
        convolve(dtype=dtype, **how)
    assert (g.account.suspicious, g.events) == (3, [])


@pytest.mark.parametrize("how", [{}, {"stride": 2, "output_padding": 1}, {"padding": 1, "stride": 2}], ids=str)
def test_clean_transposed_convolutions_pass(how: dict[str, Any]) -> None:
    with guard(seed=1) as g:
        convolve(transposed=True, **how)
    assert (g.account.products, g.account.suspicious, g.account.uncovered) == (3, 0, {})


def test_more_windows_than_inputs_are_counted_as_unseen() -> None:
    with guard() as g:
        convolve(transposed=True, dilation=2, output_padding=1)
    assert g.account.uncovered == {"convolution_backward": 1}


@pytest.mark.parametrize(
    ("operation", "which"), [("convolution", 0), ("convolution_backward", 0), ("convolution_backward", 1)]
)
@pytest.mark.parametrize("how", [{}, {"stride": 2, "padding": 1}, {"groups": 2}], ids=str)
def test_a_fault_of_a_convolution_is_found_and_repaired(operation: str, which: int, how: dict[str, Any]) -> None:
    with Spoil(operation, lambda x: x + 1.0, which), guard(on_violation="record", seed=3) as g:
        convolve(**how)
    (event,) = g.events
    assert event.check.faults[0].got - event.check.faults[0].expected == pytest.approx(1.0, rel=1e-3)
    with Spoil(operation, lambda x: x + 1.0, which), guard(on_violation="repair", seed=3) as g:
        convolve(**how)
    assert len(g.events) == 1
    assert g.events[0].repaired


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("how", [{}, {"causal": True}, {"masked": True}, {"scale": 2.0}], ids=str)
def test_clean_attention_passes(how: dict[str, Any], dtype: Any) -> None:
    with guard(seed=1) as g:
        attend(dtype=dtype, **how)
    a = g.account
    assert (a.products, a.suspicious, a.violations) == (2, 0, 0)
    assert a.partial == {"attention": 1, "attention_backward": 1}
    assert "in a sample of rows" in str(a)


@pytest.mark.parametrize("change", [lambda x: x * 1e4, lambda x: x * float("nan"), lambda x: x + 20.0])
def test_an_element_outside_the_hull_of_v_is_found_wherever_it_is(change: Any) -> None:
    for place in (0, 300, 1900, 2 * 3 * 40 * 16 - 1):
        operation = "_scaled_dot_product_flash_attention_for_cpu"
        with Spoil(operation, change, place=place), guard(on_violation="repair", seed=place) as g:
            attend()
        (event,) = g.events
        assert event.operation == "attention"
        assert len(event.repaired) == 1


@pytest.mark.parametrize("which", [0, 1, 2])
def test_attention_that_is_wrong_in_every_row_is_found(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong scale, both ways: no element is outside the hull, sampled rows show it."""
    from kernel_contracts.guarding import attention

    given = attention.given

    def scaled(*args: Any) -> Any:
        found = given(*args)
        return attention.Inputs(found.q, found.k, found.v, found.causal, found.mask, found.scale * 1.01)

    monkeypatch.setattr("kernel_contracts.guarding.attention.given", scaled)
    monkeypatch.setattr("kernel_contracts.guarding.attention_backward.given", scaled)
    with guard(on_violation="record", seed=which) as g:
        attend()
    assert {e.operation for e in g.events} == {"attention", "attention_backward"}
    assert g.events[0].name == "wrong_value"


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_gradient_of_attention_that_is_not_finite_is_found(which: int) -> None:
    operation = "_scaled_dot_product_flash_attention_for_cpu_backward"
    with Spoil(operation, lambda x: x * float("inf"), which), guard(on_violation="record", seed=4) as g:
        attend()
    assert [e.name for e in g.events] == ["not_finite"]


def test_attention_in_parts_is_verified_whole() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH), guard(seed=1) as g:
        attend()
    a = g.account
    assert (a.partial, a.uncovered, a.suspicious) == ({}, {}, 0)
    assert a.products == 7  # two products and the softmax, four products backward


def test_attention_with_dropout_is_taken_apart_by_pytorch_and_verified_whole() -> None:
    q = torch.randn(1, 2, 8, 16)
    with guard() as g:
        F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    assert (g.account.partial, g.account.suspicious) == ({}, 0)
    assert g.account.checked == 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_clean_softmax_passes(dtype: Any) -> None:
    with guard() as g:
        for n in (1, 7, 256, 4096):
            for scale in (0.0, 1.0, 30.0):
                torch.softmax(torch.randn(8, n).to(dtype) * scale, -1)
        torch.softmax(torch.randn(8, 8, dtype=dtype), 0)
    assert (g.account.products, g.account.suspicious) == (12, 0)
    assert g.account.uncovered == {"_softmax": 1}


def test_a_wrong_weight_of_a_softmax_is_found_and_repaired() -> None:
    x = torch.randn(30, 50)
    plain = torch.softmax(x, -1)
    with Spoil("_softmax", lambda w: w + 1e-3, place=333), guard(on_violation="repair") as g:
        found = torch.softmax(x, -1)
    assert torch.equal(found, plain)
    (event,) = g.events
    assert event.repaired == ((6,),)
    assert (event.check.faults[0].row, event.check.faults[0].column) == (6, 33)
    with Spoil("_softmax", lambda w: w * float("nan")), guard(on_violation="record") as g:
        torch.softmax(x, -1)
    assert [e.name for e in g.events] == ["not_finite"]
    with guard(on_violation="record") as g:
        torch.softmax(x * float("inf"), -1)
    assert g.events == []


def test_look_ups_are_compared_bit_for_bit() -> None:
    table, index = torch.randn(100, 24), torch.randint(0, 100, (5, 6))
    table[index[2, 3]] = 0.0
    with guard() as g:
        F.embedding(index, table)
    assert (g.account.checked, g.account.suspicious) == (1, 0)
    place = (2 * 6 + 3) * 24 + 5
    with Spoil("embedding", lambda x: -x, place=place), guard(on_violation="repair") as g:
        out = F.embedding(index, table)
    (event,) = g.events
    assert event.repaired == ((2, 3),)
    assert not torch.signbit(out[2, 3]).any()


def test_a_sum_over_rows_is_verified() -> None:
    x = torch.randn(300, 40)
    with guard(seed=1) as g:
        x.sum(0)
        x.sum(1)
        x.sum()
    assert (g.account.products, g.account.suspicious) == (1, 0)
    with Spoil("sum", lambda y: y + 0.1), guard(on_violation="record", seed=1) as g:
        x.sum(0)
    assert g.events[0].check.faults[0].column == 7


def test_results_in_memory_of_their_own_are_verified() -> None:
    a, b, out = torch.randn(9, 16), torch.randn(16, 8), torch.empty(9, 8)
    with guard() as g:
        torch.mm(a, b, out=out)
        torch.addmm(torch.randn(8), a, b, out=out)
    assert (g.account.checked, g.account.uncovered) == (2, {})
    with Spoil("mm", lambda x: x + 1), guard(on_violation="repair") as g:
        torch.mm(a, b, out=out)
    assert torch.equal(out, a @ b)
    assert len(g.events) == 1
