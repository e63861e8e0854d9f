"""The guard: every matrix product of a PyTorch program passes by, and all or a sample of them are verified."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from kernel_contracts.errors import UsageError
from kernel_contracts.guarding.account import Account, metrics
from kernel_contracts.guarding.budget import Budget
from kernel_contracts.guarding.events import Event, ProductFaultError
from kernel_contracts.guarding.families import Understand, hidden
from kernel_contracts.guarding.kit import UNSEEN, Call, Kit, Unseen
from kernel_contracts.guarding.ledger import Ledger
from kernel_contracts.guarding.pending import Entry, Pending, suspicious, versions
from kernel_contracts.guarding.thin import Device, Host
from kernel_contracts.guarding.torch_mode import in_backward, mode
from kernel_contracts.guarding.weights import Weights

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
        defer: bool | None = None,
        hold: int = 1 << 30,
    ) -> None:
        _meant(sample, budget, on_violation, vectors, false_alarm, hold)
        self.events: list[Event] = []
        self._weights = Weights(list(model.parameters()) if model is not None else [])
        self._random = random.Random(seed)
        self._ledger = Ledger(Budget(budget, sample, self._random))
        self._reaction, self._vectors, self._false_alarm = on_violation, vectors, false_alarm
        self._trace = Path(trace) if trace is not None else None
        self._defer, self._pending = defer, Pending(hold)
        self._lock = threading.RLock()
        self._local = threading.local()

    def __enter__(self) -> Guard:
        stack = self._local.__dict__.setdefault("modes", [])
        entered = mode(self._after)
        entered.__enter__()
        stack.append(entered)
        with self._lock:
            self._ledger.enter()
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        self._local.modes.pop().__exit__(kind, *error)
        # What is still to be read is reported in any case, but no second exception hides the first.
        found = self._gather()
        with self._lock:
            if self._ledger.leave() and self._trace is not None:
                self._write(self.account.as_json())
        if found and kind is None:
            raise ProductFaultError(found[0])

    def step(self) -> None:
        """Tell the guard that a step is done: events bear its number, and looks on a device are read now."""
        found = self._gather()
        with self._lock:
            self._ledger.step += 1
        if found:
            raise ProductFaultError(found[0])

    @property
    def account(self) -> Account:
        """What was verified so far and what it cost."""
        with self._lock:
            return self._ledger.account(self._weights.reused)

    def metrics(self) -> str:
        """The account as text for Prometheus."""
        return metrics(self.account)

    def collector(self, prefix: str = "kernel_contracts_guard") -> Any:
        """The account for `prometheus_client.REGISTRY.register`; needs the extra `prometheus`."""
        from kernel_contracts.guarding.prometheus import collector

        return collector(lambda: self.account, prefix)

    def _after(
        self, name: str, understand: Understand | None, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any,
        again: Callable[[], Any],
    ) -> None:  # fmt: skip
        """An operation has run. `again` runs it once more."""
        began = time.perf_counter()
        known = understand is not None and not hidden(args, kwargs, out)
        calls = understand(name, args, kwargs, out) if known and understand else UNSEEN
        if calls is None:
            return
        if isinstance(calls, Unseen):
            with self._lock:
                self._ledger.uncovered(name)
            return
        for call in calls if isinstance(calls, tuple) else (calls,):
            self._meet(call, again, began)
            began = time.perf_counter()

    def _meet(self, call: Call, again: Callable[[], Any], began: float) -> None:
        """One product has run: verify it if the budget allows."""
        with self._lock:
            number, wanted = self._ledger.ran(call)
            seed = self._random.getrandbits(60)
            self._ledger.budget.kept(time.perf_counter() - began)
        if not wanted:
            return
        began = time.perf_counter()
        try:
            self._verify(call, number, seed, again)
        finally:
            with self._lock:
                self._ledger.checked(call, time.perf_counter() - began)

    def _verify(self, call: Call, number: int, seed: int, again: Callable[[], Any]) -> None:
        device = call.result.device
        late = self._defer if self._defer is not None else device.type != "cpu"
        kit = self._kit(device, late, seed)
        for _ in range(self._vectors):
            flag, seen = call.glance(kit)
            if late:
                entry = Entry(
                    call, kit, flag, seen, number, seed, self._ledger.step, in_backward(), again, versions(call)
                )
                self._later(entry)
            elif flag and call.glance(kit, fresh=True)[0]:  # what was kept of a weight may be out of date
                self._answer(self._judge(call, kit, number, seed, self._ledger.step, in_backward(), again))
                return

    def _kit(self, device: Any, late: bool, seed: int) -> Kit:
        """This thread's tools for a device."""
        kits = self._local.__dict__.setdefault("kits", {})
        found: Kit | None = kits.get((device, late))
        if found is None:
            thin = Device(seed, device) if late or device.type != "cpu" else Host(seed)
            found = kits[device, late] = Kit(thin, self._weights, self._false_alarm)
        return found

    def _later(self, entry: Entry) -> None:
        """To be read at the end of the step, or now where that would be too late or hold too much memory."""
        with self._lock:
            full = self._pending.add(entry)
        if full or self._reaction == "repair":
            found = self._gather()
            if found:
                raise ProductFaultError(found[0])

    def _gather(self) -> list[Event]:
        """Read what is pending; every wrong product is reported, and those that are to be raised come back."""
        with self._lock:
            entries = self._pending.take()
        if not entries:
            return []
        found = []
        for e in suspicious(entries):
            if not e.untouched:
                with self._lock:
                    self._ledger.suspicious += 1
                    self._ledger.unexamined += 1
                logger.warning(
                    "step %d, %s number %d: suspicious, and changed since", e.step, e.call.operation, e.number
                )
                continue
            event = self._judge(e.call, e.kit, e.number, e.seed, e.step, e.backward, e.again)
            found += [event] if event is not None and self._raises(event) else []
        return found

    def _judge(
        self, call: Call, kit: Kit, number: int, seed: int, step: int, backward: bool, again: Callable[[], Any]
    ) -> Event | None:
        """The second look, and what follows from it."""
        found = call.examine(kit, seed)
        with self._lock:
            self._ledger.suspicious += 1
        if found.ok:
            return None
        rows = call.repair(kit, seed, again) if self._reaction == "repair" else ()
        shapes = tuple(tuple(int(n) for n in x.shape) for x in call.tensors)
        event = Event(step, number, call.operation, shapes, backward, found, rows)
        with self._lock:
            self._ledger.violations += 1
            self.events.append(event)
            logger.error("%s", event)
            self._write(event.as_json())
        return event

    def _raises(self, event: Event) -> bool:
        return self._reaction == "raise" or (self._reaction == "repair" and not event.repaired)

    def _answer(self, event: Event | None) -> None:
        if event is not None and self._raises(event):
            raise ProductFaultError(event)

    def _write(self, record: dict[str, Any]) -> None:
        """A line of the trace, closed at once so that nothing is lost."""
        if self._trace is not None:
            with self._trace.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, allow_nan=False) + "\n")


