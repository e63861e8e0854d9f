"""The account for monitoring systems: as text without any package, as a collector of prometheus_client with it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from kernel_contracts import guard
from kernel_contracts.errors import UsageError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def busy(g: Any) -> None:
    with g:
        torch.ones(4, 4) @ torch.ones(4, 4)
        torch.softmax(torch.ones(3, 5), -1)
        torch.mv(torch.ones(4, 3), torch.ones(3))
        torch.dot(torch.ones(3), torch.ones(3))


def test_the_text_is_what_prometheus_scrapes() -> None:
    g = guard(seed=1)
    busy(g)
    lines = g.metrics().splitlines()
    assert "kernel_contracts_guard_products_total 2" in lines
    assert "kernel_contracts_guard_uncovered_total 2" in lines
    assert "# TYPE kernel_contracts_guard_sampling_ratio gauge" in lines
    assert len([line for line in lines if not line.startswith("#")]) == 10


def test_the_collector_says_the_same_whenever_it_is_asked() -> None:
    client = pytest.importorskip("prometheus_client")
    g = guard(seed=1)
    registry = client.CollectorRegistry()
    registry.register(g.collector())
    for times in (1, 2):
        busy(g)
        value = registry.get_sample_value
        assert value("kernel_contracts_guard_products_total") == 2 * times
        assert value("kernel_contracts_guard_uncovered_operations_total", {"operation": "mv"}) == times
        assert value("kernel_contracts_guard_sampling_ratio") == 1.0
    exposed = client.generate_latest(registry).decode()
    assert "kernel_contracts_guard_violations_total 0.0" in exposed


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("prometheus_client", "prometheus_client.core"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install 'kernel-contracts\[prometheus\]'"):
        guard().collector()
