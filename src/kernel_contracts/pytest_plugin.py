"""The pytest plugin: derived tolerances and whole checks as fixtures.

    def test_softmax(conforms):
        conforms(softmax(x), "softmax", x)

    def test_every_shape(check_kernel):
        check_kernel(softmax, "softmax", dtypes=["fp32"], stack="torch")

Requirement: pytest loads this module in every run of every project, so nothing but pytest is imported until a fixture
is asked for. A failure shows its story, without frames of this package.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_WITNESS_DIR = "KC_WITNESS_DIR"
_SEED = pytest.StashKey[int]()
_FORMER = pytest.StashKey[str | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kernel contracts")
    group.addoption(
        "--kc-witness-dir", metavar="DIR", default=None,
        help="folder for the witnesses of failures (default: .kc/witness)",
    )  # fmt: skip
    group.addoption(
        "--kc-seed", metavar="N", default="0",
        help="seed of the cases that check_kernel measures: a number, or `random` for new ones each run (default: 0)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    text = config.getoption("--kc-seed")
    if text == "random":
        # the workers of pytest-xdist take the seed of the process that started them
        given = getattr(config, "workerinput", {}).get("kc_seed")
        config.stash[_SEED] = given if given is not None else secrets.randbits(48)
    elif text.isdigit():
        config.stash[_SEED] = int(text)
    else:
        raise pytest.UsageError(f"--kc-seed {text}: give a whole number of at least 0, or random")
    folder = config.getoption("--kc-witness-dir")
    if folder is not None:
        config.stash[_FORMER] = os.environ.get(_WITNESS_DIR)
        os.environ[_WITNESS_DIR] = os.path.abspath(folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FORMER in config.stash:
        former = config.stash[_FORMER]
        os.environ.pop(_WITNESS_DIR, None)
        if former is not None:
            os.environ[_WITNESS_DIR] = former


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Called by pytest-xdist for each worker it starts."""
    node.workerinput["kc_seed"] = node.config.stash[_SEED]


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.getoption("--kc-seed") == "0":
        return None
    return f"kernel contracts: seed {config.stash[_SEED]}"


@pytest.fixture(scope="session")
def conforms() -> Callable[..., None]:
    """`conforms(actual, contract, *inputs, **params)`: assert_conforms."""
    from kernel_contracts.assertions import assert_conforms

    return assert_conforms


@pytest.fixture(scope="session")
def check_kernel(pytestconfig: pytest.Config) -> Callable[..., Any]:
    """`check_kernel(function_or_target, operation, **options)`: every contract of the operation must hold.

    Options are those of the check: contract, classes, dtypes, samples, seed, stack, device, params.
    """
    from kernel_contracts.functions import check_kernel as run

    seed = pytestconfig.stash[_SEED]

    def checked(kernel: Any, operation: str | None = None, **options: Any) -> Any:
        __tracebackhide__ = True
        results = run(kernel, operation, **{"seed": seed, **options})
        failure = _failure(results)
        if failure is not None:
            raise failure
        return results

    return checked


def _failure(results: list[Any]) -> AssertionError | None:
    """What is wrong with the verdicts, worst first; None when all conform."""
    from kernel_contracts.assertions import ConformanceError, InconclusiveError
    from kernel_contracts.contracts.evidence import Signature, Verdict

    if not results:
        return InconclusiveError("nothing was checked: no contract is for these dtypes on this stack; pass dtypes=")
    broken = [r for r in results if r.verdict in (Verdict.VIOLATES, Verdict.UNDER_SPECIFIED)]
    open_ = [r for r in results if r.verdict not in (Verdict.CONFORMS, Verdict.VIOLATES, Verdict.UNDER_SPECIFIED)]
    if broken:
        first = broken[0]
        signature = first.finding.signature or Signature(first.verdict.value, first.finding.reason)
        return ConformanceError("\n".join(_told(broken, results)), first.contract, signature, first.finding.witness)
    if open_:
        return InconclusiveError("\n".join(_told(open_, results)))
    return None


def _told(chosen: list[Any], results: list[Any]) -> Iterator[str]:
    """One paragraph a result."""
    yield f"{len(chosen)} of {len(results)} contracts do not hold (seed {results[0].seed})"
    for r in chosen:
        label = f", {r.bound.label}" if r.bound.label else ""
        yield f"{r.verdict.value}: {r.contract.key} ({r.contract.class_id}{label})"
        for name, text in _rows(r):
            yield f"  {name:<8} {text}"


def _rows(result: Any) -> Iterator[tuple[str, str]]:
    finding = result.finding
    if finding.signature is not None:
        yield "defect", str(finding.signature)
    yield "reason", finding.reason
    witness = finding.witness
    if witness is None:
        return
    if witness.detail:
        yield "happened", witness.detail
    worst = next((o.worst for o in witness.outputs if o.worst is not None), None)
    if worst is not None:
        place = f"[{', '.join(map(str, worst.index))}]" if worst.index else ""
        found = f"{worst.output}{place} = {worst.got:.9g}, oracle {worst.oracle:.9g}"
        yield "worst", f"{found}, tolerance {worst.tolerance:.3g}"
    case = witness.case
    sizes = ", ".join(f"{k} = {v}" for k, v in {**case.dims, **case.scalars}.items())
    yield "case", f"{case.family} inputs, {sizes or 'rank 0'}, {case.layout.value}, seed {case.seed}"
