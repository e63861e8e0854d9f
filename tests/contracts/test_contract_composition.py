"""What a contract is made of: definitions, companions, claims, conditions, policies, and its identity."""

from __future__ import annotations

from pathlib import Path

import contract_texts as kc
import numpy as np
import pytest

from kernel_contracts.contracts.catalogue import load_file, standard_library
from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.language.printer import format_source
from kernel_contracts.measurement.calls import CallResult
from kernel_contracts.vocabulary import vocabulary

TWICE = "define twice(a) = a + a\n"
UNUSED = "define unused(a) = a - a\n"


# --------------------------------------------------------------------------------------------- definitions and imports


def ops(source: str) -> list[str]:
    return [n.op for n in kc.one(source).bound[0].program.nodes]


def test_definitions_are_inlined() -> None:
    assert ops(TWICE + kc.text(reference="{ y = twice(x) }")) == ops(kc.text(reference="{ y = x + x }"))
    nested = TWICE + "define four(a) {\n  b = twice(a)\n  return twice(b)\n}\n"
    assert ops(nested + kc.text(reference="{ y = four(x) }")) == ["input", "add", "add"]
    by_name = "define minus(a, b) = a - b\n" + kc.text(reference="{ y = minus(b = x, a = x * 2.0) }")
    instance = kc.case(kc.one(by_name), {"N": 2})
    (found,) = kc.admitted(kc.one(by_name), {"N": 2}, {"x": np.array([1.0, 5.0])})
    assert instance.dims == {"N": 2}
    assert list(found.center) == [1.0, 5.0]


def test_a_name_inside_a_definition_does_not_leak() -> None:
    source = "define f(a) {\n  t = a + a\n  return t\n}\n" + kc.text(reference="{ u = f(x)\n y = t }")
    assert kc.wrong(source).code == "N201"
    source = "define f(a) = a + x\n" + kc.text(reference="{ y = f(x) }")
    assert kc.wrong(source).code == "N201"


@pytest.mark.parametrize(
    "definitions",
    ["define f(a) = f(a)\n", "define f(a) = g(a)\ndefine g(a) = f(a)\n", "define f(a) {\n  b = f(a)\n  return b\n}\n"],
)
def test_recursion_is_found(definitions: str) -> None:
    found = kc.wrong(definitions + kc.text(reference="{ y = f(x) }"))
    assert found.code == "N206"
    assert "calls itself" in found.message


@pytest.mark.parametrize("call", ["twice()", "twice(x, x)", "twice(b = x)", "twice(x, a = x)"])
def test_arguments_of_a_definition(call: str) -> None:
    assert kc.wrong(TWICE + kc.text(reference=f"{{ y = {call} }}")).code == "T306"


def test_imports_from_a_file_beside_and_from_the_library(tmp_path: Path) -> None:
    (tmp_path / "mine.kc").write_text('use relu from "nn"\n' + TWICE, encoding="utf-8")
    source = 'use twice from "mine.kc"\n\n' + kc.text(reference="{ y = twice(x) }")
    assert kc.one(source, tmp_path / "a.kc").bound[0].program.nodes[-1].op == "add"
    library = 'use silu from "nn"\n\n' + kc.text(reference="{ y = silu(x) in fp32 }")
    assert "sigmoid" in [n.op for n in kc.one(library).bound[0].program.nodes]
    assert kc.wrong('use thrice from "mine.kc"\n\n' + kc.text(), tmp_path / "a.kc").hint == "did you mean `twice`?"
    missing = kc.wrong('use f from "other.kc"\n\n' + kc.text(), tmp_path / "a.kc")
    assert (missing.code, missing.span.line) == ("N213", 1)
    assert "looked for other.kc beside a.kc and in the standard library" in missing.hint


# ------------------------------------------------------------------------------------------------------ companions


def test_a_companion_takes_over_what_is_not_said() -> None:
    base = kc.text(name="base", tolerance="ulp 2 of fp32", reference="{ y = x * 3.0 }")
    other = "\n".join(
        ["contract shapes version 1.0 implements C-CMP-03", "{", "  scope     double (x: fp32[N]) -> y: fp32[N]",
         "  post      as base", "}", ""]
    )  # fmt: skip
    first, second = kc.load(base + "\n" + other)
    assert second.class_id == "C-CMP-03"
    assert [n.op for n in second.bound[0].program.nodes] == [n.op for n in first.bound[0].program.nodes]
    assert second.post[0].__class__ is first.post[0].__class__
    assert "ulp 2 of fp32" in second.source
    assert second.pre.ranges == first.pre.ranges
    assert kc.wrong(kc.text(post="as base")).code == "N217"


