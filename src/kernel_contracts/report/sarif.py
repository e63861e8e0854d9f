"""Verdicts as SARIF 2.1.0 (OASIS standard), which code hosts show beside the lines that they are about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from kernel_contracts.report.items import LEVELS, Item, Place
from kernel_contracts.version import VERSION

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_GENERAL = {
    "violates": "The kernel breaks a clause of its contract.",
    "under-specified": "No clause of the contract covers what was seen.",
    "inconclusive": "The measurement could not decide.",
    "error": "The measurement itself failed.",
}


def sarif(items: Sequence[Item]) -> str:
    """The document: one result for each verdict that somebody has to look at, its signature as its rule."""
    shown = [i for i in items if i.verdict in LEVELS]
    rules = {_rule(i): i for i in reversed(shown)}
    names = sorted(rules)
    driver = {
        "name": "kernel-contracts",
        "version": VERSION,
        "rules": [_described(name, rules[name]) for name in names],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(i, names) for i in shown],
        "properties": {"contracts": len(items), "conforming": sum(i.verdict == "conforms" for i in items)},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(item: Item) -> str:
    return item.signature or item.verdict


def _described(name: str, item: Item) -> dict[str, Any]:
    text = item.explanation or _GENERAL[item.verdict]
    return {
        "id": name,
        "shortDescription": {"text": text},
        "help": {"text": f"{text} `kc explain {name}` says more." if item.signature else text},
        "defaultConfiguration": {"level": LEVELS[item.verdict]},
    }


def _result(item: Item, names: Sequence[str]) -> dict[str, Any]:
    words = f"{item.target} on {item.platform} {item.verdict}: {item.title} ({item.class_id}). {item.story}"
    found: dict[str, Any] = {
        "ruleId": _rule(item),
        "ruleIndex": names.index(_rule(item)),
        "level": LEVELS[item.verdict],
        "message": {"text": f"{words} {item.replay}".rstrip()},
        "partialFingerprints": {"kernelContract/v1": item.fingerprint},
        "properties": {
            "contract": item.contract, "version": item.version, "class": item.class_id, "dtypes": item.dtypes,
            "platform": item.platform, "digest": item.digest,
        },
    }  # fmt: skip
    if item.place is not None:
        found["locations"] = [_location(item.place)]
        if item.kernel is not None:
            found["relatedLocations"] = [{"id": 1, "message": {"text": "the kernel"}, **_location(item.kernel)}]
    elif item.kernel is not None:
        found["locations"] = [_location(item.kernel)]
    return found


def _location(place: Place) -> dict[str, Any]:
    path = PurePosixPath(place.path)
    uri = path.as_uri() if path.is_absolute() else quote(place.path)
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line}}}
