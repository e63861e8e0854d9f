"""Verdicts as a summary in Markdown, for the page of a job or a comment on a change."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from kernel_contracts.report.items import FAILING, Item, counts

_MARKS = re.compile(r"([\\`*_\[\]|~])")


def markdown(items: Sequence[Item]) -> str:
    """What is wrong in full; what conforms folded away."""
    wrong = [i for i in items if i.verdict in FAILING or i.verdict == "error"]
    rest = [i for i in items if i not in wrong]
    lines = ["## Kernel contracts", "", f"{counts(items) or 'nothing was measured'}.", ""]
    if wrong:
        lines += ["| | platform | class | contract | signature | what happened |", "|---|---|---|---|---|---|"]
        for i in wrong:
            cells = (i.verdict, i.platform, i.class_id, i.title, i.signature, f"{i.detail}; {i.reason}".lstrip("; "))
            lines.append("| " + " | ".join(plain(c) for c in cells) + " |")
        again = [i.replay for i in wrong if i.replay]
        lines += ["", "Run it again:", "", *(f"    {_line(r)}" for r in again), ""] if again else [""]
    if rest:
        lines += ["<details><summary>" + html.escape(counts(rest)) + "</summary>", ""]
        lines += ["| | platform | class | contract | |", "|---|---|---|---|---|"]
        for i in rest:
            few = (i.verdict, i.platform, i.class_id, i.title, i.reason)
            lines.append("| " + " | ".join(plain(c) for c in few) + " |")
        lines += ["", "</details>", ""]
    return "\n".join(lines)


def plain(text: str) -> str:
    """Text that is shown as it is: nothing in it is markup."""
    escaped = html.escape(_line(text), quote=False).replace("@", "&#64;")  # `torch@one-thread` is nobody's name
    return _MARKS.sub(r"\\\1", escaped)


def _line(text: str) -> str:
    return " ".join(text.split())
