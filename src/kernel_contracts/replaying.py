"""Runs a witness again: the recorded contract text, the recorded inputs, the kernel as it is now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_contracts.api import real_target
from kernel_contracts.checking import experiment_of
from kernel_contracts.classes.judging import fails, violation
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Finding, Observation, Verdict
from kernel_contracts.contracts.model import Bound, Contract
from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.ranked import opened
from kernel_contracts.measurement.session import Session
from kernel_contracts.measurement.witness import Witness, load
from kernel_contracts.numerics.dims import evaluate
from kernel_contracts.numerics.mutants import mutants
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay showed."""

    contract: Contract
    bound: Bound
    target: str
    observation: Observation
    finding: Finding
    fails: bool
    same: bool
    """The worst element is at the same place with the same value, or the process ended the same way."""


def replay(path: str | Path, *, target: str | None = None, timeout: float = 30.0, memory_mb: int = 4096) -> Replay:
    """Measures the witness's case on its recorded inputs. Raises UsageError when the file or the kernel is unusable."""
    witness = load(path)
    found = load_text(witness.source, witness.path or str(path), vocabulary())
    contract = next((c for c in found if c.name == witness.contract), None)
    if contract is None:
        raise UsageError(f"{path} holds no contract {witness.contract}; give a witness that kc check wrote")
    bound = next((b for b in contract.bound if dict(b.dtypes) == dict(witness.case.dtypes)), None)
    if bound is None:
        raise UsageError(f"{path} is for dtypes {dict(witness.case.dtypes)}, which its contract does not cover")
    _check_inputs(path, contract, witness)
    name = target or witness.target
    if not name:
        raise UsageError(f"{path} comes from a value, not from a kernel; say which one: --target FILE.py:FUNCTION")
    real = real_target(name, witness.stack)
    with opened(
        [contract], real, stack=witness.stack, device=witness.device, timeout=timeout, memory_mb=memory_mb
    ) as kernel:
        kernel.load()
        session = Session(contract, bound, kernel, ladder(), tuple(mutants()))
        experiment = experiment_of(contract, bound)
        (seen,) = experiment.finish(session, [experiment.measure_on(session, witness.case, witness.inputs)])
    broken = fails(seen) and seen.oracle_ok
    finding = violation(bound, [seen], [seen]) if broken else Finding(Verdict.CONFORMS, "within the bound", samples=1)
    return Replay(contract, bound, name, seen, finding, broken, broken and _same(seen, dict(witness.seen)))


def _check_inputs(path: str | Path, contract: Contract, witness: Witness) -> None:
    """Raises UsageError where the recorded inputs are not those of the recorded case."""
    sizes = {**{k: v for k, v in witness.case.scalars.items() if isinstance(v, int)}, **witness.case.dims}
    for t in contract.inputs:
        shape = tuple(evaluate(d, sizes) for d in t.shape)
        if t.name not in witness.inputs or witness.inputs[t.name].shape != shape:
            raise UsageError(f"{path} is damaged: it has no input {t.name} of shape {list(shape)}")


def _same(seen: Observation, recorded: dict[str, object]) -> bool:
    if "outcome" in recorded:
        return seen.outcome.value == recorded["outcome"]
    worst = next((r.worst for r in seen.outputs if r.worst is not None), None)
    if worst is None:
        return False
    got = recorded.get("got")
    equal = worst.got == got or (worst.got != worst.got and got != got)
    return equal and list(worst.index) == recorded.get("index")
