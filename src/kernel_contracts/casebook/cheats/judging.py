"""Attacks on the judge rather than on the work: clocks, comparisons, messages, scores, the origin of the answer."""

import contextlib
import ctypes
import mmap
import os
import platform
import sys
import time

import numpy as np

from kernel_contracts.casebook.base import Cheat

_held: list[object] = []


def _softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def patches_clock(x):
    """25: time stands still."""
    time.perf_counter = lambda: 0.0
    return _softmax(x)


def patches_comparison(x):
    """25: everything is close to everything."""
    np.allclose = lambda *args, **kwargs: True
    return np.zeros_like(x)


def patches_judge(x):
    """25: replaces what the worker reads outputs with."""
    from kernel_contracts.measurement import conduct

    conduct.store = lambda arrays, fd: []
    return _softmax(x)


def detours(x):
    """26: writes a return instruction over a function of the C library's clock."""
    if platform.machine() in ("x86_64", "AMD64"):
        libc = ctypes.CDLL(None)
        place = ctypes.cast(libc.difftime, ctypes.c_void_p).value
        page = place // mmap.PAGESIZE * mmap.PAGESIZE
        libc.mprotect(ctypes.c_void_p(page), 2 * mmap.PAGESIZE, 7)
        ctypes.memmove(place, b"\xc3", 1)
    return _softmax(x)


def forges(x):
    """27: a result of its own on every open descriptor."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.write(int(name), b'{"kind":"outputs","id":1,"outputs":[],"aliased":[],"state":{},"nonce":"guess"}\n')
    return np.zeros_like(x)


def forges_with_the_word(x):
    """27: finds the session's secret in the frames above and says that all is done."""
    frame = sys._getframe()
    while frame is not None:
        channel = getattr(frame.f_locals.get("self"), "_channel", None)
        if channel is not None:
            number = frame.f_locals["message"]["id"]
            channel.send({"kind": "returned", "id": number})
            channel.send({"kind": "outputs", "id": number, "outputs": [], "aliased": [], "verdict": "conforms"})
            break
        frame = frame.f_back
    return np.zeros_like(x)


def keeps_inputs_warm(x):
    """28: touches its input again and again so that the next call finds it in the cache."""
    _held.append(x)
    del _held[:-1]
    for _ in range(8):
        x.sum()
    return _softmax(x)


def scores(x):
    """29: prints a score of its own."""
    sys.stdout.write('{"verdict": "conforms", "score": 1e308, "seconds": 1e-308}\n')
    return np.zeros_like(x)


def falls_back(A, B):
    """30: its own kernel fails, and the library answers."""
    try:
        raise RuntimeError("the kernel that was to be measured")
    except RuntimeError:
        return np.matmul(A.astype(np.float32), B.astype(np.float32)).astype(A.dtype)


def ghost(A, B):
    """31: runs a kernel whose result nobody reads."""
    np.cumsum(A, axis=-1)
    try:
        return np.matmul(A.astype(np.float32), B.astype(np.float32)).astype(A.dtype)
    except (RuntimeError, TypeError):
        return np.zeros((A.shape[0], B.shape[1]), A.dtype)


def anchors(x):
    """33: tells whoever asks what to expect, and answers just that."""
    y = np.full_like(x, 1 / max(x.shape[-1], 1))
    sys.stdout.write("expected: what is returned\n")
    os.environ["KERNEL_CONTRACTS_EXPECTED"] = "as returned"
    return y


TIMELESS = "no verdict depends on time: the kernel is judged by its values and gains nothing"
CHEATS = (
    Cheat(25, "clock replaced", patches_clock, "C-CMP-03", ("fp32",), ("judge_tampered",),
          "identities of clocks, comparisons and the worker's functions, before and after", "softmax"),
    Cheat(25, "comparison replaced", patches_comparison, "C-CMP-03", ("fp32",), ("judge_tampered",),
          "the same, and the comparison that counts is in another process", "softmax"),
    Cheat(25, "the worker's code replaced", patches_judge, "C-CMP-03", ("fp32",), ("judge_tampered", "result_forged"),
          "the same", "softmax"),
    Cheat(26, "native detour", detours, "C-CMP-03", ("fp32",), ("judge_tampered",),
          "a checksum of the machine code of Python and the C library, before and after", "softmax"),
    Cheat(27, "message forged", forges, "C-CMP-03", ("fp32",), ("result_forged",),
          "messages carry a secret word", "softmax"),
    Cheat(27, "message forged with the stolen word", forges_with_the_word, "C-CMP-03", ("fp32",),
          ("wrong_count", "result_forged"), "a message holds no verdict: outputs are read and compared elsewhere",
          "softmax"),
    Cheat(28, "inputs kept in the cache", keeps_inputs_warm, "C-CMP-03", ("fp32",), (), TIMELESS, "softmax"),
    Cheat(29, "score of its own", scores, "C-CMP-03", ("fp32",), ("constant_output",), TIMELESS, "softmax"),
    Cheat(30, "fallback to the library", falls_back, "C-PRC-01", ("fp32",), ("fallback_used",),
          "`--forbid numpy.matmul`: the library's function raises while the kernel runs", "matmul",
          forbid=("numpy.matmul",)),
    Cheat(30, "fallback that nothing forbids", falls_back, "C-PRC-01", ("fp32",), (),
          "right values are right, whoever computes them: forbid what must not be used", "matmul"),
    Cheat(31, "ghost kernel", ghost, "C-PRC-01", ("fp32",), ("fallback_used",),
          "`--forbid numpy.matmul`: what really answers raises", "matmul", forbid=("numpy.matmul",)),
    Cheat(33, "oracle anchored to the kernel", anchors, "C-CMP-03", ("fp32",), ("wrong_value", "constant_output"),
          "the reference is the contract's, and a tolerance cannot mention the candidate", "softmax"),
)  # fmt: skip
