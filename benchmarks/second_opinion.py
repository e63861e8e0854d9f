"""Every wrong value that a run accuses a kernel of, worked out once more apart from all that measured it.

    python benchmarks/second_opinion.py RUN... [--out FILE]

Takes the witness of each violation in run directories of `kc run` (of a cell in several, that of the last) and computes
the element that is said to be wrong from the definition of its operation, written here a second time, in 400 bits
(mpmath) on the inputs of the witness. The accusation stands where what came back is farther from that than the
tolerance, or is another number where only one rounds right, and where the value the oracle gave is within a hundredth
of the tolerance of it (and half a last place of a float64). Beside it: the platforms of the same run that conform under
the same contract and dtype, and so on the same inputs. Exit status 1 where an accusation does not stand.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results" / "second_opinion.json"
NEAR = 0.01
"""How far the oracle may be from the second computation, as a share of the tolerance."""

NO_NUMBERS = ("subnormals_mixed", "payload_changed")
"""Signatures of answers that are right one by one and not together, or equal as numbers and not as bits."""

Array = Any
mpmath.mp.prec = 400


def exact(values: Any) -> Array:
    """Numbers of a witness as they are, each a float64."""
    flat = [mpmath.mpf(v) for v in np.asarray(values, dtype=object).ravel()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(np.shape(values))


def each(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    return np.frompyfunc(function, 1, 1)


EXP, LOG, ERF, SQRT, TANH = (each(f) for f in (mpmath.exp, mpmath.log, mpmath.erf, mpmath.sqrt, mpmath.tanh))
ZERO = mpmath.mpf(0)


def gelu(x: Array) -> Array:
    return x * (1 + ERF(x / mpmath.sqrt(2))) / 2


def gelu_tanh(x: Array) -> Array:
    return x / 2 * (1 + TANH(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


def gelu_slope(x: Array) -> Array:
    return (1 + ERF(x / mpmath.sqrt(2))) / 2 + x * EXP(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


def mean(x: Array, axis: int = -1) -> Array:
    return x.sum(axis=axis, keepdims=True) / x.shape[axis]


def variance(x: Array) -> Array:
    return mean((x - mean(x)) ** 2)


def softmax(x: Array) -> Array:
    e = EXP(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x: Array) -> Array:
    d = x - x.max(axis=-1, keepdims=True)
    return d - LOG(EXP(d).sum(axis=-1, keepdims=True))


def product(a: Array, b: Array) -> Array:
    """The last two axes, batches before them."""
    return (a[..., :, :, None] * b[..., None, :, :]).sum(axis=-2) + ZERO


def turned(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def probabilities(q: Array, k: Array, causal: bool) -> Array:
    s = product(q, turned(k)) / mpmath.sqrt(q.shape[-1])
    if causal:
        rows, columns = np.indices(s.shape[-2:])
        s = np.where(columns <= rows, s, mpmath.mpf("-inf"))
    return softmax(s)


def spacing(value: Any, fmt: str) -> Any:
    """Between the numbers of a format around a value."""
    precision, least = {"fp64": (53, -1022), "fp32": (24, -126), "fp16": (11, -14), "bf16": (8, -126)}[fmt]
    exponent = least if value == 0 else max(int(mpmath.floor(mpmath.log(abs(value), 2))), least)
    return mpmath.mpf(2) ** (exponent - precision + 1)


def nearest(value: Any, fmt: str) -> Any:
    """The number of a format that is nearest, ties to even."""
    if not mpmath.isfinite(value):
        return value
    unit = spacing(value, fmt)
    return mpmath.nint(value / unit) * unit


def largest(row: Array, sign: int = 1) -> Any:
    """NaN where there is one."""
    return next((x for x in row if mpmath.isnan(x)), sign * max(sign * x for x in row))


def first_largest(row: Array) -> int:
    """The place of the first NaN, else of the first largest number."""
    top = largest(row)
    return next(k for k, x in enumerate(row) if (mpmath.isnan(x) if mpmath.isnan(top) else x == top))


class Call:
    """The inputs of one witness, its parameters, and the element that is asked for."""

    def __init__(self, witness: Mapping[str, Any]) -> None:
        self.arrays = {name: decoded(value) for name, value in witness["inputs"].items()}
        self.scalars: Mapping[str, Any] = witness["case"]["scalars"]
        self.fmt: str = witness["case"]["dtypes"]["P"]
        self.output: str = witness["seen"]["output"]
        self.at: tuple[int, ...] = tuple(witness["seen"]["index"])

    def __getitem__(self, name: str) -> Array:
        """A whole input."""
        return exact(self.arrays[name])

    def one(self, name: str = "x") -> Any:
        """An input's element at the same place."""
        return mpmath.mpf(self.arrays[name][self.at])

    def row(self, name: str = "x") -> Array:
        """The last axis of an input, at the element's place on the axes before."""
        return exact(self.arrays[name][self.at[: self.arrays[name].ndim - 1]])


