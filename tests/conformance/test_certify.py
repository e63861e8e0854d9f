"""Certificates: a valid one, and everything that can be changed about one, each refused by its own name."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import made_runs
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from made_runs import usual

from kernel_contracts.conformance import confirming, keys, merkle
from kernel_contracts.conformance.certificate import certify, sign
from kernel_contracts.conformance.profiles import profile_from
from kernel_contracts.conformance.readings import read
from kernel_contracts.conformance.verifying import alone, opened
from kernel_contracts.errors import UsageError

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PROFILE = "profile buyer version 1 {\n  values >= 1.0 at L3\n  shapes >= 1.0 at L2\n}\n"
EASIER = PROFILE.replace("L3", "L1")
CODE = b"def k(x):\n    return x + x\n"


@dataclass
class Scene:
    """A run, its kernel, keys and a certificate of it."""

    folder: Path
    statement: dict[str, Any]
    envelope: dict[str, Any]

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def kernel(self) -> Path:
        return self.folder / "k.py"

    def signed_again(self) -> None:
        self.envelope = json.loads(sign(self.statement, keys.signer(self.folder / "key")))

    def forged(self) -> None:
        """What somebody without the key can do: other words under the old signature."""
        text = json.dumps(self.statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self.envelope["payload"] = base64.b64encode(text.encode()).decode()

    def reasons(self, pub: str = "key.pub", now: datetime = NOW) -> set[str]:
        data = json.dumps(self.envelope).encode()
        statement, found = opened(data, keys.public(self.folder / pub))
        if statement is not None:
            found += alone(statement, now)
            found += confirming.kernel(statement, str(self.kernel))
            found += [*confirming.evidence(statement, self.run), *confirming.run(statement, self.run)]
        return {r.name for r in found}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    (tmp_path / "k.py").write_bytes(CODE)
    monkeypatch.setattr(made_runs, "KERNEL", hashlib.sha256(CODE).hexdigest())
    made_runs.write(tmp_path / "run", usual())
    keys.make(tmp_path / "key")
    found = certify(read([tmp_path / "run"])[0], "mine", profile_from(PROFILE), days=30, now=NOW)
    made = Scene(tmp_path, found.statement, {})
    made.signed_again()
    return made


def test_an_honest_certificate_is_valid(scene: Scene) -> None:
    assert scene.reasons() == set()
    said = scene.statement["predicate"]
    assert said["profile"]["held"]
    assert [(c["name"], c["level"]) for c in said["contracts"]] == [("values", 3), ("shapes", 3)]
    assert said["evidence"]["records"] == 160


Tamper = Callable[[dict[str, Any]], object]


def _profile_swapped(s: dict[str, Any]) -> None:
    other = profile_from(EASIER)
    s["predicate"]["profile"] |= {"text": other.text, "sha256": other.digest}


TAMPERED: dict[str, tuple[Tamper, str]] = {
    "verdict": (lambda s: s["predicate"]["contracts"][0].update(verdict="inconclusive"), "verdict"),
    "digest": (lambda s: s["subject"][0]["digest"].update(sha256="b" * 64), "subject"),
    "platform": (lambda s: s["predicate"]["platform"]["facts"]["cpu"].update(model="faster"), "platform"),
    "contract text": (
        lambda s: s["predicate"]["contracts"][0].update(text=s["predicate"]["contracts"][0]["text"] + " "),
        "contract-text",
    ),
    "expiry": (lambda s: s["predicate"]["validity"].update(expires="2036-01-01T00:00:00Z"), "expiry"),
    "level raised": (lambda s: s["predicate"]["contracts"][0].update(level=4), "level"),
    "profile swapped": (_profile_swapped, "profile"),
    "a field more": (lambda s: s["predicate"].update(praise="best"), "schema"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_changed_words_are_refused_by_name_with_and_without_the_key(what: str, scene: Scene) -> None:
    change, name = TAMPERED[what]
    change(scene.statement)
    scene.forged()
    assert {"signature", name} <= scene.reasons()
    scene.signed_again()
    found = scene.reasons()
    assert name in found
    assert "signature" not in found


def test_a_changed_byte_of_the_kernel_is_refused(scene: Scene) -> None:
    scene.kernel.write_bytes(CODE.replace(b"x + x", b"x * x"))
    assert scene.reasons() == {"kernel"}


def test_the_key_of_somebody_else_is_refused(scene: Scene) -> None:
    keys.make(scene.folder / "other")
    assert scene.reasons(pub="other.pub") == {"key"}
    ours = scene.envelope["signatures"][0]["keyid"]
    scene.envelope = json.loads(sign(scene.statement, keys.signer(scene.folder / "other")))
    assert scene.reasons() == {"key"}
    scene.envelope["signatures"][0]["keyid"] = ours
    assert scene.reasons() == {"signature"}


def test_another_type_of_envelope_is_refused(scene: Scene) -> None:
    scene.envelope["payloadType"] = "application/json"
    assert scene.reasons() == {"envelope-type", "signature"}


def _rewrite(scene: Scene, change: Callable[[list[str]], list[str]], *, ledger: bool) -> None:
    """Changes a trace, and with `ledger` the run's own list of digests, as one who covers up would."""
    place = scene.run / "traces/mine/values/fp32.jsonl"
    old = hashlib.sha256(place.read_bytes()).hexdigest()
    place.write_text("\n".join(change(place.read_text("utf-8").splitlines())) + "\n", encoding="utf-8")
    if ledger:
        index = scene.run / "digests.jsonl"
        new = hashlib.sha256(place.read_bytes()).hexdigest()
        index.write_text(index.read_text("utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda lines: lines[::-1], "evidence-order"),
        (lambda lines: lines[1:], "evidence-missing"),
        (lambda lines: [lines[0].replace('"size": 8', '"size": 9'), *lines[1:]], "evidence"),
    ],
    ids=["reordered", "dropped", "changed"],
)
def test_other_evidence_is_refused(
    change: Callable[[list[str]], list[str]], name: str, ledger: bool, scene: Scene
) -> None:
    _rewrite(scene, change, ledger=ledger)
    found = scene.reasons()
    assert name in found
    assert ("run" in found) is not ledger


