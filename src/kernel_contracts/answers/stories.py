"""Why given outputs do not conform, in words that the author of a kernel understands, with a witness to replay.

Requirement: costs nothing until something failed; a large case is cut down to the part around its worst element
before faults are tried as explanations and before it is written to a file.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from kernel_contracts.answers.admission import HANDED_IN, Ruling
from kernel_contracts.answers.arguments import Call, whole_numbers
from kernel_contracts.answers.arrays import Origin
from kernel_contracts.answers.formulas import terms, words
from kernel_contracts.contracts.evidence import Element, Observation, OutputReading, Signature
from kernel_contracts.contracts.model import Contract
from kernel_contracts.formats import FORMATS
from kernel_contracts.measurement.fingerprint import platform_fingerprint
from kernel_contracts.measurement.hypotheses import EMULATE_LIMIT
from kernel_contracts.measurement.oracle import work
from kernel_contracts.measurement.witness import Witness
from kernel_contracts.numerics.bounded import Array
from kernel_contracts.numerics.rounding import round_to
from kernel_contracts.report.terminal import ratio_text
from kernel_contracts.signatures import Evidence, recognize, signatures

#: Rows or columns that are kept around the worst element; starts are multiples of it, so that tiles stay visible.
_WINDOW = 16
#: Inputs up to this many numbers are written whole.
_WHOLE = 1 << 16
#: A witness that cannot be cut down is written up to this many numbers.
_LARGEST = 1 << 23
#: So many values do not fall on a coarser grid by chance.
_TELLING = 8
WITNESS_DIR = "KC_WITNESS_DIR"


@dataclass(frozen=True, slots=True)
class Story:
    """A failure, told."""

    contract: Contract
    observation: Observation
    signature: Signature
    witness: str
    """Path of the witness file; empty where none was written."""
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A call cut down to the surroundings of one element, with the outputs cut the same way."""

    ruling: Ruling
    outputs: Mapping[str, Array]


def tell(ruling: Ruling, outputs: Mapping[str, Array], origin: Origin, *, save: bool) -> Story:
    """The story of outputs that failed `ruling`."""
    observation = ruling.observe(outputs)
    reading = max(observation.outputs, key=lambda r: r.ratio)
    whole = Part(ruling, outputs)
    large = work(ruling.call.instance) > EMULATE_LIMIT or _numbers(ruling.call) > _WHOLE
    part = (_cut(whole, reading.worst) if large and reading.worst is not None else None) or whole
    observation = replace(observation, hypotheses=part.ruling.diagnosed(part.outputs))
    bound = ruling.call.bound
    output = next(iter(bound.outputs.values())).name
    evidence = Evidence((observation,), observation, bound.accumulator.precision, output)
    signature = recognize(evidence)
    contract = next((c for c in ruling.call.contracts if signature.name in c.violation), ruling.call.contract)
    path, replay = _witness(part, contract, signature, origin) if save else ("", "")
    text = _text(ruling.call, contract, reading, signature, replay, _narrower(ruling.call, outputs))
    return Story(contract, observation, signature, path, text)


def _numbers(call: Call) -> int:
    return sum(x.size for x in call.inputs.values())


# --------------------------------------------------------------------------------------------------------- the text


def _text(call: Call, contract: Contract, reading: OutputReading, signature: Signature, replay: str, note: str) -> str:
    rule = signatures().get(signature.name)
    others = [c.name for c in call.contracts if c is not contract]
    sizes = ", ".join(f"{k} = {v}" for k, v in {**call.dims, **call.scalars}.items())
    rows = [
        ("worst", _worst(reading.worst)),
        ("extent", f"{reading.exceeding} of {reading.size} elements outside the bound{_where(call, reading)}"),
        ("defect", str(signature)),
        ("meaning", rule.doc if rule and rule.name != "wrong_value" else ""),
        ("note", note),
        ("claim", " ".join(contract.doc.split())),
        ("bound", words(terms(call.bound.program, call.bound.context, {**call.dims, **whole_numbers(call.scalars)}))),
        ("sizes", sizes),
        ("also in", ", ".join(others)),
        ("again", replay),
    ]
    return f"{headline(call, contract)}\n" + "\n".join(f"  {label:<8} {text}" for label, text in rows if text)


def headline(call: Call, contract: Contract | None = None) -> str:
    """The first line of every failure."""
    contract = contract or call.contract
    label = f", {call.bound.label}" if call.bound.label else ""
    return f"{contract.operation}: not what {contract.key} ({contract.class_id}{label}) admits"


def _worst(e: Element | None) -> str:
    if e is None:
        return ""
    place = f"[{', '.join(str(i) for i in e.index)}]" if e.index else ""
    found = f"{e.output}{place} = {e.got:.9g}, oracle {e.oracle:.9g}"
    if e.tolerance == 0:
        return f"{found}, tolerance 0: every step is exact, no other answer is right"
    if math.isinf(e.ratio):
        return f"{found}, tolerance {e.tolerance:.3g}: a finite number is due"
    return f"{found}, tolerance {e.tolerance:.3g}: off by {ratio_text(e.ratio)} times the tolerance"


