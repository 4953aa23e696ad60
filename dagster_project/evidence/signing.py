"""Ed25519 keys and signatures. Private keys are the operator's: a file that is named for one command and kept nowhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
    load_ssh_private_key,
    load_ssh_public_key,
)

from dagster_project.base.failures import UsageError

PUBLIC_KEY = "public-key.pem"  # of the one signature of a pack of before 0.9
OPENSSH = "ssh-ed25519 "  # a public key as OpenSSH writes it, on one line


def public_key_of(key_file: Path) -> bytes:
    """The public key of a private one, as PEM."""
    return _pem(_private(key_file).public_key())


def sign(key_file: Path, data: bytes) -> bytes:
    """64 bytes over the data."""
    signature: bytes = _private(key_file).sign(data)
    return signature


def is_signed_by(public_key: bytes, signature: bytes, data: bytes) -> bool:
    """Whether the signature is of the data and the key."""
    try:
        key = load_pem_public_key(public_key)
        if not isinstance(key, Ed25519PublicKey):
            return False
        key.verify(signature, data)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def trusted_key(file: Path) -> bytes:
    """A public key as PEM, from its file; UsageError where the file has none of Ed25519."""
    remedy = "Give the public key as its owner handed it over, in PEM or as OpenSSH writes it, not one of the report."
    return _pem(_key_in(file, _load_public, Ed25519PublicKey, "trusted key", remedy))


def allowed_key(written: str, base: Path) -> bytes:
    """A public key of the configuration as PEM: the line that OpenSSH writes, or a file, relative to a folder."""
    if not written.startswith(OPENSSH):
        return trusted_key(base / written)
    try:
        return _pem(_load_public(written.encode()))
    except (UnsupportedAlgorithm, ValueError, TypeError) as error:
        remedy = "Write the whole line of the .pub file, or the name of that file."
        raise UsageError(f"this is no public key: {type(error).__name__}", where=written[:60], remedy=remedy) from None


def fingerprint(public_key: bytes) -> str:
    """What two people read to each other to know that they speak of one key: sha256 of its DER, however it is written."""
    key = load_pem_public_key(public_key)
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _pem(key: Any) -> bytes:
    found: bytes = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return found


def _load_public(data: bytes) -> object:
    return load_ssh_public_key(data) if data.startswith(OPENSSH.encode()) else load_pem_public_key(data)


def _load_private(data: bytes) -> object:
    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    return load(data, password=None)


def _private(key_file: Path) -> Any:
    remedy = "Make one with `openssl genpkey -algorithm ed25519 -out key.pem`; a key with a passphrase cannot be used."
    return _key_in(key_file, _load_private, Ed25519PrivateKey, "signing key", remedy)


def _key_in(file: Path, load: Callable[[bytes], object], kind: type, what: str, remedy: str) -> Any:
    """The key in a file; UsageError where it cannot be read, or is not of Ed25519."""
    try:
        key = load(file.read_bytes())
    except (OSError, UnsupportedAlgorithm, ValueError, TypeError) as error:
        raise UsageError(f"the {what} cannot be read: {type(error).__name__}", where=str(file), remedy=remedy) from None
    if not isinstance(key, kind):
        raise UsageError(f"the {what} is not an Ed25519 key", where=str(file), remedy=remedy)
    return key
