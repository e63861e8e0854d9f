"""A running guard as a collector of `prometheus_client` (the extra `prometheus`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel_contracts.errors import UsageError
from kernel_contracts.guarding.account import Account, measured


def collector(account: Callable[[], Account], prefix: str) -> Any:
    """What `prometheus_client.REGISTRY.register` takes: it asks for the account whenever it is scraped."""
    try:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    except ImportError:
        raise UsageError(
            "a collector needs prometheus_client: pip install 'kernel-contracts[prometheus]'; "
            "metrics() gives the same as text without it"
        ) from None

    class Collector:
        """Counters and gauges of one guard."""

        def collect(self) -> Any:
            now = account()
            for m in measured(now):
                family = CounterMetricFamily if m.kind == "counter" else GaugeMetricFamily
                yield family(f"{prefix}_{m.name}", m.words, value=m.value)
            by_operation = CounterMetricFamily(
                f"{prefix}_uncovered_operations", "Products of kinds that are not verified.", labels=["operation"]
            )
            for operation, count in sorted(now.uncovered.items()):
                by_operation.add_metric([operation], count)
            yield by_operation

    return Collector()
