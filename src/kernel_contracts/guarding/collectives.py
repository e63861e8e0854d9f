"""All-reduce with its checksum: the sum of all ranks' checksums before is the checksum of what every rank holds after.

Let rank w contribute x_w, and r be secret signs that all ranks share. Honest sums in any order err in element j by at
most gamma_{W-1} sum_w |x_wj| (Higham 2002, section 4.2), plus half a spacing where a narrow format is kept between
ranks, which the same formula covers with its unit roundoff. With random signs the checksum is then off by a
sub-Gaussian amount of proxy gamma || sum_w |x_w| || <= gamma sum_w ||x_w||, and that sum of norms travels with the
checksums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_contracts.errors import UsageError
from kernel_contracts.formats import FORMATS
from kernel_contracts.guarding.arithmetic import formats
from kernel_contracts.numerics.freivalds.quantiles import deviation

CHUNK = 1 << 22
"""Elements that are widened to fp64 at once."""


@dataclass(frozen=True, slots=True)
class ReduceCheck:
    """What the checksums say. All ranks learn the same of `expected`; each compares what it holds itself."""

    ok: bool
    expected: float
    found: float
    bound: float
    ranks: int

    def __str__(self) -> str:
        verdict = "conforms" if self.ok else "is wrong"
        return (
            f"all-reduce of {self.ranks} ranks {verdict}: checksum {self.found:.9g} for {self.expected:.9g}, "
            f"honest within {self.bound:.2g}"
        )


def checked_all_reduce(
    tensor: Any, group: Any = None, *, mean: bool = False, seed: int | None = None, false_alarm: float = 1e-9
) -> ReduceCheck:
    """Sum (or average) `tensor` in place over all ranks of a group of `torch.distributed`, and verify the result.

    One small all-reduce more and, without a seed, one small broadcast. Every rank must call it, with the same options.
    fp64, fp32, fp16 and bf16; on any device. Nothing is raised for a wrong result. Raises UsageError.
    """
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        raise UsageError("no process group: call torch.distributed.init_process_group first")
    if tensor.dtype not in formats():
        raise UsageError(f"a tensor of {tensor.dtype}: checksums are for {', '.join(formats().values())}")
    ranks = dist.get_world_size(group)
    seed = _shared_seed(tensor, group) if seed is None else seed
    before, norm = _checksum(tensor, seed)
    sent = tensor.new_tensor([before, norm], dtype=torch.float64)
    dist.all_reduce(sent, group=group)
    dist.all_reduce(tensor, group=group)
    if mean:
        tensor.div_(ranks)
    expected, size = (x / ranks if mean else x for x in sent.tolist())
    found, _ = _checksum(tensor, seed)
    u = FORMATS[formats()[tensor.dtype]].u
    n = (ranks - 1 + bool(mean)) * u
    gamma = n / (1 - n) if n < 1 else float("inf")
    # The checksums themselves are taken in fp64, in chunks: their own error is below sqrt(n) 2^-53 of the norm.
    own = 2 * max(tensor.numel(), 1) ** 0.5 * 2.0**-53
    bound = deviation(false_alarm) * (gamma + own) * size + FORMATS[formats()[tensor.dtype]].least_subnormal * ranks
    return ReduceCheck(abs(found - expected) <= bound, expected, found, bound, ranks)


def _shared_seed(tensor: Any, group: Any) -> int:
    """A secret that rank 0 of the group draws and all learn."""
    import secrets

    import torch
    import torch.distributed as dist

    seed = torch.tensor([secrets.randbits(62)], dtype=torch.int64, device=tensor.device)
    dist.broadcast(seed, src=dist.get_global_rank(group, 0) if group is not None else 0, group=group)
    return int(seed.item())


def _checksum(tensor: Any, seed: int) -> tuple[float, float]:
    """sum_j r_j x_j and ||x||, in fp64. Signs are drawn on the processor, so that all ranks draw the same."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    flat = tensor.detach().reshape(-1)
    total, squares = 0.0, 0.0
    for start in range(0, flat.numel(), CHUNK):
        part = flat[start : start + CHUNK].double()
        signs = torch.randint(0, 2, (part.numel(),), generator=generator, dtype=torch.int8).to(part.device)
        total += float((part * (2 * signs.double() - 1)).sum())
        squares += float(part.square().sum())
    return total, squares**0.5
