"""References written in Python mean what the same program in the language means, and fail in one clear sentence."""

from __future__ import annotations

from pathlib import Path

import contract_texts as kc
import numpy as np
import pytest

from kernel_contracts.contracts.model import Contract
from kernel_contracts.numerics.interpret import Instance, bound, emulate, evaluate
from kernel_contracts.numerics.operators.base import EmulateContext

CODE = """
def softmax(x):
    xp = x.__array_namespace__()
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)

def layernorm(x, gamma, beta, *, eps):
    xp = x.__array_namespace__()
    d = x - xp.mean(x, axis=-1, keepdims=True)
    return d * xp.rsqrt(xp.var(x, axis=-1, keepdims=True) + eps) * gamma + beta

def scaled(q, k):
    xp = q.__array_namespace__()
    s = (q @ k.mT) / xp.sqrt(q.shape[-1])
    return xp.round_to(xp.where(s >= 0, s, -abs(s)), "bf16")

def mixed(x, w):
    xp = x.__array_namespace__()
    y = xp.matmul(xp.permute_dims(x, (1, 0)), w)
    z = xp.reshape(xp.add(y, 1.0), (y.shape[0] * y.shape[1],))
    return xp.at_least(xp.multiply(z, 2), "bf16"), xp.sum(xp.expand_dims(x, axis=0) ** 2, axis=(0, 1))

def order(x):
    xp = x.__array_namespace__()
    return xp.cumulative_sum(2.0 - x, axis=-1)

def branches(x):
    return x if x > 0 else -x

def unknown(x):
    return x.__array_namespace__().fft(x)

def not_an_array(x):
    return 3.0

def two(x):
    return x, x

def format_unknown(x):
    return x.__array_namespace__().astype(x, "fp31")

def fails(x):
    raise RuntimeError("out of ideas")

def uses_numpy(x):
    import numpy
    return x + numpy.ones(3)
"""

PAIRS = {
    "softmax": (
        "f (x: fp32[M, N]) -> y: fp32[M, N]",
        "{ e = exp(x - max(x, axis = -1, keep)) in fp32\n y = e / sum(e, axis = -1, keep) in fp32 }",
    ),
    "layernorm": (
        "f (x: fp32[M, N], gamma: fp32[N], beta: fp32[N]; eps: real = 1e-5) -> y: fp32[M, N]",
        "{ d = x - mean(x, axis = -1, keep) in fp32\n"
        " y = d * rsqrt(var(x, axis = -1, keep) + eps) * gamma + beta in fp32 }",
    ),
    "scaled": (
        "f (q: fp32[M, N], k: fp32[M, N]) -> y: bf16[M, M]",
        "{ s = matmul(q, transpose(k)) / sqrt(N) in fp32\n y = round(where(s >= 0, s, -abs(s)), bf16) in fp32 }",
    ),
    "mixed": (
        "f (x: fp32[M, N], w: fp32[M, N]) -> y: fp32[N * N], z: fp32[N]",
        "{ a = transpose(x, [1, 0]) @ w in fp32\n y = at_least(reshape(a + 1.0, [N * N]) * 2, bf16) in fp32\n"
        " z = sum(expand(x, axis = 0) ^ 2, axis = [0, 1]) in fp32 }",
    ),
    "order": ("f (x: fp32[M, N]) -> y: fp32[M, N]", "{ y = cumsum(2.0 - x, axis = -1) in fp32 }"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ref.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("def f(x:\n", encoding="utf-8")
    return tmp_path


def pair(folder: Path, name: str) -> tuple[Contract, Contract]:
    scope, program = PAIRS[name]
    clauses = {"scope": scope, "pre": "M, N in 1..9"}
    if "z:" in scope:
        clauses["post"] = "y within tolerance of reference and z within tolerance of reference"
    python = kc.one(reference=f'python "ref.py:{name}" in fp32', path=folder / "a.kc", **clauses)
    return python, kc.one(reference=program, **clauses)


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_the_traced_program_is_the_written_one(folder: Path, name: str) -> None:
    traced, written = (c.bound[0].program for c in pair(folder, name))

    def listing(p: object) -> list[object]:
        return [(n.op, n.args, sorted(n.attrs.items()), n.format.name, str(n.type)) for n in p.nodes]  # type: ignore[attr-defined]

    assert sorted(map(str, listing(traced))) == sorted(map(str, listing(written)))


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_values_bounds_and_emulations_agree(folder: Path, name: str) -> None:
    traced, written = pair(folder, name)
    case = kc.case(written, {"M": 3, "N": 4})
    inputs = kc.session(written).inputs(case)
    for c in (traced, written):
        assert set(c.bound[0].program.outputs) == {t.name for t in c.outputs}
    first, second = (Instance(c.bound[0].program, case.dims, inputs, case.scalars) for c in (traced, written))
    for value in (evaluate, lambda i: emulate(i, EmulateContext())):
        a, b = value(first), value(second)
        assert all(np.array_equal(a[n], b[n]) for n in b)
        assert all(np.isfinite(b[n]).all() for n in b)
    context = written.bound[0].context
    assert traced.bound[0].context == context
    a, b = bound(first, context), bound(second, context)
    for n in b:
        assert np.array_equal(a[n].v, b[n].v)
        assert np.array_equal(a[n].radius(), b[n].radius())
        assert (b[n].radius() > 0).any() or name == "scaled", "scaled ends in a rounding that settles every element"


@pytest.mark.parametrize(
    ("path", "code", "says"),
    [
        ("ref.py:branches", "T304", "cannot branch on the values of an array"),
        ("ref.py:unknown", "T304", "cannot call fft"),
        ("ref.py:format_unknown", "T304", "no number format fp31"),
        ("ref.py:uses_numpy", "T304", "not with ndarray"),
        ("ref.py:not_an_array", "T315", "must return 1 array(s)"),
        ("ref.py:two", "T315", "must return 1 array(s)"),
        ("ref.py:fails", "N216", "raised RuntimeError: out of ideas"),
        ("ref.py:softplus", "N216", "has no attribute 'softplus'"),
        ("ref.py:layernorm", "N216", "raised TypeError"),
        ("missing.py:f", "N216", "missing.py is not beside the contract"),
        ("broken.py:f", "N216", "cannot be loaded: SyntaxError"),
        ("no.such.module:f", "N216", "cannot be loaded: ModuleNotFoundError"),
        ("ref.py", "N216", "not of the form module:function"),
    ],
)
def test_what_a_python_reference_cannot_do(folder: Path, path: str, code: str, says: str) -> None:
    found = kc.wrong(scope="f (x: fp32[N]) -> y: fp32[N]", reference=f'python "{path}"', path=folder / "a.kc")
    assert found.code == code
    assert says in found.message
    assert found.hint
    assert (found.span.line, found.span.column) == (7, 3)


def test_a_module_on_the_path_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    (folder / "on_the_path_ref.py").write_text(CODE, encoding="utf-8")
    found = kc.one(scope="f (x: fp32[M, N]) -> y: fp32[M, N]", pre="M, N in 1..9",
                   reference='python "on_the_path_ref:softmax"')  # fmt: skip
    assert [n.op for n in found.bound[0].program.nodes if n.op == "exp"] == ["exp"]


def test_the_arithmetic_is_the_declared_one(folder: Path) -> None:
    found = kc.one(scope="f (x: bf16[M, N]) -> y: bf16[M, N]", pre="M, N in 1..9",
                   reference='python "ref.py:softmax" in bf16', path=folder / "a.kc")  # fmt: skip
    assert {n.format.name for n in found.bound[0].program.nodes if n.args} == {"bf16"}