def test_a_contract_cannot_be_there_twice() -> None:
    found = kc.wrong(kc.text() + "\n" + kc.text())
    assert (found.code, found.span.line) == ("N214", 10)


# ------------------------------------------------------------------------------------------------- claims


class Answer:
    """A kernel that returns given arrays."""

    def __init__(self, *outputs: np.ndarray, dtype: str = "float32") -> None:
        self.outputs = tuple(np.asarray(y, dtype) for y in outputs)

    def call(self, arrays: object, scalars: object = (), *, poison: object = ()) -> CallResult:
        names = {"float32": "fp32", "int64": "int64"}
        return CallResult(
            Outcome.RETURNED, outputs=self.outputs, dtypes=tuple(names[y.dtype.name] for y in self.outputs)
        )


def judged(contract: object, dims: dict[str, int], inputs: dict[str, np.ndarray], *outputs: np.ndarray) -> object:
    run = kc.session(contract)  # type: ignore[arg-type]
    run.kernel = Answer(*outputs)
    return run.measure_on(kc.case(contract, dims), inputs)  # type: ignore[arg-type]


SOFTMAX = kc.text(
    scope="softmax (x: fp32[M, N]) -> y: fp32[M, N]", pre="M, N in 1..64",
    reference="{ e = exp(x) in fp32\n y = e / sum(e, axis = -1, keep) in fp32 }",
    post="y within tolerance of reference and sum(y, axis = -1) within tolerance of 1",
)  # fmt: skip


def test_a_claim_about_an_expression_is_judged_on_what_came_back() -> None:
    contract = kc.one(SOFTMAX)
    inputs = {"x": np.array([[0.0, 0.0, 0.0, 0.0]])}
    right = judged(contract, {"M": 1, "N": 4}, inputs, [[0.25, 0.25, 0.25, 0.25]])
    assert [r.name for r in right.outputs] == ["y", "sum(y, axis = -1)"]  # type: ignore[attr-defined]
    assert not right.violating  # type: ignore[attr-defined]
    wrong = judged(contract, {"M": 1, "N": 4}, inputs, [[0.25, 0.25, 0.25, 0.35]])
    assert [r.exceeding for r in wrong.outputs] == [1, 1]  # type: ignore[attr-defined]
    worst = wrong.outputs[1].worst  # type: ignore[attr-defined]
    assert (round(worst.got, 6), worst.oracle) == (1.1, 1.0)


def test_a_condition_limits_where_a_claim_holds() -> None:
    contract = kc.one(
        scope="double (x: fp32[N]) -> y: fp32[N]", tolerance="none", post="y bitwise equal reference where x > 0"
    )
    seen = judged(contract, {"N": 3}, {"x": np.array([1.0, -1.0, 2.0])}, [2.0, 99.0, 4.0])
    (reading,) = seen.outputs  # type: ignore[attr-defined]
    assert (reading.exceeding, reading.exact, reading.undetermined) == (0, 2, 1)
    seen = judged(contract, {"N": 3}, {"x": np.array([1.0, -1.0, 2.0])}, [2.0, -2.0, 4.0000005])
    (reading,) = seen.outputs  # type: ignore[attr-defined]
    assert (reading.exceeding, reading.exact_wrong) == (1, 1)


def test_bitwise_admits_the_rounded_reference_and_nothing_else() -> None:
    contract = kc.one(scope="third (x: fp32[N]) -> y: fp32[N]", tolerance="none",
                      reference="{ y = round(x / 3.0, fp32) in fp64 }", post="y bitwise equal reference")  # fmt: skip
    right = np.float32(1) / np.float32(3)
    assert not judged(contract, {"N": 1}, {"x": np.ones(1)}, [right]).violating  # type: ignore[attr-defined]
    off = np.nextafter(right, np.float32(1))
    assert judged(contract, {"N": 1}, {"x": np.ones(1)}, [off]).violating  # type: ignore[attr-defined]


def test_a_claim_of_a_truth_value_is_refused() -> None:
    found = kc.wrong(post="any(y > 0) within tolerance of 1")
    assert found.code == "T312"


