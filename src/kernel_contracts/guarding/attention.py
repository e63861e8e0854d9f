"""Fused attention, whose scores and weights nobody sees: every element within the hull of V, some rows exactly.

A row of the result is an average of the rows of V, so each of its elements lies between the least and the largest of
V's column, whatever the scores are. That is verified of every element. Of some rows, drawn at random for each call,
scores, weights and average are recomputed in float64. What is not verified: errors within the hull in other rows.

Bounds are worst cases. A score errs by gamma_{E+3} scale |q| |k| (Higham 2002, section 3.5). A weight exp(s - m) then
errs relatively by that, by the rounding of its exponent, and by the exponential once for itself and once for each
block of keys by which the running maximum moved; the sum of weights by their average and gamma_S. Narrow kernels
round weights to the format of V.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.formats import FORMATS
from kernel_contracts.guarding.arithmetic import formats
from kernel_contracts.guarding.kit import UNSEEN, Call, Kit, Unseen
from kernel_contracts.guarding.rows import Place, Row, RowsCheck, judged, redone

Array = NDArray[np.float64]

ROWS = 2
"""Rows recomputed for each call; of a gradient one for each result."""
VIOLATORS = 12
"""Rows outside the hull that a second look recomputes."""
EXP_ULP = 32.0
"""Largest error of an exponential in fp32: the fastest in use, PyTorch's exp_u20, is good to 20 ulp."""
BLOCK = 32
"""Keys or queries in a block of a fused kernel: none in use takes fewer."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """q (B, H, L, E), k and v (B, H or fewer, S, E), in their own formats."""

    q: Any
    k: Any
    v: Any
    causal: bool
    mask: Any
    scale: float

    @property
    def u(self) -> float:
        """Unit roundoff of the arithmetic between the products: fp32 for all but fp64."""
        return FORMATS["fp64" if self.format == "fp64" else "fp32"].u

    @property
    def format(self) -> str:
        return formats()[self.q.dtype]

    @property
    def cut(self) -> float:
        """Relative error of what is rounded to the format of V on the way; 0 for fp32 and fp64."""
        return 4 * FORMATS[self.format].u if self.format in ("fp16", "bf16") else 0.0

    def keys(self, b: int, h: int) -> tuple[Array, Array]:
        """The keys and values that a head of queries sees."""
        group = self.q.shape[1] // self.k.shape[1]
        return array(self.k[b, h // group]), array(self.v[b, h // group])

    def scores(self, b: int, h: int, rows: slice, columns: slice) -> tuple[Array, Array]:
        """Scores of some queries and keys, masked ones -inf, and how far honest ones may be from them."""
        q, k = array(self.q[b, h])[rows], self.keys(b, h)[0][columns]
        s = self.scale * (q @ k.T)
        n = (q.shape[-1] + 3) * self.u
        error = n / (1 - n) * abs(self.scale) * np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(k, axis=1)[None]
        if self.causal:
            i = np.arange(self.q.shape[2])[rows][:, None]
            s = np.where(np.arange(self.k.shape[2])[columns][None] > i, -np.inf, s)
        if self.mask is not None:
            whole = self.mask.expand(*self.q.shape[:3], self.k.shape[2])
            plus = array(whole[b, h, rows, columns])
            s = s + plus
            error = error + self.u * np.where(np.isfinite(plus), np.abs(plus), 0.0)
        return s, error + self.u * np.where(np.isfinite(s), np.abs(s), 0.0)


def array(x: Any) -> Array:
    """A tensor in float64."""
    found: Array = x.detach().double().cpu().numpy()
    return found


def given(args: Sequence[Any], kwargs: Mapping[str, Any], dropout: int, causal: int) -> Inputs | None:
    """The inputs of a call whose first tensors are q, k and v; None where dropout hides the weights."""

    def at(index: int, otherwise: Any) -> Any:
        return args[index] if index < len(args) else otherwise

    q, k, v = args[:3]
    if at(dropout, kwargs.get("dropout_p", 0.0)) or q.dim() != 4 or q.shape[1] % max(k.shape[1], 1):
        return None
    if any(x.dtype not in formats() or x.numel() == 0 for x in (q, k, v)):
        return None
    scale = kwargs.get("scale")
    scale = float(scale) if scale is not None else 1.0 / float(np.sqrt(q.shape[-1]))
    return Inputs(q, k, v, bool(at(causal, kwargs.get("is_causal", False))), kwargs.get("attn_mask"), scale)


@dataclass(slots=True)
class Attention:
    """out, lse = attention of the inputs."""

    inputs: Inputs
    out: Any
    lse: Any
    again: Any = None
    places: list[tuple[int, int, int]] = field(default_factory=list)
    """Rows to recompute: drawn at the first look."""
    operation: str = "attention"
    partial: bool = True

    @property
    def work(self) -> float:
        return float(sum(x.numel() for x in self.tensors))

    @property
    def flops(self) -> float:
        keys = self.inputs.k.shape[2]
        return float(2 * (self.inputs.q.numel() + self.out.numel()) * keys)

    @property
    def tensors(self) -> tuple[Any, ...]:
        return (self.inputs.q, self.inputs.k, self.inputs.v, self.out)

    @property
    def result(self) -> Any:
        return self.out

    def glance(self, kit: Kit, *, fresh: bool = False) -> tuple[Any, Any]:
        if not self.places:
            self.places = draw(kit, self.out, ROWS)
        rows = self._rows()
        loud = any(row.wrong.size for row in rows) or bool(self._outside().any())
        return kit.thin.flag(loud), [row.got for row in rows]

    def unchanged(self, kit: Kit, seen: Any) -> bool:
        return all(np.array_equal(x, row.got, equal_nan=True) for x, row in zip(seen, self._rows(), strict=True))

    def examine(self, kit: Kit, seed: int) -> RowsCheck:
        outside = np.argwhere(self._outside().any(-1).numpy())[:VIOLATORS]
        places = [(int(b), int(h), int(i)) for b, h, i in outside]
        self.places = list(dict.fromkeys([*self.places, *places]))
        return judged(self._rows())

    def repair(self, kit: Kit, seed: int, again: Callable[[], Any]) -> tuple[Place, ...]:
        return redone((self.out,), again, self._rows)

    def _outside(self) -> Any:
        """Which elements are outside the hull of V, or not finite."""
        v, out, x = self.inputs.v, self.out, self.inputs
        group = out.shape[1] // v.shape[1]
        least, most = v.amin(2, keepdim=True).double(), v.amax(2, keepdim=True).double()
        keys = v.shape[2]
        blocks = -(-keys // BLOCK) + 1
        share = (2 * keys + 2 * blocks + 8) * x.u + x.cut + 2 * FORMATS[x.format].u
        slack = least.abs().maximum(most.abs()) * share + FORMATS[x.format].least_normal
        if x.mask is not None:  # a row without keys is zero
            least, most = least.clamp_max(0.0), most.clamp_min(0.0)
        least, most = (y.to(out.dtype).repeat_interleave(group, 1) for y in (least - 2 * slack, most + 2 * slack))
        return ((out >= least) & (out <= most)).logical_not_()

    def _rows(self) -> list[Row]:
        found = [forward_row(self.inputs, place, self.out) for place in self.places]
        return [row for row in found if row is not None]


def draw(kit: Kit, out: Any, count: int) -> list[tuple[int, int, int]]:
    """Rows of a result (B, H, L, E), at random."""
    return [tuple(kit.thin.pick(n) for n in out.shape[:3]) for _ in range(count)]  # type: ignore[misc]


def forward_row(x: Inputs, place: tuple[int, int, int], out: Any) -> Row | None:
    """One row of the result; None where inputs are not finite or every key is masked."""
    b, h, i = place
    s, e_s = (y[0] for y in x.scores(b, h, slice(i, i + 1), slice(None)))
    v = x.keys(b, h)[1]
    if np.isnan(s).any() or np.isposinf(s).any() or not np.isfinite(s).any() or not np.isfinite(v).all():
        return None
    keys = s.size
    blocks = -(-keys // BLOCK) + 1
    t = s - s.max()
    p = np.exp(t)
    p /= p.sum()
    far = np.where(p > 0, -t, 0.0)
    relative = np.expm1(2 * e_s.max() + 2 * x.u * far + (blocks + 1) * (2 * EXP_ULP * x.u)) + x.cut
    relative = relative + float(p @ relative) + (2 * keys + blocks + 8) * x.u
    truth = p @ v
    tiny = keys * FORMATS["fp32" if x.format != "fp64" else "fp64"].least_normal * np.abs(v).max(initial=0.0)
    bound = (p * relative) @ np.abs(v) + 2 * FORMATS[x.format].u * np.abs(truth) + tiny
    bound = bound + FORMATS[x.format].least_normal
    return Row("attention ", (0, b, h, i), array(out[b, h, i]), truth, bound)


def understand(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Call | Unseen:
    """The attention that PyTorch's fused kernel for processors computed."""
    inputs = given(args, kwargs, 3, 4)
    return UNSEEN if inputs is None else Attention(inputs, out[0], out[1])
