"""Verdicts as workflow commands, which GitHub's runners turn into annotations of the lines that they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernel_contracts.report.items import LEVELS, Item


def commands(items: Sequence[Item]) -> Iterator[str]:
    """A line each; the kernel's own file is named where there is one, for it is what a change touches."""
    for item in items:
        level = LEVELS.get(item.verdict)
        if level is None:
            continue
        place = item.kernel or item.place
        properties = {"title": f"{item.verdict}: {item.title}"}
        if place is not None and not place.path.startswith("/"):
            properties = {"file": place.path, "line": str(place.line), **properties}
        named = ",".join(f"{k}={_property(v)}" for k, v in properties.items())
        yield f"::{level} {named}::{_data(f'{item.class_id} on {item.platform}. {item.story} {item.replay}'.rstrip())}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
