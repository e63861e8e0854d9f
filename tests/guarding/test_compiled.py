"""Programs under torch.compile run compiled under a guard, and the products that they leave to PyTorch are verified."""

from __future__ import annotations

from typing import Any

import pytest

from kernel_contracts import guard

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


class Below(torch.utils._python_dispatch.TorchDispatchMode):
    """Lists what a compiled program calls, and spoils one of its products."""

    def __init__(self, spoiled: int = -1) -> None:
        super().__init__()
        self.spoiled = spoiled
        self.seen: list[str] = []

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func._schema.name in ("aten::mm", "aten::addmm"):
            if len(self.seen) == self.spoiled:
                out.view(-1)[5] += 1.0
            self.seen.append(str(func))
        return out


def step(f: Any, net: Any, x: Any) -> tuple[float, Any]:
    net.zero_grad()
    loss = (f(x) - x).square().mean()
    loss.backward()
    return loss.item(), net[0].weight.grad.clone()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_before_or_inside_results_are_the_same_and_products_are_verified(backend: str) -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32))
    x = torch.randn(16, 32)
    torch._dynamo.reset()
    f = torch.compile(net, backend=backend)
    loss, gradient = step(f, net, x)
    for _ in range(2):
        with Below() as below, guard(net, seed=1) as g:
            found = step(f, net, x)
        assert found[0] == loss
        assert torch.equal(found[1], gradient)
        # Two products forward and three backward; sums are fused into other kernels by inductor.
        assert g.account.products == g.account.checked == (5 if backend == "inductor" else 7)
        assert (g.account.uncovered, g.account.suspicious) == ({}, 0)
        assert below.seen == ["aten.addmm.out"] * 2 + ["aten.mm.out"] * 3 or backend != "inductor"
        torch._dynamo.reset()  # the second time it is compiled inside the guard
    for number in range(5):
        with Below(number), guard(net, on_violation="record", seed=2) as g:
            step(f, net, x)
        assert [e.check.faults[0].column for e in g.events] == [5]


def test_on_older_versions_a_compiled_program_runs_as_if_it_were_not() -> None:
    """PyTorch that does not know `ignore_compile_internals` falls back: every product is verified nevertheless."""
    from kernel_contracts.guarding.torch_mode import mode

    def after(*given: Any) -> None:
        names.append(given[0])

    names: list[str] = []
    old = mode(after)
    type(old).ignore_compile_internals = classmethod(lambda cls: False)
    torch._dynamo.reset()
    f = torch.compile(lambda a: torch.relu(a @ a), backend="eager")
    with old:
        f(torch.ones(4, 4))
    assert names == ["mm"]
