"""References written in Python on the array API standard, traced into the same programs.

`reference python "package.module:function"` calls the function once with traced arrays. It finds its functions where
the standard says, on `x.__array_namespace__()`, and may use operators and methods; every call adds a node, so the
three interpretations run through it as they do through a program of the language.
"""

from __future__ import annotations

import importlib
import importlib.util
import operator as op
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_contracts.contracts.traced import Traced
from kernel_contracts.contracts.values import problem
from kernel_contracts.errors import ArithmeticScopeError
from kernel_contracts.language import syntax

if TYPE_CHECKING:
    from kernel_contracts.contracts.expressions import Scope


def _load(reference: syntax.PythonReference) -> Callable[..., Any]:
    """The function that the reference names. ImportError or AttributeError when there is none."""
    module_name, _, attribute = reference.path.rpartition(":")
    if not module_name or not attribute:
        raise ImportError("it is not of the form module:function")
    if module_name.endswith(".py"):
        path = Path(reference.span.file).parent / module_name
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.exists():
            raise ImportError(f"{path.name} is not beside the contract")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(module_name)
    return op.attrgetter(attribute)(module)  # type: ignore[no-any-return]


#: The next step, by what went wrong.
_HINTS = {
    "cannot be loaded: ": 'write python "package.module:function", or python "file.py:function" for a file beside the '
    "contract",
    "raised ": "it takes the inputs in order, the parameters by name, and computes with functions of the array API",
}


def trace(reference: syntax.PythonReference, scope: Scope, inputs: list[str], count: int) -> list[int]:
    """The nodes that the function returns. Raises Problem when it cannot be loaded or leaves the language."""
    builder = scope.builder
    arrays = [Traced(builder, scope.names[n]) for n in inputs]
    scalars = {n: Traced(builder, i) for n, i in scope.names.items() if n not in inputs}
    did = "cannot be loaded: "
    try:
        function = _load(reference)
        did = "raised "
        result = function(*arrays, **scalars)
    except ArithmeticScopeError as error:
        raise problem("T304", reference.span, f'in "{reference.path}": {error}') from error
    except Exception as error:
        raise problem(
            "N216",
            reference.span,
            f'the reference "{reference.path}" {did}{type(error).__name__}: {error}',
            hint=_HINTS[did],
        ) from error
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != count or not all(isinstance(r, Traced) for r in results):
        raise problem(
            "T315",
            reference.span,
            f'the reference "{reference.path}" must return {count} array(s) computed from its arguments',
        )
    return [r.node for r in results]
