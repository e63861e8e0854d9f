"""The platform a measurement ran on, as JSON-able data: enough to tell why two machines disagree.

Requirement: reads, changes nothing, starts no device. The same machine, software and switches give the same digest.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

_SWITCHES = (
    *("OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "ONEDNN_", "DNNL_", "NPY_", "OMP_", "KMP_", "GLIBC_TUNABLES", "MALLOC_"),
    *("ATEN_", "TORCH", "PYTORCH_", "XLA_", "JAX_", "TRITON_"),
    *("CUDA_", "CUBLAS_", "CUDNN_", "NVIDIA_TF32_OVERRIDE", "HIP_", "ROCR_", "HSA_"),
)
"""Beginnings of environment variables that are known to change results."""


def platform_fingerprint(
    stack: Mapping[str, Any] | None = None, settings: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Machine, operating system, Python, NumPy with its BLAS, switches, and the stack's own facts.

    `settings` are the environment variables that the stack's variant asked for, as they are in this process.
    """
    return {
        "os": platform.system(),
        "kernel": platform.release(),
        "arch": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip(),
        "cpu": _cpu(),
        "memory_mb": _memory_mb(),
        "python": platform.python_version(),
        "numpy": {"version": np.__version__, "blas": _blas(), "simd": _simd()},
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_SWITCHES)},
        "stack": {**(stack or {}), "settings": {k: os.environ.get(k, "") for k in sorted(settings or {})}},
    }


def digest(fingerprint: Mapping[str, Any]) -> str:
    """SHA-256 over the canonical JSON text."""
    text = json.dumps(fingerprint, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _cpu() -> dict[str, Any]:
    facts: dict[str, Any] = {"model": platform.processor(), "count": os.cpu_count() or 0, "flags": ""}
    if hasattr(os, "sched_getaffinity"):
        facts["usable"] = len(os.sched_getaffinity(0))
    try:
        with open("/proc/cpuinfo") as stream:
            text = stream.read().split("\n\n", 1)[0]
    except OSError:
        return facts
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    facts["model"] = fields.get("model name", facts["model"])
    flags = " ".join(sorted(fields.get("flags", fields.get("Features", "")).split()))
    facts["flags"] = hashlib.sha256(flags.encode()).hexdigest()[:16] if flags else ""
    return facts


def _memory_mb() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (ValueError, OSError):
        return 0


def _blas() -> dict[str, Any]:
    config: Any = np.show_config(mode="dicts")  # type: ignore[func-returns-value,unused-ignore]
    blas = (config or {}).get("Build Dependencies", {}).get("blas", {})
    return {
        "name": str(blas.get("name", "")),
        "version": str(blas.get("version", "")),
        "config": str(blas.get("openblas configuration", "")),
        "core": _openblas_core(),
    }


def _openblas_core() -> str:
    """The code path that OpenBLAS chose on this processor: `OPENBLAS_CORETYPE` and the processor decide together."""
    try:
        with open("/proc/self/maps") as stream:
            path = next(line.split()[-1] for line in stream if "openblas" in line)
        library = ctypes.CDLL(path)
    except (OSError, StopIteration):
        return ""
    for name in ("scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename"):
        function = getattr(library, name, None)
        if function is not None:
            function.restype = ctypes.c_char_p
            return str((function() or b"").decode())
    return ""


def _simd() -> list[str]:
    """Instruction sets that NumPy dispatches to."""
    core = sys.modules.get("numpy._core._multiarray_umath")
    features: Mapping[str, bool] = getattr(core, "__cpu_features__", {})
    return sorted(name for name, on in features.items() if on)