def decoded(value: Mapping[str, Any]) -> Array:
    """An input as float64 or integers, from its bytes."""
    names = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
    dtype = ml_dtypes.bfloat16 if value["format"] == "bf16" else names.get(value["format"], value["format"])
    flat = np.frombuffer(base64.b64decode(value["bytes"]), dtype=dtype)
    return flat.reshape(value["shape"]).astype(np.float64 if value["format"] in names else np.int64)


def normalized(x: Array, eps: float) -> Array:
    return (x - mean(x)) / SQRT(variance(x) + mpmath.mpf(eps))


def layernorm_backward(c: Call) -> Any:
    eps = c.scalars["eps"]
    if c.output == "dbeta":
        return c["g"][:, c.at[0]].sum() + ZERO
    if c.output == "dgamma":
        return (c["g"] * normalized(c["x"], eps))[:, c.at[0]].sum() + ZERO
    x, h = c.row(), c.row("g") * c["gamma"]
    n = normalized(x, eps)
    slopes = (h - mean(h) - n * mean(h * n)) / SQRT(variance(x) + mpmath.mpf(eps))
    return slopes[c.at[-1]]


def attention(c: Call) -> Any:
    b, h, row, column = c.at
    q, k, v = (exact(c.arrays[n][b, h]) for n in "QKV")
    return (probabilities(q, k, c.scalars.get("causal", False))[row] * v[:, column]).sum()


def attention_backward(c: Call) -> Any:
    b, h, row, column = c.at
    q, k, v, g = (exact(c.arrays[n][b, h]) for n in "QKVG")
    p = probabilities(q, k, c.scalars.get("causal", False))
    z = p * (product(g, turned(v)) - (g * product(p, v)).sum(axis=-1, keepdims=True)) / mpmath.sqrt(q.shape[-1])
    left, right = {"dQ": (z, k), "dK": (turned(z), q), "dV": (turned(p), g)}[c.output]
    return (left[row] * right[:, column]).sum() + ZERO


def cross_entropy(c: Call) -> Any:
    rows = log_softmax(c["x"])
    return -sum(row[int(t)] for row, t in zip(rows, c.arrays["target"], strict=True)) / len(rows)


def max_pool_backward(c: Call) -> Any:
    window, stride = c.scalars["window"], c.scalars["stride"]
    x, g = c.row(), exact(c.arrays["g"][c.at[0]])
    hit = [j for j in range(len(g)) if j * stride + first_largest(x[j * stride : j * stride + window]) == c.at[1]]
    return sum((g[j] for j in hit), ZERO)


def max_pool(c: Call) -> Any:
    start = c.at[1] * c.scalars["stride"]
    return largest(c.row()[start : start + c.scalars["window"]])


def rmsnorm(c: Call) -> Any:
    x = c.row()
    return (x / SQRT(mean(x * x) + mpmath.mpf(c.scalars["eps"])) * c["weight"])[c.at[-1]]


def scatter(c: Call) -> Any:
    """The last update of a place stays."""
    hits = np.flatnonzero(c.arrays["index"] == c.at[0])
    return mpmath.mpf(c.arrays["updates"][hits[-1], c.at[1]]) if hits.size else c.one("base")


def element(function: Callable[[Any], Any]) -> Callable[[Call], Any]:
    """Of an operation on each element alone."""
    return lambda c: function(c.one())


