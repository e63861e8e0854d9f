"""Collects the commands and turns errors into one clear sentence and an exit status.

0 all applicable contracts conform, 1 a violation or an under-specified contract, 2 usage, language or target error,
3 nothing could be decided, 4 our own error.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from tempfile import gettempdir

import typer

from kernel_contracts.cli import (
    calibrate,
    certify,
    check,
    compare,
    countersign,
    doctor,
    files,
    freivalds,
    inspect,
    level,
    model,
    replay,
    report,
    run,
    show,
    tolerance,
    tree,
    verify,
)
from kernel_contracts.errors import KernelContractsError, LanguageError
from kernel_contracts.heap import keep_freed_memory

app = typer.Typer(
    name="kc",
    help="Kernel Contracts: say what a kernel computes, measure whether it does, get a verdict with a reason.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (
    check,
    run,
    compare,
    level,
    certify,
    countersign,
    verify,
    report,
    model,
    calibrate,
    inspect,
    show,
    files,
    tolerance,
    replay,
    tree,
    freivalds,
    doctor,
):
    module.register(app)


#: Exit status after Ctrl-C, as shells have it.
_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """The entry point. Never shows a traceback."""
    keep_freed_memory()
    try:
        status = app(args=arguments, standalone_mode=False) or 0
        if status == _INTERRUPTED:  # the parser's word for Ctrl-C
            raise KeyboardInterrupt
        sys.exit(status)
    except (typer.Abort, KeyboardInterrupt):
        print("kc: interrupted; what was finished is written", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except LanguageError as error:
        print(str(error), file=sys.stderr)
        sys.exit(2)
    except KernelContractsError as error:
        print(f"kc: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        _usage_or_own(error)


def _usage_or_own(error: Exception) -> None:
    """The parser's complaints are usage errors; anything else is a fault of ours, kept in a file."""
    message = getattr(error, "format_message", None)
    if callable(message):
        print(f"kc: {message()}", file=sys.stderr)
        sys.exit(2)
    path = Path(gettempdir()) / "kc-error.txt"
    path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    print(
        f"kc: an error of our own, {type(error).__name__}: {error}; please report it with the file {path}",
        file=sys.stderr,
    )
    sys.exit(4)
