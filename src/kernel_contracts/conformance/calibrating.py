"""`kc run --calibrate`: whether each contract of a run tells good kernels from bad ones, kept beside the cells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kernel_contracts.calibration import calibrate
from kernel_contracts.conformance.directory import RunDirectory
from kernel_contracts.conformance.grounds import calibration_path
from kernel_contracts.conformance.measuring import Job
from kernel_contracts.errors import KernelContractsError
from kernel_contracts.scorecard import calibration_record


def calibrated(directory: RunDirectory, jobs: Sequence[Job], seed: int) -> Iterator[dict[str, Any]]:
    """A record for each contract and choice of dtypes that has states to calibrate by and none yet; each is kept."""
    for job in jobs:
        path = calibration_path(job.cell)
        if not job.contract.calibrate or directory.holds(path):
            continue
        try:
            record = calibration_record(calibrate(job.contract, job.bound, seed=seed, score=False), seed)
        except KernelContractsError:  # no such state on this machine: not calibrated, and no word against the contract
            continue
        directory.put({path: json.dumps({**record, "digest": job.contract.digest}, allow_nan=False) + "\n"})
        yield record
