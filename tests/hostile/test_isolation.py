"""What a worker has given up before a kernel runs, and what an honest kernel keeps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from kernel_contracts.contracts.evidence import Outcome
from kernel_contracts.measurement.calls import ArrayIn
from kernel_contracts.measurement.enclosure import SHARED, without_secrets
from kernel_contracts.measurement.process import Kernel

PRYING = '''
import os, pathlib, socket, tempfile, threading

import numpy as np

import kernel_contracts


def outside(x):
    """1 where a host outside answers or may be asked."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
        except OSError:
            return np.zeros(1)
    return np.ones(1)


def loopback(x):
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), 5) as client, server.accept()[0] as met:
            client.sendall(b"x")
            return np.asarray([float(met.recv(1) == b"x")])


def judge_files(x):
    """1 where a file of the judge can be written."""
    path = pathlib.Path(kernel_contracts.__file__).parent / "left_by_a_kernel.txt"
    try:
        path.write_text("x")
    except OSError:
        return np.zeros(1)
    path.unlink()
    return np.ones(1)


def session_memory(x):
    """How many of these can be read of what started this process, and of what started that, which is the session or
    what started it: memory, environment, mappings."""
    readable, process = 0, os.getppid()
    for _ in range(2):
        for name in ("mem", "environ", "maps"):
            try:
                with open(f"/proc/{process}/{name}", "rb") as stream:
                    readable += name == "mem" or bool(stream.read(1))
            except OSError:
                continue
        with open(f"/proc/{process}/stat") as stream:
            process = int(stream.read().rpartition(")")[2].split()[1])
    return np.asarray([float(readable)])


def secrets(x):
    return np.asarray([float("MY_API_KEY" in os.environ), float("MY_SETTING" in os.environ)])


def ordinary_needs(x):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "cache").write_text("x")
    done = []
    thread = threading.Thread(target=done.append, args=(1,))
    thread.start()
    thread.join()
    return np.asarray([float(done == [1])])
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prying") / "prying.py"
    path.write_text(PRYING, encoding="utf-8")
    return path


def answer(file: Path, name: str, environment: Mapping[str, str] | None = None) -> tuple[np.ndarray, Mapping[str, str]]:
    with Kernel(f"{file}:{name}", environment=environment) as kernel:
        facts = kernel.load().fingerprint["isolation"]
        result = kernel.call([ArrayIn("x", np.zeros(1))])
    assert result.outcome is Outcome.RETURNED, result.detail
    return result.outputs[0], facts


@pytest.mark.parametrize(
    ("kernel", "fact", "closed"),
    [("outside", "network", "none"), ("judge_files", "judge_files", "read-only"),
     ("session_memory", "session_memory", "out of reach")],
)  # fmt: skip
def test_what_the_fingerprint_says_holds(file: Path, kernel: str, fact: str, closed: str) -> None:
    seen, facts = answer(file, kernel)
    if facts[fact] != closed:
        pytest.skip(f"this system lets a process keep it: {fact} is {facts[fact]}")
    assert seen.tolist() == [0.0]


@pytest.mark.parametrize("kernel", ["loopback", "ordinary_needs"])
def test_an_honest_kernel_keeps_what_it_needs(file: Path, kernel: str) -> None:
    assert answer(file, kernel)[0].tolist() == [1.0]


def test_credentials_stay_behind_unless_they_are_given(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "secret")
    monkeypatch.setenv("MY_SETTING", "1")
    assert answer(file, "secrets")[0].tolist() == [0.0, 1.0]
    assert answer(file, "secrets", {"MY_API_KEY": "given"})[0].tolist() == [1.0, 1.0]


def test_names_of_credentials() -> None:
    kept = {"PATH": "", "TOKENIZERS_PARALLELISM": "", "KEYBOARD": "", "MONKEY_KEY": ""}
    hidden = {"HF_TOKEN": "", "AWS_SECRET_ACCESS_KEY": "", "db_password": "", "GITHUB_TOKEN": "", "OPENAI_API_KEY": ""}
    assert without_secrets({**kept, **hidden}) == kept


def test_ranks_share_their_network(file: Path) -> None:
    assert answer(file, "loopback", {SHARED: "1"})[1]["network"] == "shared"
    assert SHARED not in os.environ