def test_invented_grounds_are_refused_where_the_run_is_there(scene: Scene) -> None:
    """Words that agree with each other and are signed with the right key, but are not what the run holds."""
    scene.statement["predicate"]["contracts"][0]["grounds"]["reason"] = "invented"
    scene.signed_again()
    assert scene.reasons() == {"level"}


def test_a_choice_of_dtypes_cannot_be_left_out(scene: Scene) -> None:
    scene.statement["predicate"]["contracts"][0]["dtypes"] = "fp16"
    scene.signed_again()
    assert scene.reasons() == {"run", "verdict"}


def test_an_expired_certificate_is_refused(scene: Scene) -> None:
    assert scene.reasons(now=NOW + timedelta(days=30)) == {"expired"}
    assert scene.reasons(now=NOW - timedelta(days=1)) == {"expired"}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"payload": 1, "payloadType": "x", "signatures": []}', "[" * 9999]
)
def test_what_is_no_certificate_is_said_to_be_none(text: str, scene: Scene) -> None:
    statement, found = opened(text.encode(), keys.public(scene.folder / "key.pub"))
    assert statement is None
    assert [r.name for r in found] == ["format"]


@pytest.mark.parametrize("verdict", ["violates", "under-specified"])
def test_what_is_violated_or_open_is_never_certified(verdict: str, tmp_path: Path) -> None:
    cells = usual()
    cells["values"].verdict = verdict
    (reading,) = read([made_runs.write(tmp_path / "run", cells)])
    found = certify(reading, "mine", profile_from(EASIER), days=1, now=NOW)
    said = found.statement["predicate"]
    assert [c["name"] for c in said["contracts"]] == ["shapes"]
    assert said["refused"][0]["contract"] == "values"
    assert f"made: {verdict}" in said["refused"][0]["why"]
    assert not said["profile"]["held"]
    with pytest.raises(UsageError, match="nothing of profile p can be certified"):
        certify(reading, "mine", profile_from("profile p version 1 {\n  values >= 1 at L1\n}\n"), days=1, now=NOW)


def test_keys_are_for_their_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys.make(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="never overwritten"):
        keys.make(tmp_path / "key")
    monkeypatch.setenv(keys.VARIABLE, (tmp_path / "key").read_text())
    assert keys.signer(None).public_key.keyid == keys.public(tmp_path / "key.pub").keyid
    monkeypatch.setenv(keys.VARIABLE, "a secret that is no key")
    with pytest.raises(UsageError) as wrong:
        keys.signer(None)
    assert "secret" not in str(wrong.value)
    curve = ec.generate_private_key(ec.SECP256R1())
    pem = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    monkeypatch.setenv(keys.VARIABLE, pem)
    with pytest.raises(UsageError, match="no Ed25519 private key"):
        keys.signer(None)
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(UsageError, match="others may read"):
        keys.signer(tmp_path / "key")


def test_the_root_is_that_of_the_standard() -> None:
    """Against the recursive definition of RFC 9162, 2.1.1."""

    def defined(d: list[bytes]) -> bytes:
        if len(d) == 1:
            return hashlib.sha256(b"\x00" + d[0]).digest()
        k = 1
        while k * 2 < len(d):
            k *= 2
        return hashlib.sha256(b"\x01" + defined(d[:k]) + defined(d[k:])).digest()

    for n in range(1, 40):
        records = [bytes([i]) * i for i in range(n)]
        assert merkle.root(records) == defined(records).hex()
    assert merkle.root([]) == hashlib.sha256(b"").hexdigest()
