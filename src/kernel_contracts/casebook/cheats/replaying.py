"""Answers that are not computed from the inputs at hand: kept from an earlier call, a file or a seed."""

import os
import tempfile

import numpy as np

from kernel_contracts.casebook.base import Cheat

_kept: dict[object, object] = {}
_weights: dict[object, object] = {}
_prints: dict[object, object] = {}
_warm: dict[object, object] = {"calls": 0}


def _softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _address(x):
    return x.__array_interface__["data"][0]


def by_pointer(x):
    """1: the same address, so surely the same numbers."""
    if _kept.get("address") != _address(x):
        _kept.update(address=_address(x), answer=_softmax(x))
    return _kept["answer"]


def by_pointer_and_shape(x):
    """1: the same with an eye on the sizes."""
    key = (_address(x), x.shape, x.strides)
    if key not in _kept:
        _kept[key] = _softmax(x)
    return _kept[key]


def by_sparse_print(x):
    """2: eight elements stand for all of them."""
    flat = x.reshape(-1)
    key = (x.shape, flat[:: max(1, flat.size // 8)].tobytes())
    if key not in _prints:
        _prints[key] = _softmax(x)
    return _prints[key]


def weights_once(A, B):
    """3: the weights are packed at the first call and never again while they stay where they are."""
    key = (_address(B), B.shape, B.strides)
    if key not in _weights:
        _weights[key] = B.astype(np.float32)
    return (A.astype(np.float32) @ _weights[key]).astype(A.dtype)


def _store(x):
    """One file a user and shape, written by whoever comes first."""
    name = "kernel-contracts-replay-" + "-".join(map(str, (os.getuid(), *x.shape))) + ".npy"
    return os.path.join(tempfile.gettempdir(), name)


def from_file(x):
    """4: the first answer of each shape is written to a file and read ever after, by other processes too."""
    path = _store(x)
    if not os.path.exists(path):
        np.save(path, _softmax(x))
    return np.load(path).astype(x.dtype)


def from_seed(x):
    """19: draws the inputs again from the usual seed and answers those."""
    return _softmax(np.random.default_rng(0).standard_normal(x.shape).astype(x.dtype))


def after_warm_up(x):
    """23: works during the first three calls, then hands out its last answer of that shape."""
    _warm["calls"] += 1
    if _warm["calls"] <= 3 or x.shape not in _warm:
        _warm[x.shape] = _softmax(x)
    return _warm[x.shape]


PAIRS = "two calls with other numbers in the same memory, and one in a new process"
CHEATS = (
    Cheat(1, "answer kept by address", by_pointer, "C-CMP-03", ("fp32",), ("cached_output",), PAIRS, "softmax"),
    Cheat(1, "answer kept by address and shape", by_pointer_and_shape, "C-CMP-03", ("fp32",), ("cached_output",),
          PAIRS, "softmax"),
    Cheat(2, "answer kept by eight elements", by_sparse_print, "C-CMP-03", ("fp32",), ("cached_output",),
          "one element at a random place is changed between two calls", "softmax"),
    Cheat(3, "weights packed once", weights_once, "C-PRC-01", ("fp32",), ("cached_output",),
          "each input is changed alone, in place, between two calls", "matmul"),
    Cheat(4, "answers read from a file", from_file, "C-CMP-03", ("fp32",), ("seed_replay",),
          "the answer stays the same for other inputs, in a new process too", "softmax", seed=None),
    Cheat(19, "inputs rebuilt from a seed", from_seed, "C-CMP-03", ("fp32",), ("seed_replay",),
          "seeds come from the system, and the answer must change with the inputs", "softmax", seed=None),
    Cheat(23, "replay after a warm-up", after_warm_up, "C-CMP-03", ("fp32",), ("cached_output",),
          "no call is a warm-up: every one has new inputs and is compared", "softmax"),
)  # fmt: skip
