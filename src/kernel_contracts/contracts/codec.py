"""An elaborated contract as JSON: everything that the text means, with nothing left to look up.

    to_json(contract)   a plain dict of strict JSON values, the same for the same contract
    schema()            its JSON Schema (2020-12), for readers in other languages

Clauses are there as canonical text and, where elaboration took them apart, as data; each choice of dtypes has its
program node by node, sizes as text over the dims. Infinities are the strings "inf" and "-inf".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernel_contracts.contracts.model import Bound, Claim, Contract, Facts, Range, TensorDecl
from kernel_contracts.formats import Format
from kernel_contracts.language import syntax
from kernel_contracts.language.clauses import kernel
from kernel_contracts.language.parser import parse
from kernel_contracts.language.printer import print_node
from kernel_contracts.numerics import dims
from kernel_contracts.numerics.bounded import BoundContext
from kernel_contracts.numerics.program import Node, Program

VERSION = 1
_SIZE_OPERATORS = ("+", "-", "*", "//", "%", "^")


def to_json(contract: Contract) -> dict[str, Any]:
    """The contract as strict JSON values."""
    node = _node(contract)
    return {
        "schema": VERSION,
        "name": contract.name,
        "version": contract.version,
        "class": contract.class_id,
        "doc": contract.doc,
        "digest": contract.digest,
        "scope": {
            "operation": contract.operation,
            "variables": {k: list(v) for k, v in contract.variables.items()},
            "inputs": [_tensor(t) for t in contract.inputs],
            "parameters": [{"name": s.name, "type": s.type, "default": _value(s.default)} for s in contract.scalars],
            "outputs": [_tensor(t) for t in contract.outputs],
            "dims": list(contract.dims),
            "ranks": contract.ranks,
        },
        "pre": _pre(contract, node),
        "post": [print_node(g) for g in node.post],
        "tolerance": print_node(contract.tolerance),
        "measure": _measure(contract),
        "violation": list(contract.violation),
        "calibrate": [{"state": s.state, "kernel": kernel(s.kernel)} for s in contract.calibrate],
        "policies": {k: list(v) for k, v in contract.policies.items()},
        "refusals": [{"unless": print_node(r.condition), "kind": r.kind} for r in contract.refusals],
        "choices": [_bound(b) for b in contract.bound],
        "source": contract.source,
    }


def schema() -> dict[str, Any]:
    """The JSON Schema of what `to_json` gives."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "contract.schema.json").read_text(encoding="utf-8"))
    return found


def _node(contract: Contract) -> syntax.Contract:
    """The contract's own tree, read back from its canonical text."""
    items = parse(contract.source, contract.path).items
    return next(i for i in items if isinstance(i, syntax.Contract) and i.name == contract.name)


def _tensor(t: TensorDecl) -> dict[str, Any]:
    return {"name": t.name, "dtype": print_node(t.dtype), "shape": [dims.text(d) for d in t.shape]}


def _pre(contract: Contract, node: syntax.Contract) -> dict[str, Any]:
    pre = contract.pre
    return {
        "text": None if node.pre is None else print_node(node.pre),
        "dims": {k: _range(r) for k, r in pre.ranges.items()},
        "parameters": {k: _range(r) for k, r in pre.scalars.items()},
        "inputs": {k: _facts(f) for k, f in pre.facts.items()},
        "conditions": [print_node(p) for p in pre.predicates],
    }


def _range(r: Range) -> dict[str, Any]:
    choices = None if r.choices is None else [_value(c) for c in r.choices]
    return {"low": _value(r.low), "high": _value(r.high), "choices": choices}


def _facts(f: Facts) -> dict[str, Any]:
    low, high = (None if d is None else dims.text(d) for d in (f.low, f.high))
    return {"positive": f.positive, "limit": _value(f.limit), "low": low, "high": high}


def _measure(contract: Contract) -> dict[str, Any]:
    m = contract.measure
    return {
        "inputs": [str(i) for i in m.inputs],
        "shapes": [str(i) for i in m.shapes],
        "samples": m.samples,
        "sweeps": {k: list(v) for k, v in m.sweeps.items()},
        "others": [{"keyword": o.keyword, "items": [print_node(i) for i in o.items]} for o in m.others],
    }


def _bound(b: Bound) -> dict[str, Any]:
    return {
        "dtypes": dict(b.dtypes),
        "inputs": {k: f.name for k, f in b.inputs.items()},
        "outputs": {k: f.name for k, f in b.outputs.items()},
        "accumulator": b.accumulator.name,
        "context": _context(b.context),
        "program": _program(b.program),
        "judged": _program(b.judged),
        "claims": [_claim(c) for c in b.claims],
    }


def _context(c: BoundContext) -> dict[str, Any]:
    return {
        "summation": c.summation,
        "block": c.block,
        "probabilistic": c.probabilistic,
        "ulps": dict(c.ulps),
        "flush": c.flush,
        "absolute": sorted(c.absolute),
    }


def _claim(c: Claim) -> dict[str, Any]:
    return {
        "subject": c.text,
        "output": c.output or None,
        "format": c.format.name,
        "node": c.before,
        "rounded": c.rounded,
        "exact": c.exact,
        "target": c.target,
        "where": c.where,
        "program": None if c.program is None else _program(c.program),
    }


def _program(p: Program) -> dict[str, Any]:
    return {
        "nodes": [_operation(n) for n in p.nodes],
        "inputs": dict(p.inputs),
        "parameters": dict(p.scalars),
        "outputs": dict(p.outputs),
    }


def _operation(n: Node) -> dict[str, Any]:
    return {
        "op": n.op,
        "args": list(n.args),
        "attrs": {k: _value(v) for k, v in sorted(n.attrs.items())},
        "arithmetic": n.format.name,
        "type": {"format": n.type.format.name, "shape": [dims.text(d) for d in n.type.shape]},
        "label": n.label or None,
    }


def _value(value: Any) -> Any:
    """A number, name, size, format or sequence of those as a JSON value."""
    if isinstance(value, Format):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, tuple) and len(value) == 3 and value[0] in _SIZE_OPERATORS:
        return dims.text(value)
    if isinstance(value, tuple | list):
        return [_value(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): _value(v) for k, v in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"an attribute of type {type(value).__name__} has no JSON form")
