"""What a worker process gives up before any code of the kernel runs: the network, other processes, the judge's files.

Requirement: each step is tried and none is required; what holds is a fact of the platform's fingerprint. A kernel
keeps what an honest one needs: threads, children, temporary files, devices, and sockets on the loopback of its own.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

_NEW_USER, _NEW_NET, _NEW_MOUNT = 0x10000000, 0x40000000, 0x00020000
_BIND, _REMOUNT, _READ_ONLY, _PRIVATE, _RECURSIVE = 4096, 32, 1, 1 << 18, 16384
_KEPT_FLAGS = 2 | 4 | 8 | 1024 | 2048 | (1 << 21)
"""nosuid, nodev, noexec, noatime, nodiratime, relatime: a remount must not ask for fewer of them."""
_GIVEN_UP = (12, 19, 21, 38)
"""CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_SYS_ADMIN, and CAP_PERFMON, which lets one read another's environment."""
_DROP_FROM_BOUNDS, _CAP_VERSION = 24, 0x20080522
_SET_FLAGS, _UP, _RUNNING = 0x8914, 1, 64
SHARED = "KERNEL_CONTRACTS_SHARED_NETWORK"
"""Set for a kernel on several ranks, which talk to each other over the loopback."""
_SECRET = re.compile(
    r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|COOKIE|(API|ACCESS|PRIVATE|SIGNING)_?KEY)(_|$)", re.IGNORECASE
)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment less what its names say are credentials."""
    return {k: v for k, v in environment.items() if not _SECRET.search(k)}


def enclose(package: Path) -> dict[str, str]:
    """Gives up what can be given up, and says what that is. Requirement: this process has one thread."""
    share = bool(os.environ.pop(SHARED, ""))
    if not sys.platform.startswith("linux"):
        return {"network": "shared", "judge_files": "writable", "session_memory": "as the system has it"}
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = _NEW_MOUNT | (0 if share else _NEW_NET)
    users = False
    apart = libc.unshare(wanted) == 0
    if not apart and os.getuid() != 0:  # as root, files of other users would be out of reach in a user namespace
        me, group = os.getuid(), os.getgid()
        users = apart = libc.unshare(wanted | _NEW_USER) == 0
        if users:
            _map_users(me, group)
    facts = {"network": "none" if apart and not share else "shared", "judge_files": "writable"}
    if apart and not share:
        _loopback_up()
    if apart and _read_only(libc, package):
        facts["judge_files"] = "read-only"
    dropped = _drop(libc) if os.getuid() == 0 or users else False
    out_of_reach = users or (os.getuid() == 0 and dropped)
    return {**facts, "session_memory": "out of reach" if out_of_reach else "as the system has it"}


def _map_users(user: int, group: int) -> None:
    """The same ids inside as outside."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        try:
            Path("/proc/self", name).write_bytes(text.encode())
        except OSError:
            continue


def _loopback_up() -> None:
    import fcntl

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            fcntl.ioctl(s, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP | _RUNNING))
    except OSError:
        return


def _read_only(libc: ctypes.CDLL, path: Path) -> bool:
    """Whether this process now sees the folder read-only; nobody else does."""
    place = os.fsencode(path)
    if libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None) != 0:
        return False
    if libc.mount(place, place, None, _BIND, None) != 0:
        return False
    kept = os.statvfs(path).f_flag & _KEPT_FLAGS
    return bool(libc.mount(b"none", place, None, _BIND | _REMOUNT | _READ_ONLY | kept, None) == 0)


def _drop(libc: ctypes.CDLL) -> bool:
    """Without them this process reads no memory of one that has them, and undoes none of the above."""
    for c in _GIVEN_UP:
        libc.prctl(_DROP_FROM_BOUNDS, c, 0, 0, 0)
    header = struct.pack("Ii", _CAP_VERSION, 0)
    data = ctypes.create_string_buffer(24)
    if libc.capget(header, data) != 0:
        return False
    words = list(struct.unpack("6I", data.raw))
    for c in _GIVEN_UP:
        for k in range(3):
            words[(c // 32) * 3 + k] &= ~(1 << (c % 32)) & 0xFFFFFFFF
    return bool(libc.capset(header, struct.pack("6I", *words)) == 0)
