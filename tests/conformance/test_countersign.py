"""A second assessor: what their countersignature adds, and everything that makes it count for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import made_runs
import pytest
from made_runs import FINGERPRINT
from test_beside import before, full

from kernel_contracts.conformance import keys
from kernel_contracts.conformance.assessing import assessed, bundle, require_other
from kernel_contracts.conformance.assessment import Assessment, assessments, holds, recorded, regraded, unheard
from kernel_contracts.conformance.certificate import certify, sign
from kernel_contracts.conformance.levels import FEWEST
from kernel_contracts.conformance.profiles import profile_from
from kernel_contracts.conformance.readings import read
from kernel_contracts.conformance.rerunning import Rerun, possible, rerun
from kernel_contracts.conformance.showing import countersigned, statement_of
from kernel_contracts.conformance.verifying import alone, enveloped, opened, parts
from kernel_contracts.errors import UsageError
from kernel_contracts.report.records import schema
from kernel_contracts.report.sheet import certificate_page

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from kc import kc, one_sentence

ISSUED = datetime(2026, 6, 1, tzinfo=UTC)
AGAIN = ISSUED + timedelta(days=2)
NOW = ISSUED + timedelta(days=5)
PROFILE = "profile buyer version 1 {\n  values >= 1.0 at L4\n  shapes >= 1.0 at L3\n}\n"
CODE = b"def k(x):\n    return x + x\n"


@dataclass
class Scene:
    """A certificate that lacks nothing but an assessor, and the assessor's statement."""

    folder: Path
    first: str
    """The certificate's envelope."""
    said: dict[str, Any] = field(default_factory=dict)
    """The assessor's statement."""
    second: dict[str, Any] = field(default_factory=dict)
    """Its envelope."""

    @property
    def predicate(self) -> dict[str, Any]:
        found: dict[str, Any] = enveloped(self.first.encode())[1]["predicate"]
        return found

    def signed_again(self, key: str = "second") -> None:
        self.second = json.loads(sign(self.said, keys.signer(self.folder / key)))

    def forged(self) -> None:
        text = json.dumps(self.said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self.second["payload"] = base64.b64encode(text.encode()).decode()

    def text(self) -> str:
        return bundle([self.first.encode(), json.dumps(self.second).encode()])

    def found(self, *given: str) -> list[Assessment]:
        trusted = [keys.public(self.folder / f"{name}.pub") for name in given or ("first", "second")]
        envelopes = parts(self.text().encode())
        statement, reasons = opened(envelopes[0], *trusted)
        assert statement is not None
        assert reasons == []
        return assessments(envelopes, trusted, NOW)

    def names(self, *given: str) -> set[str]:
        (one,) = self.found(*given)
        return {r.name for r in one.reasons}


def done(statement: dict[str, Any], run: Path, calls: int = 100) -> Rerun:
    """As if so many calls of each contract had been made again and had held."""
    made = rerun(statement, run, calls, each=True)
    made.held, made.facts = list(made.calls), FINGERPRINT
    return made


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    (tmp_path / "k.py").write_bytes(CODE)
    monkeypatch.setattr(made_runs, "KERNEL", hashlib.sha256(CODE).hexdigest())
    (reading,) = read([made_runs.write(tmp_path / "mine", full())])
    others = read([before(tmp_path)])
    for name in ("first", "second", "third"):
        keys.make(tmp_path / name)
    statement = certify(reading, "mine", profile_from(PROFILE), days=30, now=ISSUED, beside=others).statement
    made = Scene(tmp_path, sign(statement, keys.signer(tmp_path / "first")))
    issuer = keys.public(tmp_path / "first.pub").keyid
    made.said = assessed(made.first.encode(), done(statement, tmp_path / "mine"), signed_by=issuer, now=AGAIN)
    made.signed_again()
    return made


def test_what_lacks_only_an_assessor_awaits_one(scene: Scene) -> None:
    said = scene.predicate
    assert said["awaiting"] == ["values"]
    assert said["refused"] == []
    assert not said["profile"]["held"]
    assert [(c["name"], c["level"], c["demanded"]) for c in said["contracts"]] == [("values", 3, 4), ("shapes", 3, 3)]
    assert list(alone(enveloped(scene.first.encode())[1], NOW)) == []
    assert not holds([], said)


def test_an_assessor_lifts_what_awaits_one(scene: Scene) -> None:
    found = scene.found()
    assert scene.names() == set()
    assert [regraded(found, c).level for c in scene.predicate["contracts"]] == [4, 4]
    assert holds(found, scene.predicate)
    (one,) = found
    assert (one.when, one.made, one.machine) == ("2026-06-03T00:00:00Z", 80, "Linux x86_64 made")
    jsonschema.Draft202012Validator(schema("assessment")).validate(scene.said)
    statement = enveloped(scene.first.encode())[1]
    assert recorded(found, possible(statement, scene.folder / "mine")) == found
    assert "level" not in json.dumps(scene.said)


def test_a_level_is_lifted_by_nothing_but_enough_calls(scene: Scene) -> None:
    records = scene.said["predicate"]["contracts"][0]["records"]
    for count, level in ((FEWEST - 1, 3), (FEWEST, 4)):
        scene.said["predicate"]["contracts"][0]["records"] = records[:count]
        scene.signed_again()
        assert scene.names() == set()
        assert [regraded(scene.found(), c).level for c in scene.predicate["contracts"]] == [level, 4]
        assert holds(scene.found(), scene.predicate) is (level == 4)


def test_an_assessor_does_not_stand_for_other_evidence(tmp_path: Path) -> None:
    """Without a history, no countersignature reaches the highest level, and nothing awaits one."""
    (reading,) = read([made_runs.write(tmp_path / "mine", full())])
    made = certify(reading, "mine", profile_from(PROFILE), days=30, now=ISSUED)
    said = made.statement["predicate"]
    assert said["awaiting"] == []
    assert [r["contract"] for r in said["refused"]] == ["values"]
    assert not made.whole


Change = Callable[[dict[str, Any]], object]


def _first(s: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = s["predicate"]["contracts"][0]
    return found


def _twice(s: dict[str, Any]) -> None:
    s["predicate"]["contracts"].append(_first(s))


def _nothing(s: dict[str, Any]) -> None:
    for made in s["predicate"]["contracts"]:
        made["records"] = []


TAMPERED: dict[str, tuple[Change, str]] = {
    "another certificate": (lambda s: s["subject"][0]["digest"].update(sha256="b" * 64), "assessor-subject"),
    "another first signer": (lambda s: s["predicate"].update(signed_by="b" * 64), "assessor-subject"),
    "another kernel": (lambda s: _first(s).update(kernel="b" * 64), "assessor-kernel"),
    "another contract": (lambda s: _first(s).update(name="better"), "assessor-contracts"),
    "other dtypes": (lambda s: _first(s).update(dtypes="fp16"), "assessor-contracts"),
    "one contract twice": (_twice, "assessor-contracts"),
    "a call twice": (lambda s: _first(s).update(records=[0, 0, *range(1, 30)]), "assessor-records"),
    "calls of another contract": (lambda s: _first(s).update(records=list(range(45, 75))), "assessor-records"),
    "nothing made again": (_nothing, "assessor-nothing"),
    "another machine": (lambda s: s["predicate"]["platform"]["facts"].update(arch="riscv"), "assessor-platform"),
    "before it was issued": (lambda s: s["predicate"].update(when="2026-05-31T23:59:59Z"), "assessor-time"),
    "after it ended": (lambda s: s["predicate"].update(when="2026-07-01T00:00:00Z"), "assessor-time"),
    "in the future": (lambda s: s["predicate"].update(when="2026-06-20T00:00:00Z"), "assessor-time"),
    "no time": (lambda s: s["predicate"].update(when="2026-06-31T00:00:00Z"), "assessor-time"),
    "a level typed": (lambda s: s["predicate"].update(level=4), "assessor-schema"),
    "a certificate": (lambda s: s.update(predicateType="urn:kernel-contracts:conformity:1"), "assessor-schema"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_changed_words_count_for_nothing_with_and_without_the_key(what: str, scene: Scene) -> None:
    change, name = TAMPERED[what]
    change(scene.said)
    scene.forged()
    assert {"assessor-signature", name} <= scene.names()
    scene.signed_again()
    assert scene.names() == {name}
    assert [regraded(scene.found(), c).level for c in scene.predicate["contracts"]] == [3, 3]
    trusted = [keys.public(scene.folder / f"{n}.pub").keyid for n in ("first", "second")]
    heard = unheard(scene.found(), enveloped(scene.first.encode())[0].signatures, trusted)
    assert {r.name for r in heard} == {name}


def test_the_first_signer_is_no_second_assessor(scene: Scene) -> None:
    scene.signed_again("first")
    assert scene.names() == {"assessor-same-key"}
    assert scene.names("first") == {"assessor-same-key"}
    ours = keys.public(scene.folder / "second.pub").keyid
    scene.second["signatures"][0]["keyid"] = ours
    assert scene.names() == {"assessor-signature"}


def test_a_key_that_was_not_given_counts_for_nothing(scene: Scene) -> None:
    scene.signed_again("third")
    found = scene.found()
    assert scene.names() == {"assessor-key"}
    trusted = [keys.public(scene.folder / f"{n}.pub").keyid for n in ("first", "second")]
    signed = enveloped(scene.first.encode())[0].signatures
    assert [r.name for r in unheard(found, signed, trusted)] == ["assessor-missing"]
    assert list(unheard(found, signed, trusted[:1])) == []
    assert scene.names("first", "third") == set()


def test_one_assessor_is_one_signature(scene: Scene) -> None:
    mine = scene.second["signatures"]
    scene.signed_again("third")
    scene.second["signatures"] += mine
    assert scene.names("first", "second", "third") == {"assessor-format"}
    scene.second["signatures"] = []
    assert scene.names() == {"assessor-format"}


def test_another_type_of_envelope_counts_for_nothing(scene: Scene) -> None:
    scene.second["payloadType"] = "application/json"
    assert scene.names() == {"assessor-envelope-type", "assessor-signature"}


def test_text_that_is_not_canonical_counts_for_nothing(scene: Scene) -> None:
    payload = base64.b64decode(scene.second["payload"])
    scene.second["payload"] = base64.b64encode(payload.replace(b'":', b'": ', 1)).decode()
    assert scene.names() == {"assessor-signature", "assessor-canonical"}


def test_a_countersignature_does_not_move_to_another_certificate(scene: Scene) -> None:
    statement = enveloped(scene.first.encode())[1]
    statement["predicate"]["validity"].update(days=29, expires="2026-06-30T00:00:00Z")
    scene.first = sign(statement, keys.signer(scene.folder / "first"))
    assert scene.names() == {"assessor-subject"}


@pytest.mark.parametrize("text", ["{", "[]", "{}", '"x"', '{"payload": 1, "payloadType": "x", "signatures": []}'])
def test_what_is_no_countersignature_is_said_to_be_none(text: str, scene: Scene) -> None:
    data = bundle([scene.first.encode()]) + text + "\n"
    given = [keys.public(scene.folder / "first.pub")]
    (found,) = assessments(parts(data.encode()), given, NOW)
    assert [r.name for r in found.reasons] == ["assessor-format"]


def test_calls_that_nobody_could_make_again_count_for_nothing(scene: Scene) -> None:
    statement = enveloped(scene.first.encode())[1]
    able = possible(statement, scene.folder / "mine")
    assert able == frozenset(range(80))
    (one,) = recorded(scene.found(), able - {7})
    assert [r.name for r in one.reasons] == ["assessor-records"]


def test_whoever_signed_before_is_told_so(scene: Scene) -> None:
    envelopes = parts(scene.text().encode())
    for name, words in (("first", "the certificate already"), ("second", "a countersignature of it already")):
        with pytest.raises(UsageError, match=words):
            require_other(envelopes, keys.public(scene.folder / f"{name}.pub").keyid)
    require_other(envelopes, keys.public(scene.folder / "third.pub").keyid)
    with pytest.raises(UsageError, match="cannot be read"):
        require_other([envelopes[0], b"{}"], "k")
    nothing = done(enveloped(envelopes[0])[1], scene.folder / "mine")
    nothing.held = []
    with pytest.raises(UsageError, match="no call was made again"):
        assessed(envelopes[0], nothing, signed_by="b" * 64, now=AGAIN)


def test_the_sheet_shows_who_countersigned(scene: Scene) -> None:
    place = scene.folder / "both.json"
    place.write_text(scene.text())
    text = certificate_page(*statement_of(place), place.name, countersigned(place))
    for words in ("Countersigned", "on 2026-06-03, 80 calls made again on Linux x86_64 made", "values fp32 to L4"):
        assert words in text, words
    assert "kc verify both.json --pub KEY.pub --pub ASSESSOR.pub" in text
    assert "mine holds profile buyer 1, countersigned" in text
    assert "Awaits a second assessor" not in text
    scene.said["predicate"]["platform"]["facts"]["arch"] = "riscv"
    scene.signed_again()
    place.write_text(scene.text())
    assert countersigned(place) == []
    text = certificate_page(*statement_of(place), place.name, countersigned(place))
    assert "does not hold all of" in text
    assert "Awaits a second assessor" in text


KERNEL = """from pathlib import Path

import numpy as np


def total(x):
    return np.sum(x, axis=-1, dtype=x.dtype) + np.float32(Path(__file__).with_name("more.txt").read_text())
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a real kernel, its certificate, and the assessor's key."""
    folder = tmp_path_factory.mktemp("countersigned")
    (folder / "sums.py").write_text(KERNEL)
    (folder / "more.txt").write_text("0")
    (folder / "p.kc").write_text("profile p version 1 {\n  sum-shapes >= 1.0 at L1\n}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        what = ("sum", "--class", "C-CMP-03", "--dtype", "fp32", "--samples", 36, "--seed", 1)
        assert kc("run", *what, "--kernel", "mine=sums.py:total", "-o", "run").status == 0
        assert kc("keygen", "-o", "first").status == kc("keygen", "-o", "second").status == 0
        made = kc("certify", "run", "--profile", "p.kc", "--key", "first", "-o", "cert.json")
        assert made.status == 0, made.err
    return folder


HOW = ("--pub", "first.pub", "--key", "second", "--run", "run", "-o")


def test_calls_are_made_again_and_signed(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    signed = kc("countersign", "cert.json", *HOW, "both.json")
    assert signed.status == 0, signed.out + signed.err
    assert "countersigned with second on " in signed.out
    for more in ((), ("--run", "run")):
        ended = kc("verify", "both.json", "--pub", "first.pub", "--pub", "second.pub", *more)
        assert ended.status == 0, ended.out + ended.err
        assert "signed with first.pub\n" in ended.out
        assert "countersigned with second.pub on " in ended.out
        assert ended.out.endswith("valid\n")
    alone_ = kc("verify", "both.json", "--pub", "first.pub")
    assert alone_.status == 0
    assert "not counted  assessor-key" in alone_.out
    asked = kc("verify", "cert.json", "--pub", "first.pub", "--pub", "second.pub")
    assert (asked.status, asked.out.startswith("invalid  assessor-missing: ")) == (1, True)
    assert "already" in one_sentence(kc("countersign", "both.json", *HOW, "third.json"))
    again = kc("countersign", "cert.json", "--pub", "first.pub", "--key", "first", "--run", "run", "-o", "x.json")
    assert (again.status, "signed the certificate already" in again.err) == (2, True)


def test_what_fails_here_is_not_signed(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    (built / "more.txt").write_text("1")
    try:
        ended = kc("countersign", "cert.json", *HOW, "bad.json")
    finally:
        (built / "more.txt").write_text("0")
    assert (ended.status, "invalid  rerun: " in ended.out) == (1, True)
    assert not (built / "bad.json").exists()


def test_another_file_is_not_the_certified_kernel(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    (built / "sums.py").write_text(KERNEL + "\n")
    try:
        ended = kc("countersign", "cert.json", *HOW, "bad.json")
    finally:
        (built / "sums.py").write_text(KERNEL)
    assert (ended.status, "invalid  kernel: " in ended.out) == (1, True)
    assert not (built / "bad.json").exists()


def test_evidence_that_was_changed_is_not_signed(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    place = next((built / "run" / "traces").rglob("*.jsonl"))
    text = place.read_text("utf-8")
    place.write_text("\n".join(text.splitlines()[1:]) + "\n")
    try:
        ended = kc("countersign", "cert.json", *HOW, "bad.json")
    finally:
        place.write_text(text)
    assert (ended.status, "invalid  evidence-missing: " in ended.out) == (1, True)
    assert not (built / "bad.json").exists()