def _narrower(call: Call, outputs: Mapping[str, Array]) -> str:
    """Whether an output holds values of a narrower format only, as after a detour through it."""
    for name, y in outputs.items():
        fmt = call.bound.outputs[name]
        if not fmt.is_real or y.size < _TELLING or not np.isfinite(y).all() or (y == y.flat[0]).all():
            continue
        below = [f for f in FORMATS.values() if f.is_real and f.precision < fmt.precision and f.bits <= fmt.bits]
        for narrow in sorted(below, key=lambda f: (f.precision, f.bits)):
            if np.array_equal(round_to(y, narrow), y):
                return f"every value of {name} is one of {narrow}, where {fmt} is due"
    return ""


def _where(call: Call, reading: OutputReading) -> str:
    """`, along axis 1 from index 96 on` or `, all within [0..3, 17..17]`."""
    if reading.boundary:
        parts = [
            f"along {axis} right before index {first}, wrong from there on" for axis, first in reading.boundary.items()
        ]
        return ", " + " and ".join(parts)
    shape = next((s for n, s, _ in call.expected() if n == reading.name), ())
    spans = list(reading.region.values())
    if not spans or all(span == (0, n - 1) for span, n in zip(spans, shape, strict=False)):
        return ", spread over the whole output" if reading.exceeding > 1 else ""
    return f", all within [{', '.join(f'{low}..{high}' if high > low else str(low) for low, high in spans)}]"


# ------------------------------------------------------------------------------------------------------ the witness


def _cut(whole: Part, worst: Element) -> Part | None:
    """The part around the worst element, if it is a case of its own that fails the same way; None otherwise."""
    call = whole.ruling.call
    cuts: dict[str, slice] = {}
    shapes = {t.name: t.shape for t in (*call.contract.inputs, *call.contract.outputs)}
    for axis, size in enumerate(shapes.get(worst.output, ())):
        if isinstance(size, str) and size in call.dims and not _summed(call, size) and len(worst.index) > axis:
            start = worst.index[axis] // _WINDOW * _WINDOW
            cuts[size] = slice(start, min(start + _WINDOW, call.dims[size]))
    if not cuts:
        return None

    def pick(name: str, x: Array) -> Array:
        return x[tuple(cuts.get(d, slice(None)) if isinstance(d, str) else slice(None) for d in shapes[name])]

    dims = {d: cuts[d].stop - cuts[d].start if d in cuts else n for d, n in call.dims.items()}
    smaller = replace(call, dims=dims, inputs={n: pick(n, x) for n, x in call.inputs.items()})
    outputs = {n: pick(n, y) for n, y in whole.outputs.items()}
    if any(outputs[n].shape != shape for n, shape, _ in smaller.expected()):
        return None
    part = Part(Ruling(smaller), outputs)
    if not part.ruling.decided or part.ruling.worst_ratio(outputs)[0] <= 1.0:
        return None
    before = {j.text: j.acceptance.center for j in whole.ruling.judged(whole.outputs)}
    after = {j.text: j.acceptance.center for j in part.ruling.judged(outputs)}
    same = all(np.allclose(after[n], pick(n, before[n]), rtol=1e-9, atol=0.0, equal_nan=True) for n in outputs)
    return part if same else None


def _summed(call: Call, size: str) -> bool:
    """Whether some sum of the reference runs over this size."""
    return any(
        str(t.shape[axis]) == size for t in call.contract.inputs for axis in call.bound.contracted.get(t.name, ())
    )


def _witness(part: Part, contract: Contract, signature: Signature, origin: Origin) -> tuple[str, str]:
    """Where the witness was written, and the line that says how to use it or why there is none."""
    call = part.ruling.call
    if _numbers(call) > _LARGEST:
        return "", f"no witness was written: the inputs hold {_numbers(call)} numbers and cannot be cut down"
    digest = hashlib.sha256(contract.source.encode())
    for x in (*call.inputs.values(), *part.outputs.values()):
        digest.update(np.ascontiguousarray(x).tobytes())
    label = "-".join(call.bound.dtypes.values()) or "any"
    folder = Path(os.environ.get(WITNESS_DIR) or ".kc/witness")
    path = folder / f"{contract.name}-{label}-{digest.hexdigest()[:12]}.json"
    # a replay looks its inputs up in the file; the family must be one that it knows
    case = replace(part.ruling.case(), family="normal", shape_family=HANDED_IN)
    witness = Witness(
        contract.source, contract.name, case, call.inputs, {n: f.name for n, f in call.bound.inputs.items()},
        "", origin.stack, origin.device, signature.name, signature.detail, _seen(part), platform_fingerprint(),
        contract.path,
    )  # fmt: skip
    try:
        witness.save(path)
    except OSError as error:
        return "", f"no witness was written: {path.parent} cannot be written ({error.strerror}); set {WITNESS_DIR}"
    return str(path), f"kc replay {path} --target FILE.py:FUNCTION"


def _seen(part: Part) -> dict[str, object]:
    """The worst element, by its place in the part."""
    worst = max(part.ruling.observe(part.outputs).outputs, key=lambda r: r.ratio).worst
    if worst is None:
        return {}
    return {**asdict(worst), "index": list(worst.index)}
