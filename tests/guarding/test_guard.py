"""The guard: sees forward and backward products, changes nothing, finds planted faults, keeps to its budget."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_contracts import guard
from kernel_contracts.errors import UsageError
from kernel_contracts.guarding.budget import Budget
from kernel_contracts.guarding.events import ProductFaultError
from kernel_contracts.guarding.watch import Guard

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(48, 96), torch.nn.GELU(), torch.nn.Linear(96, 48))


def train(net: Any, steps: int, watch: Guard | None = None) -> list[float]:
    torch.manual_seed(1)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    losses = []
    for _ in range(steps):
        x = torch.randn(64, 48)
        loss = (net(x) - x.flip(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if watch is not None:
            watch.step()
    return losses


class Faulty(torch.utils._python_dispatch.TorchDispatchMode):
    """Spoils one element of chosen products, below the guard: `times` of them from the `first` on."""

    def __init__(self, first: int = 0, times: int = 1, size: float = 1.0) -> None:
        super().__init__()
        self.first, self.times, self.size, self.seen, self.done = first, times, size, 0, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func._schema.name in ("aten::mm", "aten::addmm", "aten::bmm", "aten::sum"):
            if self.first <= self.seen and self.done < self.times:
                out.view(-1)[3] += self.size
                self.done += 1
            self.seen += 1
        return out


def test_training_is_the_same_bit_for_bit_and_every_product_is_seen() -> None:
    plain = train(model(), 5)
    net = model()
    with guard(net, seed=1) as g:
        guarded = train(net, 5, g)
    assert guarded == plain
    # Two forward, backward all but that of the input, and the sums of both biases.
    assert g.account.products == g.account.checked == 5 * 7
    assert (g.account.violations, g.events) == (0, [])
    assert g.account.flops == g.account.checked_flops > 0


@pytest.mark.parametrize("first", range(7))
def test_a_fault_in_any_product_of_a_step_is_found(first: int) -> None:
    net = model()
    with Faulty(first), guard(net, on_violation="record", seed=2) as g:
        train(net, 2, g)
    (event,) = g.events
    assert event.call == first + 1
    assert event.backward == (first >= 2)
    assert event.step == 0
    assert event.check.faults[0].got - event.check.faults[0].expected == pytest.approx(1, rel=1e-3)


def test_raise_is_the_default() -> None:
    net = model()
    with Faulty(), pytest.raises(ProductFaultError, match="forward addmm number 1") as caught, guard(net):
        train(net, 1)
    assert caught.value.event.check.faults[0].column == 3


def test_repair_restores_the_run() -> None:
    plain = train(model(), 3)
    net = model()
    with Faulty(4), guard(net, on_violation="repair", seed=3) as g:
        repaired = train(net, 3, g)
    assert repaired == plain
    assert [len(e.repaired) for e in g.events] == [1]


def test_what_stays_wrong_cannot_be_repaired() -> None:
    net = model()
    with Faulty(0, times=100), pytest.raises(ProductFaultError), guard(net, on_violation="repair"):
        train(net, 1)


def test_nan_and_half_precision() -> None:
    a, b = torch.randn(40, 64).bfloat16(), torch.randn(64, 32).bfloat16()
    with guard(on_violation="record") as g:
        a @ b
        torch.bmm(torch.randn(3, 8, 16), torch.randn(3, 16, 8))
        torch.baddbmm(torch.randn(3, 8, 8), torch.randn(3, 8, 16), torch.randn(3, 16, 8), beta=0.5, alpha=2.0)
        torch.zeros(0, 4) @ torch.zeros(4, 3)
        torch.zeros(2, 3, dtype=torch.int64) @ torch.zeros(3, 2, dtype=torch.int64)
    assert g.events == []
    assert g.account.products == 3
    with Faulty(size=float("nan")), guard(on_violation="record") as g:
        a @ b
    assert [e.name for e in g.events] == ["not_finite"]


def test_a_weight_changed_behind_its_back_is_no_violation() -> None:
    net = torch.nn.Linear(64, 64)
    x = torch.randn(16, 64)
    with guard(net) as g, torch.no_grad():
        net(x)
        net(x)
        net.weight.data.add_(1.0)
        net.weight.numpy()[:] *= 2  # counted by nobody
        net(x)
    assert g.account.violations == 0


def test_kept_weights_are_looked_at_with_new_secrets_now_and_then() -> None:
    net = torch.nn.Linear(64, 64, bias=False)
    x = torch.randn(16, 64)
    with guard(net, seed=1) as g, torch.no_grad():
        secrets = set()
        for _ in range(40):
            net(x)
            secrets |= {kept[2].secret.numpy().tobytes() for kept in g._weights._kept.values()}
    assert len(secrets) == 3
    assert g.account.reused == 40 - 3


def test_uncovered_products_are_counted() -> None:
    with guard() as g:
        torch.mv(torch.randn(4, 3), torch.randn(3))
    assert g.account.uncovered == {"mv": 1}
    assert "not covered: 1 mv" in str(g.account)


def test_threads_may_share_a_guard() -> None:
    found: list[int] = []
    g = guard(on_violation="record", seed=1)

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        with g:
            for _ in range(20):
                torch.randn(8, 16, generator=generator) @ torch.randn(16, 8, generator=generator)
        found.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert g.account.products == 80
    assert g.events == []


def test_sampling_looks_at_the_share_it_says() -> None:
    with guard(sample=0.25, seed=4) as g:
        for _ in range(400):
            torch.ones(4, 4) @ torch.ones(4, 4)
    assert 60 <= g.account.checked <= 140
    assert g.account.latency == pytest.approx(400 / g.account.checked)


@pytest.mark.parametrize("share", [0.002, 0.01, 0.05])
def test_the_budget_holds_and_is_used(share: float) -> None:
    """In a made program: products of two sizes, checks that cost up to a fifth of them."""
    rng = random.Random(5)
    budget = Budget(share, 1.0, rng)
    program = 0.0
    met = 0
    for _ in range(20_000):
        work = rng.choice([1e5, 1e6])
        program += work * 1e-8
        wanted = budget.wants(work, program)
        budget.kept(1e-6)
        if wanted:
            met += 1
            budget.paid(work, work * 2e-9 * rng.uniform(0.7, 1.5) + 1e-6)
    assert share / 1.5 < budget.spent / program < share * 1.5
    assert met > 50


def test_the_trace_and_the_metrics(tmp_path: Path) -> None:
    trace = tmp_path / "events.jsonl"
    with Faulty(0, times=2), guard(on_violation="record", trace=trace, seed=1) as g:
        for _ in range(3):
            torch.ones(20, 30) @ torch.rand(30, 20)
    records = [json.loads(line) for line in trace.read_text("utf-8").splitlines()]
    assert [r["record"] for r in records] == ["guard", "guard", "guard_account"]
    assert [r["call"] for r in records[:2]] == [1, 2]
    assert (records[2]["products"], records[2]["violations"]) == (3, 2)
    assert records[0]["check"]["faults"][0]["row"] == 0
    assert "kernel_contracts_guard_violations_total 2" in g.metrics()
    assert "kernel_contracts_guard_products_total 3" in g.metrics()


@pytest.mark.parametrize(
    "how", [{"sample": 0}, {"sample": 1.5}, {"budget": 0}, {"budget": float("nan")}, {"on_violation": "ignore"}]
)
def test_misuse(how: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(how))):
        guard(**how)


def test_no_random_number_of_the_program_is_drawn() -> None:
    torch.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    plain = torch.rand(1).item(), np.random.rand(), random.random()
    torch.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    with guard():
        torch.ones(8, 8) @ torch.ones(8, 8)
    assert (torch.rand(1).item(), np.random.rand(), random.random()) == plain


def test_a_result_written_over_its_addend_is_left_alone() -> None:
    total, a, b = torch.randn(8, 8), torch.randn(8, 16), torch.randn(16, 8)
    with guard() as g:
        torch.addmm(total, a, b, out=total)
        total.addmm_(a, b)
    assert g.account.products == 0
    assert sum(g.account.uncovered.values()) == 2


def test_tensors_of_other_kinds_are_counted_and_left_alone() -> None:
    a, b = torch.randn(8, 16), torch.randn(16, 8)
    with guard() as g:
        torch.mm(a.to_sparse(), b)
        torch.mm(a.to("meta"), b.to("meta"))
    assert g.account.products == 0
    assert sum(g.account.uncovered.values()) == 2


def test_views_maps_and_compiled_programs() -> None:
    a, b = torch.randn(5, 8, 16), torch.randn(16, 8)
    with guard() as g:
        torch.vmap(lambda x: x @ b)(a)
        torch.func.jacrev(lambda x: (x @ b).sum())(a[0])
        torch.complex(a[0], a[1]).conj().imag @ b
        torch.compile(lambda x: torch.relu(x) @ b, backend="aot_eager")(a[0])
    assert g.account.products >= 4
    assert g.account.violations == 0
