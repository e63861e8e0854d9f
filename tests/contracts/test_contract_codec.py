"""The JSON form of a contract: complete, deterministic, strict, and what its published schema says."""

from __future__ import annotations

import json
import re

import contract_texts as kc
import jsonschema
import pytest

from kernel_contracts.contracts.catalogue import standard_library
from kernel_contracts.contracts.codec import schema, to_json
from kernel_contracts.formats import FORMATS
from kernel_contracts.numerics import dims
from kernel_contracts.vocabulary import vocabulary

LIBRARY = standard_library(vocabulary())
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("contract", LIBRARY, ids=lambda c: c.name)
def test_a_contract_of_the_library_validates(contract: object) -> None:
    record = to_json(contract)  # type: ignore[arg-type]
    text = json.dumps(record, allow_nan=False)
    VALIDATOR.validate(json.loads(text))
    (again,) = [c for c in kc.load(contract.source, contract.path) if c.name == contract.name]  # type: ignore[attr-defined]
    assert json.dumps(to_json(again), allow_nan=False) == text
    for choice, bound in zip(record["choices"], contract.bound, strict=True):  # type: ignore[attr-defined]
        program = choice["program"]
        assert [n["op"] for n in program["nodes"]] == [n.op for n in bound.program.nodes]
        assert all(a < k for k, n in enumerate(program["nodes"]) for a in n["args"])
        assert {n["arithmetic"] for n in program["nodes"]} <= set(FORMATS) | {
            n.format.name for n in bound.program.nodes
        }
        assert set(program["outputs"]) == {o["name"] for o in record["scope"]["outputs"]}
        assert len(choice["claims"]) == len(bound.claims)
    assert "inf" not in re.sub(r'"(?:\\.|[^"\\])*"', "", text)


FULL = kc.text(
    scope="f for P in {fp32, bf16} (x: P[M, N // 2]; eps: real = 1e-5, k: int = 3) -> y: P[M, N // 2]",
    pre="M in {4, 8} and N in 2..64 and N % 2 == 0 and finite(x) and abs(x) <= 8 and eps > 0",
    post="y within tolerance of reference and policy nan = propagate and M in {4} or raise TOO_BIG",
    tolerance="derived with summation = blocked(8)",
    reference="{ y = round(maximum(x, -inf) + eps, P) in fp32 }",
    rest="  measure {\n    inputs normal, offset(1..1e4)\n    shapes one\n    sweep M in {4, 8}\n    samples 5\n  }\n"
    "  violation wrong_value\n  calibrate {\n    good emulated\n    bad mutant(narrow(fp16))\n    baseline zeros\n  }",
)  # fmt: skip


def test_nothing_is_left_out() -> None:
    record = json.loads(json.dumps(to_json(kc.one(FULL)), allow_nan=False))
    VALIDATOR.validate(record)
    assert record["scope"] == {
        "operation": "f", "variables": {"P": ["fp32", "bf16"]},
        "inputs": [{"name": "x", "dtype": "P", "shape": ["M", "N // 2"]}],
        "parameters": [{"name": "eps", "type": "real", "default": 1e-5}, {"name": "k", "type": "int", "default": 3}],
        "outputs": [{"name": "y", "dtype": "P", "shape": ["M", "N // 2"]}], "dims": ["M", "N"], "ranks": None,
    }  # fmt: skip
    assert record["pre"]["text"].startswith("M in {4, 8} and N in 2..64")
    assert record["pre"]["dims"]["M"] == {"low": 4, "high": 8, "choices": [4, 8]}
    assert record["pre"]["parameters"] == {"eps": {"low": 0, "high": "inf", "choices": None}}
    assert record["pre"]["inputs"]["x"] == {"positive": False, "limit": 8.0, "low": None, "high": None}
    assert record["pre"]["conditions"] == ["N % 2 == 0", "eps > 0"]
    assert record["post"] == [
        "y within tolerance of reference", "policy nan = propagate", "M in {4} or raise TOO_BIG"
    ]  # fmt: skip
    assert record["tolerance"] == "derived with summation = blocked(8)"
    assert record["policies"] == {"nan": ["propagate"]}
    assert record["refusals"] == [{"unless": "M in {4}", "kind": "TOO_BIG"}]
    assert record["measure"]["inputs"] == ["normal", "offset(1..10000)"]
    assert record["measure"]["sweeps"] == {"M": [4, 8]}
    assert record["violation"] == ["wrong_value"]
    assert record["calibrate"][1] == {"state": "bad", "kernel": "mutant(narrow(fp16))"}
    second = record["choices"][1]
    assert second["dtypes"] == {"P": "bf16"}
    assert (second["context"]["summation"], second["context"]["block"]) == ("blocked", 8)
    last = second["program"]["nodes"][second["program"]["outputs"]["y"]]
    assert (last["op"], last["attrs"]["format"], last["label"]) == ("round", "bf16", "y")
    assert last["type"] == {"format": "bf16", "shape": ["M", "N // 2"]}
    assert [n["attrs"]["value"] for n in second["program"]["nodes"] if n["op"] == "constant"] == ["-inf"]


def test_sizes_are_text_that_reads_back() -> None:
    source = kc.text(
        scope="f (x: fp32[N]) -> y: fp32[N]", pre="N in 4..64",
        reference="{ y = pad(slice(x, axis = 0, start = 0, stop = N // 4 * 4), axis = 0, after = N % 4) }",
    )  # fmt: skip
    nodes = to_json(kc.one(source))["choices"][0]["program"]["nodes"]
    attrs = next(n["attrs"] for n in nodes if n["op"] == "slice")
    assert attrs["stop"] == "(N // 4) * 4"
    assert eval(attrs["stop"], {"N": 13}) == 12
    assert dims.evaluate(("*", ("//", "N", 4), 4), {"N": 13}) == 12


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("class",), "PRC-01"), (("digest",), "abc"), (("name",), None), (("choices",), []),
        (("measure", "samples"), 0),
        (("choices", 0, "program", "nodes", 0, "args"), [-1]), (("scope", "inputs", 0, "shape"), "N"),
        (("calibrate",), [{"state": "ugly", "kernel": "zeros"}]), (("extra",), 1),
    ],
)  # fmt: skip
def test_the_schema_refuses_what_is_wrong(path: tuple[object, ...], value: object) -> None:
    record = to_json(LIBRARY[0])
    at = record
    for step in path[:-1]:
        at = at[step]  # type: ignore[index]
    at[path[-1]] = value  # type: ignore[index]
    assert not VALIDATOR.is_valid(record)


def test_the_schema_asks_for_every_part() -> None:
    for part in to_json(LIBRARY[0]):
        record = to_json(LIBRARY[0])
        del record[part]
        assert not VALIDATOR.is_valid(record), part
