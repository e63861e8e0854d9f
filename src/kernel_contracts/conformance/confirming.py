"""A certificate against the run it was made from, and against a kernel's file: reasons not to believe it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from kernel_contracts.conformance import merkle
from kernel_contracts.conformance.beside import identity, opened, supported
from kernel_contracts.conformance.directory import MANIFEST, cell_path, trace_path
from kernel_contracts.conformance.drift import changed
from kernel_contracts.conformance.grounds import Held, calibration_path
from kernel_contracts.conformance.manifest import Cell, manifest_from
from kernel_contracts.conformance.profiles import APART
from kernel_contracts.conformance.readings import Reading, read
from kernel_contracts.conformance.verifying import Reason, alone
from kernel_contracts.errors import UsageError
from kernel_contracts.measurement.target import parse, sha256

Statement = Mapping[str, Any]


def against(
    statement: Statement, now: datetime, *, target: str = "", root: Path | None = None, beside: Sequence[Path] = ()
) -> Iterator[Reason]:
    """All that can be said without a measurement: of the certificate itself, of the kernel's file, of the run."""
    yield from alone(statement, now)
    if target:
        yield from kernel(statement, target)
    if root is not None:
        yield from evidence(statement, root)
        yield from run(statement, root, beside)


def kernel(statement: Statement, target: str) -> Iterator[Reason]:
    """Whether this is the kernel that was certified. UsageError where there is none."""
    file = target if target.endswith(".py") else parse(target).file
    found = sha256(file) if file else ""
    if not found:
        raise UsageError(f"--kernel {target} is no kernel in a file, and there is nothing to take a digest of")
    if found not in {s["digest"]["sha256"] for s in statement["subject"]}:
        yield Reason("kernel", f"{Path(file).name} is not the file that was certified")


def evidence(statement: Statement, root: Path) -> Iterator[Reason]:
    """The trace records of a run as they lie there, whatever its ledger says of them."""
    said = statement["predicate"]["evidence"]
    name = statement["predicate"]["platform"]["name"]
    try:
        manifest = manifest_from((root / MANIFEST).read_text("utf-8"), str(root / MANIFEST))
    except (OSError, ValueError) as error:
        raise UsageError(f"{root} is no run: its {MANIFEST} cannot be read; give a folder of kc run") from error
    lines: list[bytes] = []
    lost = False
    for cell in (c for c in manifest.cells if c.platform == name):
        place = root / trace_path(cell)
        lost = lost or not (root / cell_path(cell)).is_file()
        lines += place.read_bytes().splitlines() if place.is_file() else []
    if lost or len(lines) != said["records"]:
        yield Reason("evidence-missing", f"the run holds {len(lines)} records, and {said['records']} were certified")
    elif merkle.root(sorted(lines)) != said["sorted"]:
        yield Reason("evidence", "the records of the run are not those that were certified")
    elif merkle.root(lines) != said["root"]:
        yield Reason("evidence-order", "the records of the run stand in another order than when they were certified")


def run(statement: Statement, root: Path, beside: Sequence[Path] = ()) -> Iterator[Reason]:
    """What the run and those beside it say of the same contracts, everything counted and graded again."""
    try:
        (reading,), others = read([root]), opened(beside)
        cells = supported(reading, others)
    except UsageError as error:
        yield Reason("run", str(error))
        return
    predicate = statement["predicate"]
    if reading.directory.digests[MANIFEST] != predicate["evidence"]["manifest"]:
        yield Reason("run", "it is another run than the one certified")
        return
    certified = predicate["evidence"]["beside"]
    if sorted(identity(r) for r in others) != certified:
        yield Reason("beside", f"it draws on {len(certified)} other runs; name just those with --beside")
        return
    for entry in predicate["contracts"]:
        found = cells.get(Cell(predicate["platform"]["name"], entry["name"], entry["dtypes"]))
        if found is None:
            yield Reason("run", f"the run has no {entry['name']} {entry['dtypes']}")
        else:
            yield from _entry(reading, entry, found, predicate["platform"])
    yield from _left_out(predicate, cells)


def _left_out(predicate: Mapping[str, Any], cells: Mapping[Cell, Held]) -> Iterator[Reason]:
    """A contract is certified for every choice of dtypes that was measured, or not at all."""
    listed = {(e["name"], e["dtypes"]) for e in predicate["contracts"]}
    names = {name for name, _ in listed}
    for cell, h in cells.items():
        mine = cell.platform == predicate["platform"]["name"] and cell.contract in names
        if mine and (cell.contract, cell.dtypes) not in listed and h.grounds.verdict not in APART:
            said = f"{cell.contract} {cell.dtypes} {h.grounds.verdict} in the run, and the certificate leaves it out"
            yield Reason("verdict", said)


def _entry(reading: Reading, entry: Mapping[str, Any], h: Held, platform: Mapping[str, Any]) -> Iterator[Reason]:
    name = f"{entry['name']} {entry['dtypes']}"
    contract = reading.contract(entry["name"])
    digests = reading.directory.digests
    if contract.digest != entry["sha256"] or contract.version != entry["version"]:
        yield Reason("contract-text", f"the run measured another text of {entry['name']}")
    if h.grounds.verdict.value != entry["verdict"]:
        yield Reason("verdict", f"{name} {h.grounds.verdict} in the run, and is certified as {entry['verdict']}")
    elif h.grounds.as_json() != entry["grounds"]:
        yield Reason("level", f"the run holds other grounds for {name} than the certificate")
    if h.record["fingerprint"] != platform["sha256"]:
        yield Reason("platform", f"{name} was measured on another platform")
    if h.result["kernel"].get("sha256") != entry["kernel"]:
        yield Reason("subject", f"{name} was measured on another kernel")
    if (digests[cell_path(h.cell)], digests.get(calibration_path(h.cell))) != (entry["cell"], entry["calibration"]):
        yield Reason("run", f"the records of {name} are not those that were certified")


def here(statement: Statement, facts: Mapping[str, Any]) -> Iterator[Reason]:
    """Whether the certificate holds on a platform of these facts: one reason for each kind of change that voids it."""
    predicate = statement["predicate"]
    rule = predicate["validity"]
    classes = sorted({e["class"] for e in predicate["contracts"]} & set(rule["for_classes"]))
    for kind, words in changed(predicate["platform"]["facts"], facts).items():
        if classes and kind in rule["void_when_changed"]:
            more = f" and {len(words) - 1} more" if len(words) > 1 else ""
            said = f"void for {', '.join(classes)}, which are to be measured again here"
            yield Reason(f"{kind}-changed", f"{words[0]}{more}; {said}")
