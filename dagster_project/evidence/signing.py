"""Ed25519 over the manifest of a pack. Keys are the operator's: a PEM file that is named for one command and kept nowhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key, load_pem_public_key

from dagster_project.base.failures import UsageError

PUBLIC_KEY = "public-key.pem"


def public_key_of(key_file: Path) -> bytes:
    """The public key of a private one, as PEM."""
    key: bytes = _private(key_file).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return key


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
    except (InvalidSignature, ValueError):
        return False
    return True


def trusted_key(file: Path) -> bytes:
    """A public key as PEM, from its file; UsageError where the file has none of Ed25519."""
    remedy = f"Give the file `{PUBLIC_KEY}` as its owner handed it over, not the one in the report."
    _key_in(file, load_pem_public_key, Ed25519PublicKey, "trusted key", remedy)
    return file.read_bytes()


def fingerprint(public_key: bytes) -> str:
    """What two people read to each other to know that they speak of one key."""
    return hashlib.sha256(public_key).hexdigest()


def _private(key_file: Path) -> Any:
    remedy = "Make one with `openssl genpkey -algorithm ed25519 -out key.pem`; a key with a passphrase cannot be used."
    load = partial(load_pem_private_key, password=None)
    return _key_in(key_file, load, Ed25519PrivateKey, "signing key", remedy)


def _key_in(file: Path, load: Callable[[bytes], object], kind: type, what: str, remedy: str) -> Any:
    """The key in a file; UsageError where it cannot be read, or is not of Ed25519."""
    try:
        key = load(file.read_bytes())
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"the {what} cannot be read: {type(error).__name__}", where=str(file), remedy=remedy) from None
    if not isinstance(key, kind):
        raise UsageError(f"the {what} is not an Ed25519 key", where=str(file), remedy=remedy)
    return key
