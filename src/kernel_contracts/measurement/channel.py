"""Control messages between a session and its worker: JSON lines that carry a secret word.

Requirement: nothing that arrives is trusted or executed. A line that is too long, does not parse or lacks the word
is `Tampered`. Arrays never travel here (see `exchange`).
"""

from __future__ import annotations

import json
import os
from typing import Any

_LIMIT = 1 << 20
"""Longest accepted line in bytes; the longest honest one is a few kilobytes."""


class Tampered(Exception):
    """Something other than the worker's own code wrote on the control channel."""


class Channel:
    """Two pipe ends. One side sends the first line, which gives the word; from then on every line must carry it."""

    def __init__(self, read_fd: int, write_fd: int, nonce: str = "") -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self._nonce = nonce
        self._buffer = bytearray()

    def encode(self, message: dict[str, Any]) -> bytes:
        """A line ready to write; apart from `write` so that nothing is allocated between the two."""
        return json.dumps({**message, "nonce": self._nonce}, separators=(",", ":")).encode() + b"\n"

    def write(self, line: bytes) -> None:
        done = 0
        while done < len(line):
            done += os.write(self.write_fd, line[done:])

    def send(self, message: dict[str, Any]) -> None:
        self.write(self.encode(message))

    def pump(self, most: int = 1 << 16) -> bool:
        """Reads what is there, waiting for at least one byte; False when the other side has closed."""
        chunk = os.read(self.read_fd, most)
        self._buffer += chunk
        if len(self._buffer) > _LIMIT:
            raise Tampered("a message without an end")
        return bool(chunk)

    def take(self) -> dict[str, Any] | None:
        """The next whole message, None when there is none yet."""
        end = self._buffer.find(b"\n")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Tampered("a message that does not parse") from error
        if not isinstance(message, dict):
            raise Tampered("a message of the wrong form")
        if not self._nonce:
            self._nonce = str(message.get("nonce", ""))
        if message.get("nonce") != self._nonce:
            raise Tampered("a message without the session's secret word")
        return message

    def receive(self, most: int = 1 << 16) -> dict[str, Any] | None:
        """The next message, waiting for it; None when the other side has closed. Reads in pieces of `most` bytes."""
        while (message := self.take()) is None:
            if not self.pump(most):
                return None
        return message

    def close(self) -> None:
        for fd in (self.read_fd, self.write_fd):
            if fd >= 0:
                os.close(fd)
        self.read_fd = self.write_fd = -1
