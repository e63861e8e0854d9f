"""Ed25519 keys as PEM text: made, or read from a file of nobody else's or the environment; never printed."""

from __future__ import annotations

import importlib.util
import os
import stat
from pathlib import Path
from typing import Any

from kernel_contracts.errors import UsageError

VARIABLE = "KC_KEY"
_NEEDED = ("securesystemslib", "cryptography", "rfc8785", "jsonschema")


def require() -> None:
    """Raises UsageError where the libraries for signatures are not there."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"certificates need {missing[0]}; install kernel-contracts[certify]")


def make(place: Path) -> Path:
    """A new private key at `place`, mode 0600, and its public key beside it, whose path comes back."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from securesystemslib.signer import CryptoSigner

    private = Ed25519PrivateKey.generate()
    beside = place.with_name(place.name + ".pub")
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for path, data, mode in ((place, CryptoSigner(private).private_bytes, 0o600), (beside, public, 0o644)):
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError as error:
            raise UsageError(f"{path} is there already; keys are never overwritten, choose another name") from error
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; choose another place") from error
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
    return beside


def signer(place: Path | None) -> Any:
    """From a file, or without one from the environment."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    where = str(place) if place else f"the environment variable {VARIABLE}"
    wrong = f"{where} holds no Ed25519 private key in PEM form without a passphrase; make one with kc keygen"
    try:
        found = load_pem_private_key(_private(place), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(wrong) from error  # and none of the error's own words, which could quote the key
    if not isinstance(found, Ed25519PrivateKey):
        raise UsageError(wrong)
    return CryptoSigner(found)


def _private(place: Path | None) -> bytes:
    if place is None:
        text = os.environ.get(VARIABLE, "")
        if not text:
            raise UsageError(f"there is no key to sign with: name a file with --key, or set {VARIABLE}")
        return text.encode()
    try:
        with place.open("rb") as stream:
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            data = stream.read()
    except OSError as error:
        raise UsageError(f"cannot read the key {place}: {error.strerror}; check the path") from error
    if mode & 0o077:
        raise UsageError(f"others may read the key {place} (mode {mode:04o}); chmod 600 it, or make a new one")
    return data


def public(place: Path) -> Any:
    """A public key from its file."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        found = load_pem_public_key(place.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read the key {place}: {error.strerror}; check the path") from error
    except ValueError as error:
        raise UsageError(f"{place} holds no public key in PEM form; it is the .pub file of kc keygen") from error
    if not isinstance(found, Ed25519PublicKey):
        raise UsageError(f"{place} is no Ed25519 key; certificates are signed with those alone")
    return SSlibKey.from_crypto(found)
