"""Products of matrices: the first look at A (B r) - C r, and the second by `check_product`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel_contracts.guarding.arithmetic import Declared, formats
from kernel_contracts.guarding.kit import Kit
from kernel_contracts.guarding.spread import MEANS, Spread, spread
from kernel_contracts.guarding.weights import Kept
from kernel_contracts.numerics.freivalds.product import check_product
from kernel_contracts.numerics.freivalds.repair import repair
from kernel_contracts.numerics.freivalds.verdict import ProductCheck


@dataclass(frozen=True, slots=True)
class Product:
    """c = alpha a b + beta addend."""

    operation: str
    a: Any
    b: Any
    c: Any
    alpha: float = 1.0
    beta: float = 0.0
    addend: Any = None
    partial: bool = False

    @property
    def work(self) -> float:
        """Elements to read."""
        return float(self.a.numel() + self.b.numel() + self.c.numel())

    @property
    def flops(self) -> float:
        return float(2 * self.c.numel() * self.a.shape[-1])

    @property
    def result(self) -> Any:
        return self.c

    @property
    def tensors(self) -> tuple[Any, ...]:
        """Operands first, the result last."""
        return (self.a, self.b, *(() if self.addend is None else (self.addend,)), self.c)

    def glance(self, kit: Kit, *, fresh: bool = False) -> tuple[Any, tuple[Any, ...]]:
        """Whether a residual passes its limit, and the thin products that say whether operands are still the same.

        `fresh` leaves aside what is kept of a weight, and takes norms and means of everything.
        """
        thin, (a, b, c) = kit.thin, self._wide(kit)
        k, n = b.shape[-2], b.shape[-1]
        site = (self.operation, a.shape, b.shape)
        part = not fresh and site not in kit.uneven
        slanted = not part or site in kit.slanted
        key, kept = kit.weights.find(self.b)
        if kept is None or fresh or (slanted and kept.mean is None):
            r = thin.secret(n, formats()[b.dtype] == "fp64")
            image = thin.times(b, r)
            kept = Kept(r, image, thin.total(b, image, part) * (1.0 / k), thin.means(b) if slanted else None)
            if key is not None:
                kit.weights.keep(key, self.b, kept)
        image_of_a, found = thin.times(a, kept.image), thin.times(c, kept.secret)
        z, residual = thin.exact(image_of_a), thin.exact(found)
        s = self._spread(kit, c.numel() // n, k, n)
        squares = z * z
        if self.alpha != 1.0:
            z = self.alpha * z
        added: Any = s.constant
        if self.addend is not None:
            plus, square = self._added(thin, kept.secret, c)
            z = z + plus
            added = s.added * square + added

        def suspicious(part: bool) -> Any:
            q = thin.squares(a, part) * kept.square
            base = MEANS * q if kept.mean is None else MEANS * q + thin.slant(a, part) * kept.mean
            limit = thin.at_least(squares - 4 * base, 0.0)
            limit *= s.norms
            limit += s.squares * q + s.norms * base + added
            return thin.beyond(z - residual, limit)

        flag = suspicious(part)
        if fresh and flag is False:  # a first look did not do: from now on with means, or with all norms as well
            (kit.uneven if suspicious(True) else kit.slanted).add(site)
        return flag, (kept.secret, kept.image, image_of_a, found)

    def _wide(self, kit: Kit) -> tuple[Any, Any, Any]:
        """Operands and result in the working precision: fp64 if any of them is."""
        found = tuple(kit.thin.wide(x) for x in (self.a, self.b, self.c))
        a, b, c = found if len({x.dtype for x in found}) == 1 else (x.double() for x in found)
        return a, b, c

    def _spread(self, kit: Kit, rows: int, k: int, n: int) -> Spread:
        declared = kit.declared(self)
        a, b, c = (formats()[x.dtype] for x in (self.a, self.b, self.c))
        double = "fp64" in (a, b, c)
        return spread(
            rows, k, n, self.alpha, self.addend is not None, declared.accumulator or ("fp64" if double else "fp32"), c,
            declared.operands, "fp64" if double else "fp32", kit.false_alarm,
        )  # fmt: skip

    def _added(self, thin: Any, secret: Any, c: Any) -> tuple[Any, Any]:
        """beta addend r, and the squared norms of the rows of beta addend."""
        value = thin.wide(self.addend)
        value = value if value.dtype == c.dtype else value.to(c.dtype)
        if value.dim() == 1 and value.shape[0] == c.shape[-1]:
            return self.beta * thin.dot(value, secret), self.beta**2 * thin.dot(value, value)
        while value.dim() < c.dim():
            value = value.unsqueeze(0)
        if value.shape[-1] != c.shape[-1]:
            value = value.expand(*value.shape[:-1], c.shape[-1])
        return self.beta * thin.times(value, secret), self.beta**2 * thin.squares(value)

    def unchanged(self, kit: Kit, seen: tuple[Any, ...]) -> bool:
        """Whether operands and result give the same thin products as when the first look was taken, to the bit."""
        secret, image, z, found = seen
        thin, (a, b, c) = kit.thin, self._wide(kit)
        pairs = ((thin.times(b, secret), image), (thin.times(a, image), z), (thin.times(c, secret), found))
        return all(bool(thin.same(x, y)) for x, y in pairs)

    def examine(self, kit: Kit, seed: int) -> ProductCheck:
        """The second look."""
        return check_product(self.a, self.b, self.c, **self._how(kit, seed))

    def repair(self, kit: Kit, seed: int, again: Callable[[], Any]) -> tuple[tuple[int, ...], ...]:
        """Rows redone in place; none where doing the product again does not help."""
        done = repair(self.a, self.b, self.c, again, **self._how(kit, seed))
        if not done.ok:
            return ()
        self.c.copy_(done.value)
        return done.rows

    def _how(self, kit: Kit, seed: int) -> dict[str, Any]:
        declared: Declared = kit.declared(self)
        return {
            "alpha": self.alpha, "beta": self.beta, "addend": self.addend, "false_alarm": kit.false_alarm, "seed": seed,
            "accumulate": declared.accumulator, "operands": declared.operands, "vectors": 2,
        }  # fmt: skip


def understand(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Product | None:
    """The product that mm, addmm, bmm or baddbmm computed; None where there is nothing to verify."""
    if name in ("mm", "bmm"):
        call = Product(name, args[0], args[1], out)
    else:
        beta, alpha = float(kwargs.get("beta", 1)), float(kwargs.get("alpha", 1))
        call = Product(name, args[1], args[2], out, alpha, beta if beta else 0.0, args[0] if beta else None)
    return call if _real(call) else None


def summed(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Product | None:
    """The sum of a matrix over its rows, as of the gradient of a bias: a row of ones times the matrix."""
    x, dims = args[0], list(args[1] or ()) if len(args) > 1 else []
    if x.dim() != 2 or [d % 2 for d in dims] != [0] or x.dtype != out.dtype:
        return None
    call = Product(name, x.new_ones((1, x.shape[0])), x, out.reshape(1, -1))
    return call if _real(call) else None


def _real(call: Product) -> bool:
    """Whether there are elements, and of formats that are verified: no integers, nothing complex."""
    if call.c.numel() == 0 or call.a.shape[-1] == 0:
        return False
    return all(x.dtype in formats() for x in (call.a, call.b, call.c))
