"""One trained model on several stacks: how far its outputs agree, and which layers and contracts answer for the rest.

python studies/minilm/study.py [-o PAGE]
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import model as source  # noqa: E402
from common import Record, main, table  # noqa: E402

from kernel_contracts.conformance.attribution import attribute  # noqa: E402
from kernel_contracts.conformance.model_moves import MOVES  # noqa: E402
from kernel_contracts.conformance.model_playing import Player  # noqa: E402
from kernel_contracts.conformance.onnx_import.importing import import_onnx  # noqa: E402
from kernel_contracts.conformance.platforms import platforms  # noqa: E402

STACKS = ("numpy", "torch", "onnxruntime", "jax@x64", "mlx")
"""The first gives the activations that every step of the others is judged on."""
PLANTED = f"planted={FOLDER / 'kernels.py'}"
OUTPUT = "embedding"


def measure() -> Record:
    where = source.folder()
    given = source.tokens(where)
    module = source.encoder(where)
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "model.onnx"
        source.exported(module, given, path)
        found = import_onnx(path, given)
        references = source.whole(module, given, path)
        nodes = _nodes(path)
    usable = [p for p in platforms(STACKS, ()) if not p.missing]
    (planted,) = platforms((), (PLANTED,))
    with contextlib.ExitStack() as open_:
        first, *others = (open_.enter_context(Player(p, 120.0)) for p in usable)
        ends = {p.platform.name: p.play(found)[OUTPUT] for p in (first, *others)}
        pairs = [attribute(found, first, other).as_json() for other in others]
        fast = open_.enter_context(Player(planted, 120.0))
        wrong = {"end": fast.play(found)[OUTPUT], "pair": attribute(found, first, fast).as_json()}
    base = ends[first.platform.name]
    return {
        "sentences": list(source.SENTENCES),
        "tokens": [int(n) for n in given["mask"].sum(1)],
        "ids": given["ids"].tolist(),
        "nodes": nodes,
        "operations": _counted(s.operation for s in found.steps if s.operation not in MOVES),
        "weights": sum(a.size for a in found.arrays.values() if a.dtype.kind == "f"),
        "first": first.platform.name,
        "similar": (base @ base.T).round(3).tolist(),
        "whole": {n: _apart(base, y) for n, y in references.items()},
        "ends": {n: {m: _apart(y, z) for m, z in ends.items()} for n, y in ends.items()},
        "pairs": pairs,
        "planted": {"end": _apart(base, wrong["end"]), "pair": wrong["pair"]},
    }


def _nodes(path: Path) -> dict[str, int]:
    import onnx

    return _counted(n.op_type for n in onnx.load(path).graph.node)


def _counted(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items(), key=lambda f: (-f[1], f[0])))


def _apart(x: Any, y: Any) -> Record:
    """The largest difference, elements that differ, and how far the least cosine of a row is from one."""
    a, b = (np.asarray(z, np.float64) for z in (x, y))
    cosines = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    return {
        "largest": float(np.abs(a - b).max()),
        "differing": int(np.count_nonzero(x != y)),
        "elements": int(a.size),
        "cosine": float(1 - cosines.min()),
        "same order": bool((_order(a) == _order(b)).all()),
    }


def _order(x: Any) -> Any:
    """The sentences from the most to the least alike, for each."""
    return np.argsort(-(x @ x.T), axis=1)


# ---------------------------------------------------------------------------------------------------------- the page


def layer(step: Record) -> str:
    """Where in the model a step stands, from the name of its node."""
    found = re.search(r"layer\.(\d+)", step["name"])
    if found:
        return f"layer {found[1]}"
    return "embeddings" if "embeddings" in step["name"] else "mean and length"


def grouped(steps: Sequence[Record], key: Any) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for step in steps:
        found.setdefault(key(step), []).append(step)
    return found


def _group_cells(steps: Sequence[Record]) -> list[str]:
    apart = [s for s in steps if s["ruling"] != "identical bits"]
    if not apart:
        return ["0", "", ""]
    worst = max(float(s["ratio"]) for s in apart)
    return [str(len(apart)), f"{worst:.3f}", f"{sum(s['share'] for s in apart):.1%}"]


def _by(record: Record, key: Any, names: str) -> list[str]:
    """A table with a row for each group, and for each pair: steps that differ, of the permitted, share of the end."""
    heads = [names, "steps"]
    for pair in record["pairs"]:
        heads += [f"{pair['b']}: differ", "of the permitted", "share"]
    groups = [grouped(p["steps"], key) for p in record["pairs"]]
    rows = (
        [name, str(len(groups[0][name])), *(c for g in groups for c in _group_cells(g[name]))] for name in groups[0]
    )
    return table(heads, rows)


def _whole(record: Record) -> list[str]:
    first = record["first"]
    rows = [
        *([f"{first}, steps", f"{n}, the whole {'module' if n == 'torch' else 'file'}", w]
          for n, w in record["whole"].items()),
        *([f"{a}, steps", f"{b}, steps", w] for k, (a, row) in enumerate(record["ends"].items())
          for b, w in list(row.items())[k + 1 :]),
    ]  # fmt: skip
    return table(
        ["A", "B", "elements that differ", "by at most", "1 - cosine, at most", "order of likeness"],
        (
            [a, b, f"{w['differing']} of {w['elements']}", f"{w['largest']:.2g}", f"{w['cosine']:.1g}",
             "the same" if w["same order"] else "**another**"]
            for a, b, w in rows
        ),
    )  # fmt: skip


def _largest(pair: Record) -> list[str]:
    top = sorted(pair["steps"], key=lambda s: -s["share"])[:6]
    return table(
        [f"{pair['b']}: step", "operation", "contract", "of the permitted", "share of the end"],
        (
            [f"`{s['name']}`", s["operation"], f"`{s['contract']}`", f"{float(s['ratio']):.3f}", f"{s['share']:.1%}"]
            for s in top
        ),
    )


def _answers(record: Record) -> list[str]:
    rulings = sorted({s["ruling"] for p in record["pairs"] for s in p["steps"]})
    rows = ([p["b"], *(str(sum(s["ruling"] == r for s in p["steps"])) for r in rulings)] for p in record["pairs"])
    lines = table(["B", *rulings], rows)
    broken = [(p, s) for p in record["pairs"] for s in p["steps"] if s["ruling"] not in SETTLED]
    for p, s in broken:
        lines += ["", f"`{s['name']}` ({s['operation']}) on {p['b']}: **{s['ruling']}**: {s['reason']}"]
    return lines


def _conclusion(record: Record) -> list[str]:
    steps = [s for p in record["pairs"] for s in p["steps"]]
    apart = [s for s in steps if s["ruling"] != "identical bits"]
    broken = sum(s["ruling"] not in SETTLED for s in apart)
    verdict = "none is more than its contract permits" if not broken else f"{broken} of them are more than permitted"
    text = (
        f"Of {len(steps)} pairs of answers {len(apart)} differ, and {verdict}; the largest is "
        f"{max(float(s['ratio']) for s in apart):.2f} of it. What the stacks make different is the order of "
        "their sums, and how they work out exp and erf."
    )
    return textwrap.wrap(text if not broken else text.partition(" What")[0], 116)


def _planted(found: Record) -> list[str]:
    """The end, which an ordinary look finds in order, and the steps by operation."""
    end, steps = found["end"], found["pair"]["steps"]
    text = (
        f"The end moves by {end['largest']:.1g} at most, 1 - cosine is {end['cosine']:.0e}, and the order of likeness "
        f"is {'the same' if end['same order'] else 'another'}: a look at the result finds "
        f"{'nothing wrong' if end['same order'] else 'that'}. Step by step:"
    )
    rows = []
    for operation, group in grouped(steps, lambda s: s["operation"]).items():
        wrong = [s for s in group if s["ruling"] not in SETTLED]
        if wrong:
            worst = max(wrong, key=lambda s: float(s["ratio"]))
            rows.append(
                [operation, f"{len(wrong)} of {len(group)}", f"`{worst['contract']}`", f"{float(worst['ratio']):.3g}",
                 f"{sum(s['share'] for s in group):.1%}", worst["reason"]]
            )  # fmt: skip
    quiet = sum(s["ruling"] == "identical bits" for s in steps)
    heads = ["operation", "steps that violate", "contract", "of the permitted", "share", "the worst"]
    return [*textwrap.wrap(text, 116), "", *table(heads, rows), "", f"The other {quiet} steps have identical bits."]


SETTLED = ("identical bits", "legitimate divergence")


def page(record: Record) -> str:
    steps = record["pairs"][0]["steps"]
    words = textwrap.wrap(", ".join(f"{n} {o}" for o, n in record["operations"].items()) + ".", 116)
    alike = record["similar"][0]
    lines = [
        "# One trained model, several stacks",
        "",
        "**The question.** The same weights and the same words give other numbers on every stack. How far apart is the",
        "result, which layers make the difference, and is any of it more than the contracts of the kernels permit?",
        "",
        "**The model.** all-MiniLM-L6-v2, a sentence encoder of six layers, with the weights that the package",
        f"`{source.PACKAGE.replace('_', '-')}` ships, {record['weights'] / 1e6:.1f} million numbers.",
        "PyTorch's exporter writes it as an ONNX file in fp32; `kc model` reads that file as steps, each an operation",
        "of the standard library that a stack runs with its own kernel:",
        *words,
        "",
        "The four sentences, as tokens filled up to one length:",
        "",
        *table(
            ["sentence", "tokens", "likeness to the first"],
            ([s, str(n), f"{c:.3f}"] for s, n, c in zip(record["sentences"], record["tokens"], alike, strict=True)),
        ),
        "",
        "**The import is right, and the stacks agree.** `steps` is the model as read, each step by the kernel of that",
        "stack in a process of its own. The whole file by ONNX Runtime, with the fusions of that library, and the",
        "module that was exported know nothing of the steps.",
        "",
        *_whole(record),
        "",
        f"**Every step on the activations that came.** Both kernels get the inputs of {record['first']}; their answers",
        f"go to the arbiter. Of {len(steps)} steps:",
        "",
        *_answers(record),
        "",
        *_conclusion(record),
        "",
        "**By layer.** *Differ*: steps whose answers are not the same bits. *Of the permitted*: the largest difference",
        "over what the contract permits between two answers there. *Share*: the model run again with this step alone",
        "taken from the other stack changes the end by so much, as a share of the sum over all steps.",
        "",
        *_by(record, layer, "layer"),
        "",
        "**By contract.**",
        "",
        *_by(record, lambda s: f"{s['operation']}, `{s['contract']}`", "operation"),
        "",
        "**The steps that answer for most.**",
        *(line for p in record["pairs"] for line in ("", *_largest(p))),
        "",
        "**That it can fail.** The same model on NumPy with two quiet substitutions, in `studies/minilm/kernels.py`:",
        "GELU by its tanh form, and linear layers whose operands have the eleven bits of TF32.",
        "",
        *_planted(record["planted"]),
        "",
        "**Do it again.** `pip install 'kernel-contracts[model,torch,onnxruntime,jax,mlx]'`, then",
        "`python studies/minilm/study.py` measures all of this and writes this page; a stack that is not installed",
        "costs its own columns only. Shares are those of one machine: other processors round other sums.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main("minilm", measure, page))