def test_integer_outputs_are_compared_exactly() -> None:
    contract = kc.one(scope="argmax (x: fp32[N]) -> y: int64[]", pre="N in 1..9", tolerance="none",
                      reference="{ y = argmax(x, axis = 0) }", post="y bitwise equal reference")  # fmt: skip
    x = np.array([0.0, 5.0, 1.0])
    run = kc.session(contract)
    for answer, exceeding in ((1, 0), (2, 1)):
        run.kernel = Answer(np.asarray(answer), dtype="int64")
        (reading,) = run.measure_on(kc.case(contract, {"N": 3}), {"x": x}).outputs
        assert reading.exceeding == exceeding


# ------------------------------------------------------------------------------------------- policies and refusals


def test_policies_are_read_and_checked() -> None:
    contract = kc.one(post="y within tolerance of reference and policy nan = propagate"
                           " and policy subnormal_result = flush or preserve")  # fmt: skip
    assert dict(contract.policies) == {"nan": ("propagate",), "subnormal_result": ("flush", "preserve")}
    assert contract.bound[0].context.flush
    assert not kc.one().bound[0].context.flush
    unknown = kc.wrong(post="policy nans = propagate")
    assert (unknown.code, unknown.hint) == ("N215", "did you mean `nan`?")
    choice = kc.wrong(post="policy nan = ignore")
    assert choice.hint == "choose propagate, mask, raise, number_wins"


def test_a_flushing_policy_admits_zero_for_a_subnormal() -> None:
    clauses = {"scope": "half (x: fp32[N]) -> y: fp32[N]", "reference": "{ y = round(x * 0.5, fp32) in fp32 }"}
    x = {"x": np.array([2.0**-126])}
    strict = kc.one(**clauses)
    free = kc.one(post="y within tolerance of reference and policy subnormal_result = flush or preserve", **clauses)
    assert judged(strict, {"N": 1}, x, [0.0]).violating  # type: ignore[attr-defined]
    assert not judged(free, {"N": 1}, x, [0.0]).violating  # type: ignore[attr-defined]
    assert not judged(free, {"N": 1}, x, [2.0**-127]).violating  # type: ignore[attr-defined]


def test_a_documented_refusal_is_marked_where_it_is_due() -> None:
    contract = kc.one(post="y within tolerance of reference and N in {64, 128} or raise SIZE_UNSUPPORTED")
    assert [r.kind for r in contract.refusals] == ["SIZE_UNSUPPORTED"]
    run = kc.session(contract)
    assert run.measure(kc.case(contract, {"N": 64})).readings.get("may_refuse") is None
    assert run.measure(kc.case(contract, {"N": 65})).readings["may_refuse"] == 1.0


# ------------------------------------------------------------------------------------------------------- identity


def test_the_digest_covers_what_is_used_and_nothing_else() -> None:
    body = kc.text(reference="{ y = twice(x) }")
    base = kc.one(TWICE + body).digest
    assert kc.one(TWICE + UNUSED + "# a comment\n" + body.replace("pre  ", "pre ")).digest == base
    assert kc.one(UNUSED.replace("a - a", "a * a") + TWICE + body).digest == base
    assert kc.one(TWICE.replace("a + a", "a + a + a") + body).digest != base
    assert kc.one(TWICE + body.replace("1024", "1023")).digest != base
    assert kc.one(TWICE + body.replace("version 1.0", "version 1.1")).digest != base


def test_the_digest_covers_definitions_of_definitions() -> None:
    chain = "define inner(a) = a + 1.0\ndefine outer(a) = inner(a)\n"
    body = kc.text(reference="{ y = outer(x) }")
    assert kc.one(chain + body).digest != kc.one(chain.replace("1.0", "2.0") + body).digest


@pytest.mark.parametrize("contract", standard_library(vocabulary()), ids=lambda c: c.name)
def test_the_source_of_a_contract_stands_alone_and_is_canonical(contract: object) -> None:
    """What a witness carries elaborates to the same contract without its file."""
    assert format_source(contract.source) == contract.source  # type: ignore[attr-defined]
    again = next(c for c in kc.load(contract.source) if c.name == contract.name)  # type: ignore[attr-defined]
    assert again.digest == contract.digest  # type: ignore[attr-defined]
    assert again.bound == contract.bound  # type: ignore[attr-defined]
    assert again.measure == contract.measure  # type: ignore[attr-defined]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    from kernel_contracts.errors import UsageError

    with pytest.raises(UsageError, match="cannot read the contract file"):
        load_file(tmp_path / "none.kc")
    (tmp_path / "binary.kc").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_file(tmp_path / "binary.kc")
