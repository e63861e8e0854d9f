"""All-reduce with checksums, in two processes with gloo: honest sums pass in every format, a wrong rank is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_contracts.errors import UsageError

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow]

PROGRAM = """
import sys, torch, torch.distributed as dist
from kernel_contracts.guarding.collectives import checked_all_reduce
rank, ranks, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=ranks)
honest = 0
for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
    for shift in (0.0, 100.0):
        for mean in (False, True):
            torch.manual_seed(rank)
            x = (torch.randn(3, 4000) + shift).to(dtype)
            found = checked_all_reduce(x, mean=mean)
            assert found.ok, (dtype, shift, mean, str(found))
            assert found.ranks == ranks
            honest += 1
# A rank that hands on something else than it holds: below the checksum's eyes its addend changes.
plain = dist.all_reduce
def spoiled(tensor, *args, **kwargs):
    if tensor.numel() > 2 and rank == 1:
        tensor[5] += 0.01
    return plain(tensor, *args, **kwargs)
dist.all_reduce = spoiled
x = torch.randn(1000, generator=torch.Generator().manual_seed(rank))
found = checked_all_reduce(x, seed=7)
assert not found.ok and "is wrong" in str(found), str(found)
assert abs(abs(found.found - found.expected) - 0.01) < 1e-4
dist.destroy_process_group()
print("honest", honest)
"""


def test_honest_sums_pass_and_a_wrong_rank_is_found(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    jobs = [
        subprocess.Popen([*command, str(rank), "3", str(tmp_path / "meet")], stdout=subprocess.PIPE, text=True)
        for rank in range(3)
    ]
    try:
        for job in jobs:
            out, _ = job.communicate(timeout=200)
            assert job.returncode == 0
            assert out.strip().endswith("honest 16")
    finally:
        for job in jobs:
            job.kill()
            job.wait()


def test_without_a_group_it_says_what_to_do() -> None:
    from kernel_contracts.guarding.collectives import checked_all_reduce

    with pytest.raises(UsageError, match="init_process_group"):
        checked_all_reduce(torch.ones(3))
