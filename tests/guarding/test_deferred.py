"""Looks that are read when a step ends: nothing is waited for before, nothing is lost, nobody is accused."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from kernel_contracts import guard
from kernel_contracts.errors import UsageError
from kernel_contracts.guarding.events import ProductFaultError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Mode = torch.utils._python_dispatch.TorchDispatchMode
WAITS = ("_local_scalar_dense", "item", "equal", "is_nonzero", "nonzero", "_to_copy", "unique2", "masked_select")


class Wrong(Mode):
    """Adds one to an element of every product from the `first` to the `last`."""

    def __init__(self, first: int = 0, last: int = 0) -> None:
        super().__init__()
        self.first, self.last, self.seen = first, last, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func._schema.name in ("aten::mm", "aten::addmm", "aten::bmm"):
            if self.first <= self.seen <= self.last:
                out.view(-1)[3] += 1
            self.seen += 1
        return out


class Waits(Mode):
    """Notes what would make the processor wait for an accelerator, and the stack of flags that is read at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name[6:] in (*WAITS, "stack"):
            self.found.append(func._schema.name)
        return func(*args, **(kwargs or {}))


def products(count: int = 4) -> None:
    torch.manual_seed(0)
    net = torch.nn.Linear(16, 12)
    for _ in range(count):
        x = torch.randn(9, 16, requires_grad=True)
        net(x).square().sum().backward()
    torch.bmm(torch.randn(3, 5, 6), torch.randn(3, 6, 7))


def test_no_value_is_asked_for_until_the_step_ends() -> None:
    with Waits() as waits, guard(defer=True, seed=1) as g:
        products()
        assert waits.found == []
        g.step()
        assert waits.found == ["aten::stack"]
    assert g.account.checked == 4 * 4 + 1
    assert (g.account.suspicious, g.events) == (0, [])


def test_a_fault_is_reported_when_the_step_ends() -> None:
    with Wrong(5, 6), guard(defer=True, on_violation="record", seed=1) as g:
        products()
        assert g.events == []
        g.step()
        assert [(e.call, e.operation, e.step) for e in g.events] == [(6, "mm", 0), (7, "mm", 0)] or len(g.events) == 2
    assert all(e.check.faults[0].column == 3 for e in g.events)


def test_raise_comes_with_the_step_and_with_the_end() -> None:
    with Wrong(), guard(defer=True, seed=1) as g:
        products()
        with pytest.raises(ProductFaultError):
            g.step()
    with pytest.raises(ProductFaultError), Wrong(), guard(defer=True, seed=1) as g:
        products()
    assert len(g.events) == 1


def test_another_exception_is_not_hidden_and_the_event_is_kept() -> None:
    g = guard(defer=True, seed=1)

    def program() -> None:
        with Wrong(), g:
            products()
            raise KeyError("of the program")

    with pytest.raises(KeyError):
        program()
    assert len(g.events) == 1


def test_repair_waits_each_time() -> None:
    torch.manual_seed(1)
    a, b = torch.randn(8, 8), torch.randn(8, 8)
    with Wrong(), guard(defer=True, on_violation="repair", seed=1) as g:
        c = a @ b
        assert len(g.events) == 1
    assert torch.equal(c, a @ b)


@pytest.mark.parametrize("counted", [True, False])
def test_what_changed_since_is_no_violation(counted: bool, caplog: pytest.LogCaptureFixture) -> None:
    a, b = torch.randn(8, 16), torch.randn(16, 8)
    with caplog.at_level(logging.WARNING), Wrong(), guard(defer=True, seed=1) as g:
        a @ b
        if counted:
            a.add_(1.0)
        else:
            a.numpy()[:] += 1.0
        g.step()
    assert g.events == []
    assert (g.account.suspicious, g.account.unexamined) == (1, 1)
    assert "changed since" in caplog.text


def test_what_is_clean_and_changes_is_not_even_suspicious() -> None:
    a, b = torch.randn(8, 16), torch.randn(16, 8)
    with guard(defer=True, seed=1) as g:
        a @ b
        a.add_(1.0)
    assert g.account.suspicious == 0


def test_memory_that_is_held_has_a_bound() -> None:
    with Wrong(0, 99), guard(defer=True, on_violation="record", hold=4000, seed=1) as g:
        for n in range(6):
            torch.randn(16, 16) @ torch.randn(16, 16)
            assert len(g.events) >= n
    assert len(g.events) == 6


def test_every_family_can_be_deferred() -> None:
    F = torch.nn.functional
    torch.manual_seed(2)
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    q = torch.randn(1, 2, 20, 8, requires_grad=True)
    with guard(defer=True, seed=1) as g:
        F.conv2d(x, torch.randn(4, 3, 3, 3, requires_grad=True), torch.randn(4)).sum().backward()
        F.scaled_dot_product_attention(q, q, q).sum().backward()
        torch.softmax(torch.randn(4, 5), -1)
        F.embedding(torch.tensor([1, 2]), torch.randn(4, 3))
        torch.ones(4, 3).sum(0)
        g.step()
    assert g.account.checked == 3 + 2 + 1 + 1 + 1
    assert g.account.suspicious == 0


def test_threads_lose_nothing() -> None:
    g = guard(defer=True, on_violation="record", seed=1)

    def work() -> None:
        with Wrong(0, 9), g:
            for n in range(10):
                torch.randn(6, 8) @ torch.randn(8, 6)
                if n % 3 == 0:
                    g.step()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert g.account.products == 40
    assert len(g.events) == 40
    assert sorted(e.call for e in g.events) == list(range(1, 41))


@pytest.mark.parametrize("how", [{"hold": -1}, {"vectors": 0}, {"false_alarm": 0.0}])
def test_misuse(how: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(how))):
        guard(**how)
