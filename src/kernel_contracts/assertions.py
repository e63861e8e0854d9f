"""`assert_conforms`: a test of a kernel's answer whose tolerance nobody has to guess.

    assert_conforms(torch.softmax(x, -1), "softmax", x)
    assert_conforms(y, "layernorm", x, gamma, beta, eps=1e-6)
    assert_conforms(out, "mykernels.kc:scaled_add", a, b)

The tolerance follows from the contract's reference, the number formats, the sizes and the very inputs. A right answer
in any legal order of summation passes; an answer that no legal execution gives fails, with the likely defect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_contracts.answers.admission import Ruling, mostly_free, typed
from kernel_contracts.answers.arguments import Call, read_calls
from kernel_contracts.answers.arrays import Given, origin_of, read_outputs
from kernel_contracts.answers.stories import headline, tell
from kernel_contracts.contracts.evidence import Observation, Signature
from kernel_contracts.contracts.model import Contract
from kernel_contracts.errors import KernelContractsError

__all__ = ["AssertOptions", "ConformanceError", "InconclusiveError", "assert_conforms"]


class ConformanceError(AssertionError):
    """The answer is not one that the contract admits. What was found is in the attributes as well as in the text."""

    __module__ = "kernel_contracts"  # where users import it from

    def __init__(
        self,
        text: str,
        contract: Contract,
        signature: Signature,
        observation: Observation | None = None,
        witness: str = "",
    ) -> None:
        super().__init__(text)
        self.contract = contract
        self.signature = signature
        self.observation = observation
        """None where the dtype, the shape or the number of outputs is wrong already."""
        self.witness = witness
        """Path of the witness file; empty where none was written."""


class InconclusiveError(AssertionError):
    """Nothing could be decided: the oracle is too weak for the tolerance, or nearly every answer is admitted."""

    __module__ = "kernel_contracts"


@dataclass(frozen=True, slots=True)
class AssertOptions:
    """How to assert. A record of its own, so that no option can clash with a parameter of an operation."""

    classes: tuple[str, ...] | None = None
    """Only contracts of these classes, for example `("C-PRC-01",)`; None takes all that compare values."""
    witness: bool = True
    """Whether a failure writes a witness file that `kc replay` reads."""


DEFAULTS = AssertOptions()


def assert_conforms(
    actual: Any, contract: str | Contract, /, *inputs: Any, options: AssertOptions = DEFAULTS, **params: Any
) -> None:
    """Raises ConformanceError unless `actual` is an answer that `contract` admits for `inputs`.

    `contract` is an operation of the standard library, `FILE[:NAME]`, or a Contract. `inputs` come in the order of the
    contract's scope: NumPy arrays, tensors of PyTorch or JAX on any device, or lists of numbers; parameters by name.
    `actual` is one array, or a tuple where the contract has several outputs. Where several contracts of an operation
    compare values, each must hold. Raises InconclusiveError when nothing can be decided, and UsageError when the call
    itself cannot be judged: unknown names, dtypes that no contract covers, inputs outside the precondition.
    """
    __tracebackhide__ = True
    try:
        failure = _failure(actual, contract, inputs, options, params)
    except KernelContractsError as error:
        raise error.with_traceback(None) from None  # its sentence says it all
    if failure is not None:
        raise failure


def _failure(
    actual: Any, contract: str | Contract, inputs: tuple[Any, ...], options: AssertOptions, params: dict[str, Any]
) -> AssertionError | None:
    given, unreadable = _read(actual)
    undecided: InconclusiveError | None = None
    for call in read_calls(contract, inputs, params, options.classes, given):
        if unreadable:
            return _mistyped(call, "wrong_type", f"the answer cannot be read: {unreadable}")
        outputs, defect, detail = typed(call, given)
        if defect:
            return _mistyped(call, defect, detail)
        ruling = Ruling(call)
        ratio, free = ruling.worst_ratio(outputs)
        if not ruling.decided:
            undecided = InconclusiveError(
                f"{call.contract.key}: the oracle's own error is not under 1% of the tolerance at these sizes, so "
                "nothing can be said; smaller inputs would decide"
            )
        elif not ratio <= 1.0:
            story = tell(ruling, outputs, origin_of(actual, *inputs), save=options.witness)
            return ConformanceError(story.text, story.contract, story.signature, story.observation, story.witness)
        elif mostly_free(free):
            undecided = InconclusiveError(
                f"{call.contract.key}: {free:.0%} of the elements admit every answer (overflow, or a choice that the "
                "bound cannot decide), so passing would say nothing; use smaller or better separated inputs"
            )
    return undecided


def _read(actual: Any) -> tuple[tuple[Given, ...], str]:
    """The outputs, or why they are no arrays."""
    try:
        return read_outputs(actual), ""
    except TypeError as error:
        return (), str(error)


def _mistyped(call: Call, defect: str, detail: str) -> ConformanceError:
    text = f"{headline(call)}\n  defect   {defect}: {detail}"
    return ConformanceError(text, call.contract, Signature(defect, detail))
