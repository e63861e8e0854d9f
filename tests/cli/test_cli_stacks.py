"""`kc list stacks`, `kc doctor`, and operations of a stack without a target."""

from __future__ import annotations

from pathlib import Path

import pytest
from kc import kc, one_sentence

from kernel_contracts.stacks.base import stacks


def test_every_stack_is_listed_with_its_variants() -> None:
    ended = kc("list", "stacks")
    assert ended.status == 0
    for name, stack in stacks().items():
        (line,) = [x for x in ended.out.splitlines() if x.split()[:1] == [name]]
        assert ("not installed: run: pip install" in line) == (not stack.available())
        for variant, settings in stack.variants.items() if stack.available() else ():
            key, value = next(iter(settings.items()))
            assert f"{name}@{variant} " in ended.out
            assert f"{key}={value}" in ended.out


def test_the_doctor_finds_numpy_sound_under_a_variant() -> None:
    ended = kc("doctor", "--stack", "numpy", "--stack", "numpy@one-thread")
    assert (ended.status, ended.err) == (0, "")
    assert [x.split(",")[0] for x in ended.out.splitlines()] == ["numpy: sound", "numpy@one-thread: sound"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("doctor", "--stack", "abacus"), "there is no stack 'abacus'"),
        (("doctor", "--stack", "numpy@abacus"), "numpy has no variant 'abacus'; it has one-thread"),
        (("check", "--as", "softmax", "--stack", "numpy@abacus"), "numpy has no variant 'abacus'; it has one-thread"),
        (("check", "builtin:softmaxx", "--as", "softmax"), "has no builtin softmaxx; did you mean `softmax`?"),
        (("check", "k.cl:entry", "--as", "softmax"), "there is no module k"),
        (("check", "./k.cl:entry", "--as", "softmax"), "there is no file"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kc(*arguments)
    assert ended.status == 2
    assert says in one_sentence(ended)


def test_a_builtin_needs_neither_target_nor_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--class", "C-PRC-03", "--dtype", "fp32", "--samples", "2", "--seed", "1")
    named, left_out = kc("check", "builtin:relu", *options), kc("check", "--as", "relu", *options)
    assert named.status == left_out.status == 0
    assert named.out.splitlines()[0] == left_out.out.splitlines()[0]
