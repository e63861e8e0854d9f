"""Witnesses of failures that these tests cause go to a folder of the test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def witnesses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "witness"
    monkeypatch.setenv("KC_WITNESS_DIR", str(folder))
    return folder
