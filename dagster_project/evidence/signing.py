"""Ed25519 over the manifest of a pack. Keys are the operator's: a PEM file that is named for one command and kept nowhere."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dagster_project.base.failures import UsageError

PUBLIC_KEY = "public-key.pem"


def public_key_of(key_file: Path) -> bytes:
    """The public key of a private one, as PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key: bytes = _private(key_file).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return key


def sign(key_file: Path, data: bytes) -> bytes:
    """64 bytes over the data."""
    signature: bytes = _private(key_file).sign(data)
    return signature


def is_signed_by(public_key: bytes, signature: bytes, data: bytes) -> bool:
    """Whether the signature is of the data and the key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

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
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    remedy = f"Give the file `{PUBLIC_KEY}` as its owner handed it over, not the one in the report."
    try:
        text = file.read_bytes()
        key = load_pem_public_key(text)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"the trusted key cannot be read: {type(error).__name__}", where=str(file), remedy=remedy) from None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError("the trusted key is not an Ed25519 key", where=str(file), remedy=remedy)
    return text


def fingerprint(public_key: bytes) -> str:
    """What two people read to each other to know that they speak of one key."""
    return hashlib.sha256(public_key).hexdigest()


def _private(key_file: Path):  # type: ignore[no-untyped-def]  # the library's type, which is loaded when it is needed
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    remedy = "Make one with `openssl genpkey -algorithm ed25519 -out key.pem`; a key with a passphrase cannot be used."
    try:
        key = load_pem_private_key(key_file.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"the signing key cannot be read: {type(error).__name__}", where=str(key_file), remedy=remedy) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError("the signing key is not an Ed25519 key", where=str(key_file), remedy=remedy)
    return key