def _meant(sample: float, budget: float | None, on_violation: str, vectors: int, false_alarm: float, hold: int) -> None:
    """Raises UsageError in one sentence."""
    if not 0 < sample <= 1:
        raise UsageError(f"sample={sample}: a share above 0 and up to 1 of the products")
    if budget is not None and not budget > 0:
        raise UsageError(f"budget={budget}: a share of the running time above 0, for example 0.01")
    if on_violation not in ("raise", "record", "repair"):
        raise UsageError(f"on_violation={on_violation!r}: raise, record or repair")
    if vectors < 1:
        raise UsageError(f"vectors={vectors}: one secret vector or more for each product")
    if not 0 < false_alarm < 1:
        raise UsageError(f"false_alarm={false_alarm}: a probability between 0 and 1, for example 1e-9")
    if hold < 0:
        raise UsageError(f"hold={hold}: bytes that may be kept alive until the end of a step, 0 or more")


def guard(model: Any = None, **how: Any) -> Guard:
    """Verify the matrix products of a PyTorch program while it runs, forward and backward.

        with guard(model, budget=0.01, on_violation="record") as g:
            train()
        print(g.account)

    `model` lends its parameters, so that what is computed from an unchanged weight is kept. `sample` is the largest
    share of products to verify, `budget` the seconds to spend for a second of the program (None: no limit).
    `on_violation`: `raise` ProductFaultError, `record` in `g.events`, or `repair` the rows in place, and raise where
    doing the product again does not help. `vectors` secret vectors a product; `false_alarm` bounds the probability of
    accusing an honest one. `trace` is a file to which events and the final account are appended as JSON lines. Results
    are not changed, no random number of PyTorch is drawn. Operations that it does not verify are counted in
    `g.account.uncovered`.

    On the processor a product is verified before the next one runs. On another device no value is waited for: flags
    stay there and are read by `g.step()`, at the end, or when operands of `hold` bytes are kept alive for a second
    look (`defer=True` does the same on the processor, `False` waits each time). `repair` waits each time.
    """
    return Guard(model, **how)


__all__ = ["Guard", "guard"]
