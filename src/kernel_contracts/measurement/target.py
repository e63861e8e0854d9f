"""From the text a user types to the function it means: `path/to/file.py:function`, `package.module:Class.method`.

Any other file, `kernels.cl:entry` or `model.onnx`, is for the stack to open; here it is a path and a name.

Requirement: `parse` runs in the session and executes nothing; `resolve` runs the user's code, so only a worker calls
it. Every failure is a TargetError of one sentence with the place, the cause and the next step.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from kernel_contracts.errors import TargetError

_FORMS = "write path/to/file.py:function, package.module:function or a kernel file (kc list stacks)"


@dataclass(frozen=True, slots=True)
class Target:
    """A kernel by name."""

    text: str
    file: str
    """Absolute path; empty when a module is named."""
    module: str
    """Empty for a file that is not Python."""
    attribute: str
    """Dotted path inside the module, or the entry of another file."""

    @property
    def foreign(self) -> bool:
        """Whether the stack opens the file, not Python."""
        return not self.module


@dataclass(frozen=True, slots=True)
class Resolved:
    """A kernel at hand."""

    function: Callable[..., Any]
    name: str
    file: str
    parameters: tuple[str, ...]
    keywords: tuple[str, ...]
    accepts_any: bool


def parse(text: str, directory: str | Path = ".") -> Target:
    """The target that `text` names; file paths are taken from `directory` and must exist."""
    place, colon, attribute = text.rpartition(":")
    for file, entry in ((text, ""), (place, attribute)):
        path = Path(directory) / file
        if path.suffix not in ("", ".py") and path.is_file():
            return Target(text, str(path.resolve()), "", entry)
    if not colon and text.endswith(".py"):
        place, attribute = text, ""
    if not place:
        raise TargetError(f"target {text!r} names no function: {_FORMS}")
    is_file = place.endswith(".py") or "/" in place
    path = (Path(directory) / place).resolve()
    if is_file and not path.is_file():
        raise TargetError(f"target {text!r}: there is no file {path}; check the path")
    if not attribute or not all(part.isidentifier() for part in attribute.split(".")):
        hint = _defined(path) if is_file else ""
        raise TargetError(f"target {text!r} names no function{hint}: {_FORMS}")
    if is_file:
        return Target(text, str(path), path.stem, attribute)
    if not all(part.isidentifier() for part in place.split(".")):
        raise TargetError(f"target {text!r}: {place!r} is neither a Python file nor a module name; {_FORMS}")
    return Target(text, "", place, attribute)


def _defined(path: Path) -> str:
    """`; the file defines a, b`, from the syntax tree alone."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return ""
    names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
    return f" (the file defines {', '.join(names[:6])})" if names else ""


def sha256(file: str) -> str:
    """Digest of a file's bytes, empty when it cannot be read."""
    try:
        with open(file, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def resolve(target: Target) -> Resolved:
    """Imports the module and walks to the function."""
    module = _import(target)
    owner: Any = module
    found: Any = module
    for part in target.attribute.split("."):
        owner = found
        try:
            found = getattr(owner, part)
        except AttributeError:
            raise TargetError(_missing(target, owner, part)) from None
    if isinstance(owner, type) and isinstance(inspect.getattr_static(owner, part), FunctionType):
        found = _bound(target, owner, part)
    if isinstance(found, type) or not callable(found):
        what = "a class" if isinstance(found, type) else f"a {type(found).__name__}"
        raise TargetError(f"target {target.text!r} is {what}, not a function: name a function or a method of it")
    parameters, keywords, accepts_any = _signature(found)
    name = str(getattr(found, "__name__", target.attribute))
    return Resolved(found, name, target.file or _file_of(found, module), parameters, keywords, accepts_any)


def _import(target: Target) -> ModuleType:
    try:
        if not target.file:
            return importlib.import_module(target.module)
        # A stem that is taken already (json.py beside the standard library) must not replace the module in use.
        name = target.module if target.module not in sys.modules else f"kernel_under_test_{target.module}"
        spec = importlib.util.spec_from_file_location(name, target.file)
        if spec is None or spec.loader is None:
            raise TargetError(f"target {target.text!r}: {target.file} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    except TargetError:
        raise
    except BaseException as error:
        raise TargetError(_import_failure(target, error)) from None


def _import_failure(target: Target, error: BaseException) -> str:
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name == target.module.split(".")[0] and not target.file:
        return f"target {target.text!r}: there is no module {error.name}; install it, or run where it can be imported"
    if isinstance(error, SyntaxError):
        return f"target {target.text!r} cannot be imported: {type(error).__name__} in {error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename == target.file] or list(frames[-1:])
    place = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
    return f"target {target.text!r} cannot be imported: {what}{place}"


def _missing(target: Target, owner: Any, part: str) -> str:
    where = target.file or target.module
    public: Sequence[str] = [n for n in dir(owner) if not n.startswith("_")]
    close = difflib.get_close_matches(part, public, 3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(public[:8]) or 'no public names'}"
    return f"target {target.text!r}: {where} has no {part}; {hint}"


def _bound(target: Target, owner: type, part: str) -> Any:
    """A method of a class is called on an instance made without arguments."""
    try:
        return getattr(owner(), part)
    except Exception as error:
        raise TargetError(
            f"target {target.text!r}: {owner.__name__}() raised {type(error).__name__}: {error}; "
            f"make an instance in the module and name its method"
        ) from None


def _signature(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built-ins without a signature
        return (), (), False
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [p for p in parameters if p.kind not in stars]
    keywords = [p.name for p in named if p.kind is not inspect.Parameter.POSITIONAL_ONLY]
    accepts_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return tuple(p.name for p in named), tuple(keywords), accepts_any


def _file_of(function: Callable[..., Any], module: ModuleType) -> str:
    try:
        return inspect.getsourcefile(inspect.unwrap(function)) or str(getattr(module, "__file__", None) or "")
    except (TypeError, ValueError):
        return str(getattr(module, "__file__", None) or "")
