"""The guard: every matrix product of a PyTorch program passes by, and a sample of them is verified."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from kernel_contracts.errors import UsageError
from kernel_contracts.guarding.budget import Budget
from kernel_contracts.guarding.calls import PRODUCTS, Call, Weights, hidden, suspicious, understand_call
from kernel_contracts.guarding.events import Account, Event, ProductFaultError, metrics
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.repair import repair

logger = logging.getLogger("kernel_contracts.guard")
Reaction = Literal["raise", "record", "repair"]


class Guard:
    """Verifies products while it is entered. Threads may enter one guard together; each sees its own products."""

    def __init__(
        self,
        model: Any = None,
        *,
        sample: float = 1.0,
        budget: float | None = None,
        on_violation: Reaction = "raise",
        vectors: int = 1,
        false_alarm: float = 1e-9,
        seed: int | None = None,
        trace: str | Path | None = None,
    ) -> None:
        if not 0 < sample <= 1:
            raise UsageError(f"sample={sample}: a share above 0 and up to 1 of the products")
        if budget is not None and not budget > 0:
            raise UsageError(f"budget={budget}: a share of the running time above 0, for example 0.01")
        if on_violation not in ("raise", "record", "repair"):
            raise UsageError(f"on_violation={on_violation!r}: raise, record or repair")
        self.events: list[Event] = []
        self._weights = Weights(list(model.parameters()) if model is not None else [])
        self._random = random.Random(seed)
        self._budget = Budget(budget, sample, self._random)
        self._reaction, self._vectors, self._false_alarm = on_violation, vectors, false_alarm
        self._trace = Path(trace) if trace is not None else None
        self._lock = threading.RLock()
        self._local = threading.local()
        self._entered = 0
        self._began = self._elapsed = 0.0
        self._products = self._checked = self._suspicious = self._step = 0
        self._flops = self._checked_flops = 0.0
        self._uncovered: Counter[str] = Counter()

    def __enter__(self) -> Guard:
        from kernel_contracts.guarding.torch_mode import mode

        stack = self._local.__dict__.setdefault("modes", [])
        entered = mode(self._after)
        entered.__enter__()
        stack.append(entered)
        with self._lock:
            if not self._entered:
                self._began = time.perf_counter()
            self._entered += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self._local.modes.pop().__exit__(*error)
        with self._lock:
            self._entered -= 1
            if not self._entered:
                self._elapsed += time.perf_counter() - self._began

    def step(self) -> None:
        """Tell the guard that a step of training is done: events bear the number of their step."""
        with self._lock:
            self._step += 1

    @property
    def account(self) -> Account:
        """What was verified so far and what it cost."""
        with self._lock:
            return Account(
                self._products, self._checked, dict(self._uncovered), self._flops, self._checked_flops,
                self._seconds(), self._budget.spent, self._suspicious, len(self.events), self._budget.rate,
            )  # fmt: skip

    def metrics(self) -> str:
        """The account as text for Prometheus."""
        return metrics(self.account)

    def _seconds(self) -> float:
        running = time.perf_counter() - self._began if self._entered else 0.0
        return self._elapsed + running

    def _after(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any, again: Any) -> None:
        """A product has run. `again` runs it once more."""
        began = time.perf_counter()
        if name not in PRODUCTS or hidden(args, kwargs, out):
            with self._lock:
                self._uncovered[name] += 1
            return
        call = understand_call(name, args, kwargs, out)
        if call is None:
            return
        with self._lock:
            self._products += 1
            self._flops += call.flops
            number = self._products
            program = max(0.0, self._seconds() - self._budget.spent)
            wanted = self._budget.wants(call.work, program)
            seed = self._random.getrandbits(60)
            self._budget.kept(time.perf_counter() - began)
        if not wanted:
            return
        began = time.perf_counter()
        try:
            self._verify(call, number, seed, again)
        finally:
            with self._lock:
                self._checked += 1
                self._checked_flops += call.flops
                self._budget.paid(call.work, time.perf_counter() - began)

    def _verify(self, call: Call, number: int, seed: int, again: Any) -> None:
        if call.c.device.type == "cpu" and not suspicious(call, self._weights, self._vectors, seed, self._false_alarm):
            return
        found = check_product(call.a, call.b, call.c, false_alarm=self._false_alarm, seed=seed, **call.forms)
        with self._lock:
            self._suspicious += 1
        if found.ok:
            return
        rows: tuple[tuple[int, ...], ...] = ()
        if self._reaction == "repair":
            done = repair(call.a, call.b, call.c, again, false_alarm=self._false_alarm, seed=seed, **call.forms)
            if done.ok:
                call.c.copy_(done.value)
                rows = done.rows
        shapes = tuple(tuple(int(n) for n in x.shape) for x in (call.a, call.b, call.c))
        import torch

        backward = torch._C._current_graph_task_id() != -1
        event = Event(self._step, number, call.operation, shapes, backward, found, rows)
        self._report(event)
        if self._reaction == "raise" or (self._reaction == "repair" and not rows):
            raise ProductFaultError(event)

    def _report(self, event: Event) -> None:
        with self._lock:
            self.events.append(event)
            logger.error("%s", event)
            if self._trace is not None:
                with self._trace.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(event.as_json(), allow_nan=False) + "\n")


def guard(model: Any = None, **how: Any) -> Guard:
    """Verify the matrix products of a PyTorch program while it runs, forward and backward.

        with guard(model, budget=0.01, on_violation="record") as g:
            train()
        print(g.account)

    `model` lends its parameters, so that what is computed from an unchanged weight is kept. `sample` is the largest
    share of products to verify, `budget` the seconds to spend for a second of the program (None: no limit).
    `on_violation`: `raise` ProductFaultError, `record` in `g.events`, or `repair` the rows in place, and raise where
    doing the product again does not help. `vectors` secret vectors a product; `false_alarm` bounds the probability of
    accusing an honest one. `trace` is a file to which events are appended as JSON lines. Results are not changed, no
    random number of PyTorch is drawn. Operations that it does not verify are counted in `g.account.uncovered`.
    """
    return Guard(model, **how)


__all__ = ["Guard", "guard"]