DEFINITIONS: Mapping[str, Callable[[Call], Any]] = {
    "all_reduce_max": lambda c: largest(exact(c.arrays["x"][(slice(None), *c.at[1:])])),
    "argmax": lambda c: mpmath.mpf(first_largest(c.row())),
    "attention": attention,
    "attention_backward": attention_backward,
    "cross_entropy": cross_entropy,
    "cumsum": lambda c: c.row()[: c.at[-1] + 1].sum() + ZERO,
    "erf": element(ERF),
    "exp": element(EXP),
    "gelu": element(gelu),
    "gelu_backward": lambda c: c.one("g") * gelu_slope(c.one()),
    "gelu_tanh": element(gelu_tanh),
    "layernorm": lambda c: (normalized(c.row(), c.scalars["eps"]) * c["gamma"] + c["beta"])[c.at[-1]],
    "layernorm_backward": layernorm_backward,
    "log_softmax": lambda c: log_softmax(c.row())[c.at[-1]],
    "max": lambda c: largest(c.row()),
    "max_pool": max_pool,
    "max_pool_backward": max_pool_backward,
    "mean": lambda c: mean(c.row())[0],
    "min": lambda c: largest(c.row(), -1),
    "mul_chain": lambda c: nearest(c.one() * 1000, c.fmt) * mpmath.mpf("0.75"),
    "multiply_add": lambda c: nearest(c.one("a") * c.one("b"), c.fmt) + c.one("c"),
    "norm": lambda c: mpmath.sqrt((c.row() ** 2).sum()),
    "relu": lambda c: largest([c.one(), ZERO]),
    "rmsnorm": rmsnorm,
    "scale": lambda c: c.one() * mpmath.mpf(c.scalars["s"]),
    "scatter": scatter,
    "scatter_add": lambda c: (
        c.one("base") + exact(c.arrays["updates"][c.arrays["index"] == c.at[0], c.at[1]]).sum()
    ),
    "silu": element(lambda x: x / (1 + EXP(-x))),
    "softmax": lambda c: softmax(c.row())[c.at[-1]],
    "sqrt": element(SQRT),
    "sum": lambda c: c.row().sum() + ZERO,
    "variance": lambda c: variance(c.row())[0],
}  # fmt: skip


def judged(witness: Mapping[str, Any], operation: str) -> dict[str, Any]:
    """What the definition says of the element, and whether the accusation stands."""
    seen, call = witness["seen"], Call(witness)
    due = DEFINITIONS[operation](call)
    got, oracle = mpmath.mpf(seen["got"]), mpmath.mpf(seen["oracle"])
    if seen["tolerance"] == 0:
        due = due if operation == "argmax" else nearest(due, call.fmt)
        near = bool(oracle == due) or bool(mpmath.isnan(oracle) and mpmath.isnan(due))
        right = bool(got == due) or bool(mpmath.isnan(got) and mpmath.isnan(due))
        return {"due": float(due), "off": None, "oracle_off": None, "stands": near and not right}
    tolerance = mpmath.mpf(seen["tolerance"])
    off, apart = (abs(x - due) / tolerance for x in (got, oracle))
    near = abs(oracle - due) <= NEAR * tolerance + spacing(due, "fp64") / 2
    one = 2 * tolerance <= spacing(due, call.fmt) and got != nearest(due, call.fmt)  # a tie to the wrong side, say
    stands = bool(near) and bool(mpmath.isnan(off) or off > 1 or one)
    return {"due": float(due), "off": float(off), "oracle_off": float(apart), "stands": stands}


def opinions(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """A row for each violation of some runs."""
    places = {p.relative_to(run / "cells"): run for run in runs for p in (run / "cells").rglob("*.json")}
    cells = {p: json.loads((run / "cells" / p).read_text("utf-8")) for p, run in places.items()}
    rows = []
    for path, cell in sorted(cells.items()):
        result = cell["result"]
        if result["verdict"] != "violates":
            continue
        conform = [
            other["platform"] for q, other in cells.items()
            if q.parts[1:] == path.parts[1:] and other["result"]["verdict"] == "conforms"
        ]  # fmt: skip
        row = {"platform": cell["platform"], "contract": result["contract"], "class": result["class"],
               "dtypes": path.stem, "signature": result["signature"], "conform": sorted(conform)}  # fmt: skip
        witness = json.loads((places[path] / "witness" / path).read_text("utf-8"))
        seen = witness["seen"]
        if "index" not in seen or result["class"] == "C-EXC-02" or result["signature"] in NO_NUMBERS:
            rows.append(row | {"what": "no value", "stands": None})
        elif result["operation"] not in DEFINITIONS:
            rows.append(row | {"what": f"no definition of {result['operation']} here", "stands": None})
        else:
            element = {k: seen[k] for k in ("output", "index", "got", "oracle", "tolerance")}
            rows.append(row | {"what": "value", **element, **judged(witness, result["operation"])})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = opinions(given.run)
    lines = ",\n".join(json.dumps(row) for row in rows)
    given.out.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    table = Table("platform", "contract", "dtypes", "signature", "got", "due", "error / tolerance", "conform", "stands")
    for r in (r for r in rows if r["what"] == "value"):
        off = "" if r["off"] is None else f"{r['off']:.3g}"
        table.add_row(r["platform"], r["contract"], r["dtypes"], r["signature"], f"{r['got']:.6g}", f"{r['due']:.6g}",
                      off, str(len(r["conform"])), {True: "yes", False: "NO"}[r["stands"]])  # fmt: skip
    console = Console(width=170)
    console.print(table)
    counts = Counter(r["what"] if r["stands"] is None else "stands" if r["stands"] else "DOES NOT STAND" for r in rows)
    console.print(f"{len(rows)} violations: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    if counts["DOES NOT STAND"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
