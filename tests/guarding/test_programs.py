"""Programs of many kinds: results are the same to the bit, products are seen, what cannot be verified is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernel_contracts import guard

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
nn, F = torch.nn, torch.nn.functional


def net() -> Any:
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))


def inference() -> Any:
    model, x = net(), torch.randn(20, 32)
    with torch.inference_mode():
        return model(model(x) @ torch.ones(8, 32))


def inference_of_attention() -> Any:
    q = torch.randn(1, 2, 9, 16)
    with torch.inference_mode():
        return F.scaled_dot_product_attention(q, q, q) + F.conv1d(q[0], torch.randn(9, 9, 1)).unsqueeze(0)


def mixed_precision() -> Any:
    model, x = net(), torch.randn(20, 32)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(x).float().square().sum()
    loss.backward()
    return model[0].weight.grad


def positive() -> Any:
    """Data of large mean: rows of the products are nearly alike."""
    model = net()
    model(torch.rand(500, 32) + 5).sum().backward()
    return model[0].weight.grad


def checkpointed() -> Any:
    x = torch.randn(20, 32, requires_grad=True)
    torch.utils.checkpoint.checkpoint(net(), x, use_reentrant=False).sum().backward()
    return x.grad


def per_sample() -> Any:
    model = net()
    return torch.func.vmap(torch.func.grad(lambda v: model(v).sum()))(torch.randn(5, 32))


def recurrent(kind: Any) -> Callable[[], Any]:
    def run() -> Any:
        x = torch.randn(5, 3, 8, requires_grad=True)
        kind(8, 16)(x)[0].sum().backward()
        return x.grad

    return run


def encoder() -> Any:
    with torch.no_grad():
        return nn.TransformerEncoderLayer(16, 2, batch_first=True).eval()(torch.randn(2, 5, 16))


def extremes() -> Any:
    a, b = torch.randn(30, 40), torch.randn(40, 20)
    parts = [(a * 1e18) @ (b * 1e18), (a * 1e-22) @ (b * 1e-10), (a * 1e30) @ (b * 1e30), a @ torch.zeros(40, 20)]
    return torch.stack([*parts, (a * float("nan")) @ b])


PROGRAMS: dict[str, tuple[Callable[[], Any], int, dict[str, int]]] = {
    "inference": (inference, 5, {}),
    "inference of attention": (inference_of_attention, 2, {}),
    "mixed precision": (mixed_precision, 7, {}),
    "positive": (positive, 7, {}),
    "checkpoint": (checkpointed, 9, {}),
    "per sample": (per_sample, 4, {}),
    "gru": (recurrent(nn.GRU), -1, {}),
    "lstm": (recurrent(nn.LSTM), 0, {"mkldnn_rnn_layer": 1, "mkldnn_rnn_layer_backward": 1}),
    "fused encoder": (encoder, 0, {"_transformer_encoder_layer_fwd": 1}),
    "extremes": (extremes, 5, {}),
}


@pytest.mark.parametrize("defer", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_comes_out_the_same_and_its_products_are_seen(name: str, defer: bool | None) -> None:
    program, products, uncovered = PROGRAMS[name]
    torch.manual_seed(3)
    plain = program()
    torch.manual_seed(3)
    with guard(seed=1, defer=defer) as g:
        found = program()
    assert torch.equal(found.nan_to_num(nan=7.0), plain.nan_to_num(nan=7.0))
    a = g.account
    assert a.products == a.checked == (a.products if products < 0 else products)
    assert products >= 0 or a.products > 10
    assert a.uncovered == uncovered
    assert (a.violations, a.unexamined) == (0, 0)
    assert a.suspicious <= (3 if name == "extremes" else 0)


def test_weights_of_inference_are_passed_over_once() -> None:
    model, x = net(), torch.randn(20, 32)
    with guard(model, seed=1) as g, torch.inference_mode():
        for _ in range(5):
            model(x)
    assert g.account.reused == 2 * 4
    with torch.no_grad():
        model[0].weight.mul_(2.0)
    with guard(model, seed=1) as g, torch.inference_mode():
        model(x)
    assert (g.account.reused, g.account.suspicious) == (0, 0)
