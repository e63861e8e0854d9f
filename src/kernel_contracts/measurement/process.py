"""A kernel under test, at arm's length: load it, call it, get back what happened.

Requirement: the kernel runs in a process of its own that sees inputs and nothing else. It may crash, hang, exhaust
memory, scribble over its inputs or lie: each is an outcome of that call, and the next call works.

    with Kernel("mykernels.py:softmax", stack="torch") as kernel:
        result = kernel.call([ArrayIn("x", x)], {"axis": -1}, poison=[(x.shape, "fp32")])
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.errors import ArithmeticScopeError, TargetError, UsageError
from kernel_contracts.measurement import exchange, family, receiving
from kernel_contracts.measurement.calls import ArrayIn, CallResult, LoadReport, Look, Way
from kernel_contracts.measurement.communicator import Membership
from kernel_contracts.measurement.launching import START_SECONDS
from kernel_contracts.measurement.patience import Patience, kind
from kernel_contracts.measurement.schedule_space import Space
from kernel_contracts.measurement.scoping import Announced, plain, scope_of
from kernel_contracts.measurement.supervise import Ended, Orphaned, Supervised
from kernel_contracts.measurement.target import parse, sha256

__all__ = ["ArrayIn", "CallResult", "Kernel", "LoadReport"]

START_MEMORY = 8 << 30
"""Resident bytes while loading, before the kernel's own limit is known."""
_LAST = ("outputs", "defect", "raised", "memory")


