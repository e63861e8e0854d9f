"""The version of the package, read from its metadata and from nowhere else."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("kernel-contracts")
except PackageNotFoundError:  # a source tree that was never installed
    VERSION = "0+source"
