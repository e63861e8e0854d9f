"""The certificate as one printable sheet: what, where, which level, what is not claimed, until when, how to verify.

The sheet proves nothing: it repeats a file, and says how to check that file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernel_contracts.classes import classes
from kernel_contracts.report.page import environment

LEVELS = {
    0: "nothing shown",
    1: "policies declared, behaviour observed",
    2: "measured by contracts that tell good kernels from silently bad ones",
    3: "also on held-out shapes, schedules and repetitions, with a 95% bound on failures",
    4: "also by an independent oracle, on a second platform or by a second assessor, and over versions",
}
_NEVER = (
    "speed, memory or energy",
    "inputs outside the preconditions of the contracts listed, and contracts that are not",
    "other platforms, and what the kernel's file imports",
)


def certificate_page(
    statement: Mapping[str, Any], keyids: Sequence[str], name: str, countersigned: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The sheet of a statement of the published schema. `name`: the certificate's file, as the command names it.

    `countersigned`: key, time, number of calls, machine and effect of each countersignature.
    """
    said = statement["predicate"]
    rows = [_row(c, countersigned) for c in said["contracts"]]
    lowest = min(r["reached"] for r in rows)
    awaiting = sorted({r["name"] for r in rows if r["reached"] < r["demanded"]})
    held = not said["refused"] and not awaiting
    text: str = environment().get_template("certificate.html").render(
        said=said, subjects=statement["subject"], keyids=keyids, name=name, lowest=lowest, held=held,
        words=LEVELS, countersigned=countersigned,
        rows=rows, awaiting=awaiting, platform=_platform(said["platform"]),
        refused=said["refused"], never=_NEVER, issued=_day(said["validity"]["issued"]),
        expires=_day(said["validity"]["expires"]),
    )  # fmt: skip
    return text


def _row(c: Mapping[str, Any], countersigned: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    grounds, known = c["grounds"], classes()
    bounds = [b for b in c["upper95"].values() if b is not None]
    return {
        **c,
        "reached": max([c["level"], *(s["lifts"].get((c["name"], c["dtypes"]), 0) for s in countersigned)]),
        "title": known[c["class"]].title if c["class"] in known else "",
        "evidence": _evidence(grounds),
        "bound": f"under {min(bounds):.2g}" if bounds else "no bound stated",
    }


def _evidence(grounds: Mapping[str, Any]) -> str:
    kinds = [(grounds["bounded"], "within a bound"), (grounds["exact"], "exact")]
    parts = [f"{n} {words}" for n, words in kinds if n]
    return ", ".join(parts) or "none counted"


def _platform(platform: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts that a buyer compares with their own machine. Fingerprints differ: what is not there is left out."""
    facts = platform["facts"]
    cpu = facts.get("cpu")
    model = cpu.get("model") if isinstance(cpu, Mapping) else cpu
    accelerator = facts.get("gpu") or facts.get("device")
    lines = [
        ("stack", f"{platform['stack']} {platform['stack_version']}"),
        ("processor", " ".join(str(x) for x in (facts.get("arch"), model) if x)),
        ("accelerator", _flat(accelerator)),
        ("system", " ".join(str(facts[k]) for k in ("os", "kernel", "libc") if facts.get(k))),
        ("runtime", f"Python {facts['python']}" if facts.get("python") else ""),
        ("fingerprint", str(platform["sha256"])[:16]),
    ]
    return [(k, v) for k, v in lines if v]


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {v}" for k, v in value.items() if isinstance(v, str | int | float))
    return str(value) if value else ""


def _day(stamp: str) -> str:
    return stamp.partition("T")[0]