class Kernel:
    """A kernel in its worker process, which starts on first use and again after it died. Not for several threads."""

    def __init__(
        self,
        target: str,
        *,
        stack: str = "numpy",
        device: str = "",
        timeout: float = 30.0,
        memory_mb: int = 4096,
        environment: Mapping[str, str] | None = None,
        working_directory: str | Path | None = None,
        anew: bool = False,
    ) -> None:
        """`anew`: its process is never a copy of one that has loaded the stack, but a program started for it alone."""
        if not timeout > 0 or memory_mb < 1:
            raise UsageError(f"timeout={timeout}, memory_mb={memory_mb}: both limits must be positive")
        self.restarts = 0
        """How often the worker had to be started again."""
        self._text, self._stack, self._device = target, stack, device
        self._timeout, self._memory_mb = timeout, memory_mb
        self._environment = dict(environment or {})
        self._directory = Path(working_directory or os.getcwd()).resolve()
        self._anew = anew
        self._target = parse(target, self._directory)
        self._worker: Supervised | None = None
        self._report: LoadReport | None = None
        self._base = 0
        self._count = 0
        self._died = ""
        self._patience = Patience(timeout)
        self.announced: Announced = None
        """The contract and dtypes that the calls are about: all that a kernel without a signature learns of them."""

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_worker", None) is not None:
            with contextlib.suppress(Exception):  # at the interpreter's end half of what it takes is gone
                self.close()

    def close(self) -> None:
        """Ends the worker and everything it started."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()

    def interrupt(self) -> None:
        """Ends the worker, from whichever thread; a call in progress then ends as crashed."""
        worker = self._worker
        if worker is not None and worker.alive:
            family.end(worker.process.pid)

    def spawn(self, environment: Mapping[str, str]) -> Kernel:
        """The same kernel in a process of its own that shares nothing by birth, with more environment variables."""
        other = Kernel(
            self._text,
            stack=self._stack,
            device=self._device,
            timeout=self._timeout,
            memory_mb=self._memory_mb,
            environment={**self._environment, **environment},
            working_directory=self._directory,
            anew=True,
        )
        other.announced = self.announced
        return other

    def load(self) -> LoadReport:
        """Starts the worker if there is none; TargetError in one sentence when the kernel cannot be loaded."""
        if self._worker is not None and not self._worker.alive:
            status = self._worker.process.wait()
            self._anew |= self._worker.orphaned
            self._died = "" if self._worker.orphaned else family.describe_exit(status)
            self.close()
        if self._worker is not None and self._report is not None:
            return self._report
        self.close()
        self.restarts += self._report is not None
        digest = sha256(self._target.file) if self._target.file else ""
        if self._report is not None and digest and digest != self._report.sha256:
            raise TargetError(f"{self._target.file} changed during the measurement; start it again")
        self._worker = Supervised(self._stack, self._environment, self._directory, anew=self._anew)
        try:
            self._report = self._start(self._worker, digest)
        except Orphaned:
            self._anew = True
            self.close()
            return self.load()
        except BaseException:
            self.close()
            raise
        self._base = family.resident(self._worker.process.pid)
        return self._report

    def _start(self, worker: Supervised, digest: str) -> LoadReport:
        hello = {"device": self._device, "memory_mb": self._memory_mb}
        try:
            worker.send(hello)
            facts = worker.expect(("hello", "refused"), START_SECONDS, START_MEMORY)
            if facts["kind"] == "refused":
                raise UsageError(str(facts["text"]))
            worker.send({"op": "load", "target": self._text, "directory": str(self._directory)})
            loaded = worker.expect(("loaded", "refused"), START_SECONDS, START_MEMORY)
        except Ended as end:
            raise TargetError(
                f"target {self._text!r} cannot be loaded: {end.detail}{receiving.last_line(worker)}"
            ) from None
        if loaded["kind"] == "refused":
            raise TargetError(str(loaded["text"]))
        worker.printed()
        self._patience.started(float(facts["compiling"]), apart=bool(facts["apart"]))
        file = str(loaded["file"])
        return LoadReport(
            name=str(loaded["name"]),
            file=file,
            sha256=digest or sha256(file),
            parameters=tuple(map(str, loaded["parameters"])),
            keywords=frozenset(map(str, loaded["keywords"])),
            accepts_any=bool(loaded["accepts_any"]),
            stack=self._stack,
            stack_version=str(facts["version"]),
            device=str(facts["device"]),
            fingerprint=facts["fingerprint"],
            formats=None if loaded.get("formats") is None else frozenset(map(str, loaded["formats"])),
        )

    def schedules(self, parameter: str, dims: Mapping[str, int]) -> Space:
        """The schedules exposed at these sizes. TargetError in one sentence where they cannot be read."""
        self.load()
        worker = self._worker
        assert worker is not None
        self._count += 1
        try:
            worker.send({"op": "schedules", "id": self._count, "parameter": parameter, "dims": dict(dims)})
            memory = self._base + (self._memory_mb << 20)
            answer = worker.expect(("schedules", "refused"), max(self._timeout, START_SECONDS), memory)
        except Ended as end:
            self.close()
            raise TargetError(f"the schedules of {self._text!r} cannot be read: {end.detail}") from None
        if answer["kind"] == "refused" or answer.get("id") != self._count:
            raise TargetError(f"target {self._text!r}: {answer.get('text', 'its worker answered another question')}")
        labels, tiles = tuple(map(str, answer["labels"])), tuple(int(t) for t in answer["tiles"])
        return Space(str(answer["how"]), labels, tiles, bool(answer["required"]), bool(answer["out"]))

    def call(
        self,
        arrays: Sequence[ArrayIn],
        scalars: Mapping[str, Any] = {},
        *,
        poison: Sequence[tuple[tuple[int, ...], str]] = (),
        way: Way | None = None,
        member: Membership | None = None,
        look: Look | None = None,
    ) -> CallResult:
        """One call. `poison` names shape and format of each expected output, whose memory is poisoned beforehand.

        With `member` the kernel is one of several ranks: rank and world come before its arrays, a communicator after.
        `look` asks for more than the answer.
        """
        try:
            return self._called(arrays, scalars, poison, way, member, look)
        except Orphaned:
            if member:  # the other ranks are in the middle of this call
                raise
            self._anew = True  # a process that is started anew has no parent to lose but us
            return self._called(arrays, scalars, poison, way, member, look)

    def _called(
        self, arrays: Sequence[ArrayIn], scalars: Mapping[str, Any], poison: Sequence[tuple[tuple[int, ...], str]],
        way: Way | None, member: Membership | None, look: Look | None,
    ) -> CallResult:  # fmt: skip
        report = self.load()
        worker = self._worker
        assert worker is not None
        positional = len(arrays) + (3 if member else 0)
        passed = {k: plain(k, v) for k, v in scalars.items() if report.accepts(k, positional)}
        image, places = exchange.pack(arrays)
        self._count += 1
        message = self._message(arrays, passed, poison, way, size=image.size, places=places)
        message |= {**(look.as_json() if look else {}), **({"member": member.as_json()} if member else {})}
        seconds, died, self._died = 0.0, self._died, ""
        this = kind(arrays, passed, message["way"]) if self._patience.compiling else None
        memory = self._base + (self._memory_mb << 20) + image.size
        try:
            worker.inbox.write(image)
            worker.send(message)
            ready = self._expect(worker, ("ready", "refused"), START_SECONDS + self._patience.compiling, memory)
            limit, on_top = self._patience.seconds(this, anew=bool(ready.get("tidied")))
            began = time.perf_counter()
            worker.send({"op": "go"})
            try:
                last = self._expect(worker, ("returned", "raised", "memory"), limit, memory, on_top)
            finally:
                seconds = time.perf_counter() - began
            if last["kind"] == "returned":
                last = self._expect(worker, _LAST, max(self._timeout, START_SECONDS), memory)
            result = receiving.result(worker, last)
            now = worker.inbox.read(0, image.size)
            mutated = {*exchange.changed(image, now, places), *map(str, last.get("lost", ()))}
        except Ended as end:
            if end.outcome is Outcome.HUNG:
                self._patience.hung(this)
            result, mutated = CallResult(end.outcome, end.detail, printed=worker.printed()), set()
            self.close()
        except BaseException:
            self.close()  # interrupted in the middle of a call: the worker's state is unknown
            raise
        state = {**result.state, "died_before": died} if died else result.state
        return replace(
            result,
            mutated=tuple(a.name for a in arrays if a.name in mutated),
            dropped=tuple(k for k in scalars if k not in passed),
            seconds=seconds,
            state=state,
        )

    def _message(
        self, arrays: Sequence[ArrayIn], passed: Mapping[str, Any], poison: Sequence[tuple[tuple[int, ...], str]],
        way: Way | None, *, size: int, places: Sequence[exchange.Placement],
    ) -> dict[str, Any]:  # fmt: skip
        """What the worker is told of a call; a kernel file learns the scope as well, having no signature."""
        scope = scope_of(self.announced, arrays, passed, poison) if self._target.foreign else None
        return {
            "op": "call",
            "id": self._count,
            "size": size,
            "arrays": [place.as_json() for place in places],
            "scalars": passed,
            "poison": [(tuple(shape), receiving.storage(name)) for shape, name in poison],
            "way": way and way.as_json(),
            **({"scope": scope.as_json()} if scope else {}),
        }

    def _expect(
        self, worker: Supervised, kinds: Collection[str], seconds: float, memory: int, on_top: float = 0.0
    ) -> dict[str, Any]:
        message = worker.expect(kinds, seconds, memory, on_top)
        if message.get("id") != self._count:
            raise Ended(Outcome.CRASHED, "tampered with the control channel: an answer to another call")
        if message["kind"] == "refused" and message.get("whose") == "kernel":
            raise TargetError(str(message.get("text")))
        if message["kind"] == "refused":
            raise ArithmeticScopeError(f"stack {self._stack} cannot hold these inputs: {message.get('text')}")
        return message
