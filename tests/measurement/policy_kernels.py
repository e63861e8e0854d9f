"""Contracts that declare one policy, and how a kernel of one line does under them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels_in_process import Function

from kernel_contracts.classes import classes
from kernel_contracts.contracts.catalogue import load_text
from kernel_contracts.contracts.evidence import Finding, Observation
from kernel_contracts.contracts.model import Contract
from kernel_contracts.measurement.experiments import experiments
from kernel_contracts.measurement.session import Session
from kernel_contracts.oracles import ladder
from kernel_contracts.vocabulary import vocabulary


def declared(cls: str, scope: str, pre: str, reference: str, policies: str, claim: str = "bitwise equal") -> Contract:
    """A contract with the policies given as `nan = propagate and inf = propagate`; none where empty."""
    post = " and ".join([f"y {claim} reference", *(f"policy {p}" for p in policies.split(" and ") if p)])
    text = f"contract c version 1.0 implements {cls}\n{{\n  scope {scope}\n  pre {pre}\n  post {post}\n"
    text += f"  tolerance {'none' if 'bitwise' in claim else 'derived'}\n  reference {{ {reference} }}\n}}\n"
    (made,) = load_text(text, "c.kc", vocabulary())
    return made


def judged(
    contract: Contract, kernel: Callable[..., Any], seed: int = 3, samples: int | None = None
) -> tuple[Finding, list[Observation]]:
    """The verdict on a function, and everything that was seen."""
    bound = contract.bound[0]
    klass = classes()[contract.class_id]
    plan = klass.plan(contract, bound)
    experiment = experiments()[plan.experiment]
    session = Session(contract, bound, Function(kernel), ladder())
    cases = experiment.cases(contract, bound, plan, seed=seed, samples=samples)
    assert cases
    seen = experiment.finish(session, [experiment.measure(session, c) for c in cases])
    return klass.judge(contract, bound, seen), seen


def story(finding: Finding) -> str:
    witness = finding.witness.case.family if finding.witness else ""
    return f"{finding.verdict}: {finding.reason}; {finding.signature}; {witness}; {finding.notes}"
