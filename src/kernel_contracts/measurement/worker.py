"""The worker's side of a measurement: loads one kernel and calls it when told, until the session closes the channel.

Requirement: knows inputs and nothing else; no oracle, tolerance or expected value ever enters this process. Whatever
goes wrong in here ends this process alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import faulthandler
import mmap
import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from kernel_contracts.errors import TargetError, UsageError
from kernel_contracts.measurement import conduct
from kernel_contracts.measurement.adapter import Stack
from kernel_contracts.measurement.channel import Channel
from kernel_contracts.measurement.communicator import joined
from kernel_contracts.measurement.enclosure import enclose as give_up
from kernel_contracts.measurement.fingerprint import platform_fingerprint
from kernel_contracts.measurement.forbidding import Forbidden
from kernel_contracts.measurement.foreign import Opened, check_claimed
from kernel_contracts.measurement.poison import Poison
from kernel_contracts.measurement.schedule_space import Schedules
from kernel_contracts.measurement.tampering import Snapshot
from kernel_contracts.measurement.target import Resolved, Target, parse, resolve

LOST_CHANNEL = 70
"""Exit status when the worker can no longer talk to its session."""
_SHORT = 256
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def tie(parent: int) -> None:
    """Ties this process to the one that started it: it dies with it and leaves no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError, ValueError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def enclose(parent: int) -> dict[str, str]:
    """Ties this process to its parent and its family to it. Returns what else it gave up, as facts."""
    tie(parent)
    with contextlib.suppress(OSError, AttributeError, ValueError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # a daemon that the kernel starts stays in our family
    faulthandler.register(signal.SIGUSR1, all_threads=False, chain=False)  # the session asks where a hang is
    return give_up(Path(__file__).resolve().parents[1])


def serve(
    stack: Stack, channel: Channel, inbox: int, outbox: int, hello: dict[str, Any], isolation: Mapping[str, str]
) -> NoReturn:
    """Greets, loads, and answers calls for ever. Never returns and never raises."""
    worker = _Worker(stack, channel, inbox, outbox, hello, isolation)
    status = LOST_CHANNEL
    try:
        worker.greet()
        while (message := channel.receive()) is not None:
            worker.answer(message)
        status = 0
    except BaseException:
        if sys.stderr is not None:
            with contextlib.suppress(BaseException):
                sys.excepthook(*sys.exc_info())
    os._exit(status)


class _Worker:
    def __init__(
        self,
        stack: Stack,
        channel: Channel,
        inbox: int,
        outbox: int,
        hello: dict[str, Any],
        isolation: Mapping[str, str],
    ) -> None:
        self._stack = stack
        self._isolation = isolation
        self._channel = channel
        self._inbox = inbox
        self._outbox = outbox
        self._device: str = hello["device"]
        self._memory: int = hello["memory_mb"] << 20
        self._map: mmap.mmap | None = None
        self._kernel: Resolved | None = None
        self._opened: Opened | None = None
        self._libc = ctypes.CDLL(None)
        self._poison = Poison()
        self._fresh: dict[str, Any] = {}
        self._spaces: dict[str, Schedules] = {}

    def greet(self) -> None:
        """Facts about the platform, taken before any code of the kernel has run."""
        try:
            devices, version = self._stack.devices(), self._stack.version()
            facts = platform_fingerprint(self._stack.fingerprint(), dict(self._stack.environment))
            facts["isolation"] = dict(self._isolation)
            self._forbidden = Forbidden.from_environment()
            self._snapshot = Snapshot(self._stack)
            self._fresh = conduct.float_state()
        except UsageError as error:
            return self._channel.send({"kind": "refused", "text": str(error)})
        except Exception as error:  # the library is there but does not start
            text = f"stack {self._stack.name} cannot be used here: {type(error).__name__}: {error}"
            return self._channel.send({"kind": "refused", "text": text[:2000]})
        if not devices:
            text = f"stack {self._stack.name} finds no device on this machine; install a driver for one"
            return self._channel.send({"kind": "refused", "text": text})
        if not self._device:
            self._device = devices[0]
        elif self._device not in devices:
            text = f"stack {self._stack.name} has no device {self._device!r} here; it has {', '.join(devices)}"
            return self._channel.send({"kind": "refused", "text": text})
        compiling = {"compiling": self._stack.compiling, "apart": self._stack.compiles_apart(self._device)}
        hello = {"version": version, "device": self._device, "fingerprint": facts, **compiling}
        return self._channel.send({"kind": "hello", **hello})

    def answer(self, message: dict[str, Any]) -> None:
        if message["op"] == "load":
            self._load(message["target"], message["directory"])
        elif message["op"] == "schedules":
            self._schedules(message)
        else:
            self._call(message)

    def _load(self, text: str, directory: str) -> None:
        try:
            target = parse(text, directory)
            sys.path.insert(0, os.path.dirname(target.file) if target.file else directory)
            sys.argv[:] = [target.file or target.module]
            kernel = self._kernel = self._resolved(target)
        except TargetError as error:
            self._flush()
            return self._channel.send({"kind": "refused", "text": str(error)})
        if self._device == "cpu":  # drivers of accelerators reserve far more address space than they use
            _limit_data(self._memory)
        self._flush()
        return self._channel.send(
            {
                "kind": "loaded",
                "name": kernel.name,
                "file": kernel.file,
                "parameters": kernel.parameters,
                "keywords": kernel.keywords,
                "accepts_any": kernel.accepts_any,
                "formats": self._opened and self._opened.formats and sorted(self._opened.formats),
            }
        )

    def _resolved(self, target: Target) -> Resolved:
        check_claimed(target, self._stack)
        if target.foreign:
            self._opened = Opened(self._stack, target, self._device)
            return self._opened.resolved()
        kernel = resolve(target)
        return dataclasses.replace(kernel, function=self._stack.compiled(kernel.function))

    def _space(self, parameter: str) -> Schedules:
        assert self._kernel is not None
        return self._spaces.setdefault(parameter, Schedules(self._kernel.function, parameter))

    def _schedules(self, message: dict[str, Any]) -> None:
        try:
            space = self._space(message["parameter"]).space(message["dims"])
            answer = {"kind": "schedules", **dataclasses.asdict(space)}
        except TargetError as error:
            answer = {"kind": "refused", "text": str(error)}
        self._flush()
        return self._channel.send({**answer, "id": message["id"]})

    def _call(self, message: dict[str, Any]) -> None:
        assert self._kernel is not None
        names = [place["name"] for place in message["arrays"]]
        way, schedule = message.get("way") or {}, contextlib.ExitStack()
        function = self._kernel.function
        tidied = self._stack.tidy()
        try:
            buffer = self._shared(message["size"])
            views, natives = conduct.prepare(self._stack, self._device, buffer, message["arrays"])
            outs = conduct.out_arrays(self._stack, self._device, message["poison"]) if way.get("out") else ()
            given = {**message["scalars"], **({"out": outs[0] if len(outs) == 1 else outs} if outs else {})}
            if "index" in way:
                space = self._space(way["parameter"])
                given |= schedule.enter_context(space.applied(way["dims"], way["index"]))
            if self._opened is not None:
                function = self._opened.launch(message["scope"])
        except (TypeError, MemoryError, TargetError, IndexError) as error:
            whose = "kernel" if self._opened and isinstance(error, TargetError) else "stack"
            return self._channel.send({"kind": "refused", "id": message["id"], "text": str(error), "whose": whose})
        before = conduct.float_state()
        ready = self._channel.encode({"kind": "ready", "id": message["id"], "tidied": tidied})
        with schedule:
            self._poison.spread(self._stack, self._device, message["poison"], self._memory, message.get("sentinel"))
            self._channel.write(ready)
            # A short read comes from Python's own small-object pool and leaves the poisoned memory alone.
            if self._channel.receive(_SHORT) is None:
                os._exit(0)
            comm = None
            if "member" in message:
                function, comm = joined(function, message["member"], self._stack, self._device)
            with self._forbidden.running():
                ending = conduct.run(function, natives, given, self._stack, self._device)
        if outs and ending.error is None:
            ending = dataclasses.replace(ending, value=outs)
        self._poison.lift()
        state = {
            **ending.state,
            "before": before,
            "fresh": self._fresh,
            **({"messages": comm.finish(ending.error is not None)} if comm else {}),
        }
        if ending.error is None:
            self._channel.send({"kind": "returned", "id": message["id"]})
            last = self._outputs(ending.value, names, views, message.get("linger", 0.0))
        else:
            last = _failed(ending.error)
        tampered = self._snapshot.changed(machine_code=bool(message.get("linger")))
        if tampered:
            state["tampered"] = tampered[:8]
        if self._forbidden.called:
            state["forbidden"] = sorted(set(self._forbidden.called))
        lost = conduct.mirror(self._stack, message["arrays"], views, natives)
        self._flush()
        return self._channel.send({**last, "id": message["id"], "state": state, "lost": lost})

    def _outputs(self, value: Any, names: list[str], views: list[Any], linger: float) -> dict[str, Any]:
        try:
            arrays = conduct.collect(value, self._stack)
            size = sum(array.nbytes for array in arrays)
            if size > self._memory:
                limit = self._memory >> 20
                return {"kind": "memory", "text": f"returned {size >> 20} MiB; the limit is {limit} MiB"}
            places = conduct.store(arrays, self._outbox)
            late = conduct.changed_later(value, self._stack, arrays, linger) if linger else 0
        except conduct.Defect as defect:
            return {"kind": "defect", "text": str(defect)[:2000]}
        except BaseException as error:  # reading a lazy array runs the kernel's code
            return _failed(error)
        aliased = conduct.aliases(arrays, names, views)
        return {"kind": "outputs", "outputs": places, "aliased": aliased, "late": late}

    def _shared(self, size: int) -> mmap.mmap:
        """The inputs' memory; the same addresses as long as the inputs fit."""
        if self._map is None or len(self._map) < size:
            self._map = mmap.mmap(self._inbox, size)
        return self._map

    def _flush(self) -> None:
        """What the kernel printed leaves the buffers before the answer does."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        self._libc.fflush(None)


def _failed(error: BaseException) -> dict[str, Any]:
    if conduct.is_out_of_memory(error):
        return {"kind": "memory", **conduct.describe(error)}
    return {"kind": "raised", **conduct.describe(error)}


def _limit_data(memory: int) -> None:
    """Private memory may grow by `memory` bytes from what loading took."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        with open("/proc/self/status") as stream:
            now = next(int(line.split()[1]) << 10 for line in stream if line.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (now + memory, now + memory))
