"""Verdicts as JUnit XML, which every continuous integration server reads.

A violation or an under-specified contract is a failure, a fault of ours an error, what could not be decided is skipped.
Requirement: valid by junit-10.xsd, the schema of Jenkins' xUnit plugin; so places stand in the text of a failure, for
which that schema has no attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as ET

from kernel_contracts.report.items import FAILING, OPEN, Item


def junit(items: Sequence[Item]) -> str:
    """The document, one suite a platform."""
    whole = {k: v for k, v in _counted(items).items() if k != "skipped"}  # counted by suite alone
    root = ET.Element("testsuites", {"name": "kernel-contracts", **whole})
    ordered = sorted(items, key=lambda i: (i.platform, i.target))
    for (platform, target), some in groupby(ordered, key=lambda i: (i.platform, i.target)):
        mine = list(some)
        suite = ET.SubElement(root, "testsuite", {"name": f"{target} on {platform}", **_counted(mine)})
        for item in mine:
            _case(suite, item)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(suite: ET.Element, item: Item) -> None:
    case = ET.SubElement(
        suite, "testcase", classname=f"{item.class_id}.{item.contract}", name=item.title,
        time=f"{item.seconds:.3f}",
    )  # fmt: skip
    where = f"{item.place.path}:{item.place.line}" if item.place is not None else ""
    if item.verdict in FAILING:
        told = ET.SubElement(case, "failure", type=item.signature or item.verdict, message=item.story)
        told.text = "\n".join(filter(None, [item.verdict, where, item.story, item.replay]))
    elif item.verdict == "error":
        ET.SubElement(case, "error", type="error", message=item.reason).text = where or None
    elif item.verdict in OPEN:
        ET.SubElement(case, "skipped", message=f"{item.verdict}: {item.reason}")


def _counted(items: Sequence[Item]) -> dict[str, str]:
    verdicts = [i.verdict for i in items]
    return {
        "tests": str(len(items)),
        "failures": str(sum(v in FAILING for v in verdicts)),
        "errors": str(verdicts.count("error")),
        "skipped": str(sum(v in OPEN for v in verdicts)),
        "time": f"{sum(i.seconds for i in items):.3f}",
    }
