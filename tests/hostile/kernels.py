"""Kernels that misbehave on purpose, one way each. They run in worker processes only."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np


def honest(x):
    return x * 2


def scaled(x, scale=1.0, *, shift=0.0):
    return x * np.float32(scale) + np.float32(shift)


def everything(x, **settings):
    return np.asarray(float(settings["alpha"]) * float(x.sum()))


# ------------------------------------------------------------------------------------------------ ends that are not


def segfault(x):
    ctypes.string_at(0)


def abort(x):
    os.abort()


def hang(x):
    while True:
        pass


def hang_in_c(x):
    """Sleeps while it holds the interpreter's lock, deaf to signals of Python."""
    ctypes.PyDLL(None).sleep(3600)


def hang_printing(x):
    while True:
        print("still here")


def leave(x):
    sys.exit(3)


def vanish(x):
    os._exit(3)


def kill_itself(x):
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt(x):
    raise KeyboardInterrupt


def raise_unprintable(x):
    class Nasty(Exception):
        def __str__(self):
            raise RuntimeError("no text for you")

    raise Nasty


def raise_value_error(x):
    raise ValueError("rank 7 is not supported")


def recurse(x):
    return recurse(x)


def recurse_in_c(x):
    """Deep recursion through C code without Python's own limit: overflows the stack."""
    sys.setrecursionlimit(10**8)

    class Deep:
        def __repr__(self):
            return repr([self])

    repr(Deep())


# ------------------------------------------------------------------------------------------------ memory


def eat_memory(x):
    held = []
    while True:
        held.append(np.ones(1 << 22))


def eat_shared_memory(x):
    """Memory that limits on private data do not count."""
    import mmap

    held = []
    while True:
        block = mmap.mmap(-1, 1 << 25)
        np.frombuffer(block, np.uint8)[:] = 1
        held.append(block)


def eat_memory_in_children(x):
    """Four children, each well below any limit of its own."""
    code = "b = bytes([1]) * (120 << 20); import time; time.sleep(600)"
    for child in [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]:
        child.wait()


def huge_view(x):
    """A terabyte by a stride of zero."""
    return np.broadcast_to(x.reshape(-1)[:1], (1 << 38,))


# ------------------------------------------------------------------------------------------------ inputs and memory


def scribble(x):
    y = x * 2
    x[...] = 0
    return y


def scribble_beside(x):
    """Writes just before its input, where a guard or a gap lies, and leaves the values alone."""
    y = x * 2
    ctypes.memset(x.ctypes.data - 8, 0x11, 4)
    return y


def scribble_in_gap(x):
    """Writes between the elements of a strided input."""
    y = x * 2
    ctypes.memset(x.ctypes.data + x.itemsize, 0x11, x.itemsize)
    return y


def cut_inputs_short(x):
    """Shrinks every file it finds open to nothing."""
    y = x * 2
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.ftruncate(int(name), 0)
    return y


def echo(x):
    return x


def unwritten(x):
    return np.empty_like(x)


def half_written(x):
    y = np.empty(x.shape, x.dtype)
    y[: len(x) // 2] = 1
    return y


# ------------------------------------------------------------------------------------------------ returned objects


def returns_nan(x):
    return np.full_like(x, np.nan)


def returns_fp64(x):
    return x.astype(np.float64)


def returns_big_endian(x):
    return x.astype(x.dtype.newbyteorder(">"))


def returns_complex(x):
    return x.astype(np.complex64)


def returns_scalar(x):
    return x.reshape(-1)[0]


def returns_two(x):
    return x + 1, x.sum()


def returns_list(x):
    return [x]


def returns_none(x):
    return None


def returns_float(x):
    return 1.5


def returns_text(x):
    return "done"


def returns_empty_tuple(x):
    return ()


def returns_nested(x):
    return (x, (x, x))


def returns_objects(x):
    return np.array([object(), None])


def returns_dates(x):
    return np.array(["2020-01-01"], "datetime64[D]")


def returns_matrix(x):
    return np.ma.masked_array(x)


def returns_lazy(x):
    class Lazy(np.ndarray):
        def __array_finalize__(self, other):
            pass

    return x.view(Lazy)


def returns_generator(x):
    yield x


# ------------------------------------------------------------------------------------------------ noise and lies


def print_a_lot(x):
    for line in range(20000):
        print("line", line, "of a very long story that nobody reads to its end")
    os.write(2, b"the end\n")
    return x * 2


def print_without_newline(x):
    sys.stdout.write("half a line")
    return x * 2


def close_everything(x):
    os.closerange(0, 4096)
    return x * 2


def garbage_everywhere(x):
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.write(int(name), b"\x00garbage {]\n" * 3)
    return x * 2


def forge(x):
    """A well-formed answer, but without the secret word."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.write(int(name), b'{"kind":"outputs","id":1,"outputs":[],"aliased":[],"state":{},"nonce":"guess"}\n')
    return x * 2


def endless_line(x):
    for name in os.listdir("/proc/self/fd"):
        try:
            fd = int(name)
            if fd > 2 and os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:"):
                for _ in range(64):
                    os.write(fd, b"x" * 65536)
        except OSError:
            pass
    return x * 2


def steal_the_word(x):
    """Finds the secret in the frames above and claims an output far outside the shared file."""
    frame = sys._getframe()
    while frame is not None:
        channel = getattr(frame.f_locals.get("self"), "_channel", None)
        if channel is not None:
            channel.send({"kind": "returned", "id": frame.f_locals["message"]["id"]})
            place = {"dtype": "float32", "shape": [1 << 40], "offset": 0}
            channel.send({"kind": "outputs", "id": frame.f_locals["message"]["id"], "outputs": [place], "aliased": []})
            time.sleep(60)
        frame = frame.f_back
    return x * 2


def fork_and_hang(x):
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
    return x * 2


def fork_and_answer(x):
    """Both processes return; only one may be heard."""
    os.fork()
    return x * 2


def daemonize(x):
    """A grandchild in a session of its own, which outlives its parents."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 4096)
            time.sleep(600)
        os._exit(0)
    os.wait()
    return x * 2


def leave_thread(x):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return x * 2


def die_later(x):
    """Answers well, then dies between two calls."""
    threading.Timer(0.05, os.abort).start()
    return x * 2


def flush_subnormals(x):
    """Leaves the processor in flush-to-zero mode, as some libraries do."""
    import platform

    if platform.machine() in ("x86_64", "AMD64"):
        env = (ctypes.c_uint8 * 32)()
        libm = ctypes.CDLL("libm.so.6")
        libm.fegetenv(env)
        csr = int.from_bytes(bytes(env[28:32]), "little") | 0x8040
        env[28:32] = csr.to_bytes(4, "little")
        libm.fesetenv(env)
    return x * 2


def count_calls(x, _calls=[0]):  # noqa: B006
    _calls[0] += 1
    return np.asarray(_calls[0])


def see_arguments(x):
    """What a worker can read about itself; looked at by a test."""
    print(sys.argv, sorted(k for k in os.environ if "ORACLE" in k or "TOLERANCE" in k), math.pi)
    return x * 2


class Scaler:
    factor = 3

    def __call__(self, x):
        return x * self.factor

    def apply(self, x):
        return x * self.factor

    @staticmethod
    def double(x):
        return x * 2


class NeedsArgument:
    def __init__(self, width):
        self.width = width

    def apply(self, x):
        return x


scaler = Scaler()
NOT_A_KERNEL = 3
