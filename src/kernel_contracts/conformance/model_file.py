"""A model as data: named arrays, and steps that are operations of the standard library. Loading runs no code of it.

    model.json   {"name", "steps": [{"name", "operation", "inputs", "outputs", "parameters"}, ...], "outputs": [...]}
    model.npz    the inputs and weights by name, beside it

Steps that only move numbers (`reshape`, `permute`, `expand`, `concat`, `select`) are done by the tool, bit for bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernel_contracts.conformance.model_moves import MOVES, arity_fault, move
from kernel_contracts.errors import UsageError


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a model."""

    name: str
    """Where in the model: `block 0, attention`."""
    operation: str
    inputs: tuple[str, ...]
    """Names of arrays, in the order of the operation's scope."""
    outputs: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """Steps in the order in which they are run, and the arrays they start from."""

    name: str
    arrays: Mapping[str, NDArray[Any]]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        known = set(self.arrays)
        names: set[str] = set()
        for step in self.steps:
            if step.name in names:
                raise UsageError(f"model {self.name} has two steps called {step.name}; name each one otherwise")
            names.add(step.name)
            missing = [n for n in step.inputs if n not in known]
            if missing:
                raise UsageError(f"model {self.name}, step {step.name}: nothing before it gives {missing[0]}")
            again = [n for n in step.outputs if n in known]
            if again or not step.outputs:
                what = f"{again[0]} is given twice" if again else "it gives nothing"
                raise UsageError(f"model {self.name}, step {step.name}: {what}; name each array once")
            fault = arity_fault(step.operation, len(step.inputs), len(step.outputs)) if step.operation in MOVES else ""
            if fault:
                raise UsageError(f"model {self.name}, step {step.name}: {fault}")
            known |= set(step.outputs)
        lost = [n for n in self.outputs if n not in known]
        if lost or not self.outputs:
            what = lost[0] if lost else "an output"
            raise UsageError(f"model {self.name}: no step gives {what}; list what it returns")


def save(model: Model, path: Path) -> None:
    """Writes `path` (.json) and the arrays beside it (.npz)."""
    data = {"name": model.name, "steps": [asdict(s) for s in model.steps], "outputs": list(model.outputs)}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    np.savez(path.with_suffix(".npz"), **{n: np.asarray(a) for n, a in model.arrays.items()})  # type: ignore[arg-type]


def load(path: Path) -> Model:
    """Raises UsageError in one sentence where the files are no model."""
    beside = path.with_suffix(".npz")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        with np.load(beside, allow_pickle=False) as found:
            arrays = {n: np.array(found[n]) for n in found.files}
        steps = tuple(
            Step(
                str(s["name"]), str(s["operation"]), _names(s["inputs"]), _names(s["outputs"]),
                dict(s.get("parameters", {})),
            )
            for s in data["steps"]
        )  # fmt: skip
        return Model(str(data["name"]), arrays, steps, _names(data["outputs"]))
    except OSError as error:
        raise UsageError(
            f"cannot read the model {path} with its arrays {beside.name} beside it: {error.strerror or error}"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is not a model file: {type(error).__name__} {error}") from error


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file by name. Raises UsageError in one sentence."""
    try:
        with np.load(path, allow_pickle=False) as found:
            return {n: np.array(found[n]) for n in found.files}
    except OSError as error:
        raise UsageError(f"cannot read the arrays {path}: {error.strerror or error}") from error
    except (ValueError, AttributeError, TypeError) as error:
        raise UsageError(f"{path} is not a .npz file of arrays; write one with numpy.savez") from error


def _names(texts: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(str, texts))


def moved(step: Step, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """What a step that only moves numbers gives. UsageError where it cannot."""
    try:
        return move(step.operation, step.parameters, arrays)
    except (KeyError, TypeError, ValueError) as error:
        shapes = " and ".join(str(list(a.shape)) for a in arrays)
        raise UsageError(f"step {step.name} cannot {step.operation} {shapes}: {error}") from error
