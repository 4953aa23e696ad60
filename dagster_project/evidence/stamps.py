"""The time stamp of an issued report (RFC 3161): an authority's word that the manifest was there at a time.

No network is asked: the answer of the authority is a file that somebody got and put beside the signatures. Whose word counts, the
reader states, by certificates. Without any, the time is printed as not proved.
"""

from __future__ import annotations

import hashlib
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.base.failures import UsageError
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.manifest import MANIFEST, STAMP

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse

SHA256 = "2.16.840.1.101.3.4.2.1"
HOW = "`openssl ts -query -data MANIFEST.json -sha256 -cert` writes the question for an authority; give its answer."
NOT_HERE = "Time stamp: not read, as rfc3161-client is not installed (trainledger-verify[timestamp] has it)."


def check(folder: Path, found: Findings, authorities: bytes) -> None:
    """Find at which time the manifest of a pack was stamped, and by an authority that the reader trusts, if any."""
    if not (folder / STAMP).is_file():
        if authorities:
            found.differences.append(f"{STAMP}: a time stamp is asked for, and the report has none")
        return
    try:
        answer = _decoded((folder / STAMP).read_bytes())
    except ImportError:
        found.remarks.append(NOT_HERE)
        found.is_partial = True
        return
    if answer is None or not _is_of(answer, (folder / MANIFEST).read_bytes()):
        what = (
            "it is no answer of a time stamp authority"
            if answer is None
            else f"it is a time stamp of something else than {MANIFEST}"
        )
        found.differences.append(f"{STAMP}: {what}")
        return
    at = f"{answer.tst_info.gen_time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if not authorities:
        found.remarks.append(f"Time stamp: {at}, not proved: no authority is trusted here (--trusted-tsa FILE).")
    elif why := _not_proved(answer, authorities, (folder / MANIFEST).read_bytes()):
        found.differences.append(f"{STAMP}: no trusted authority proves the time {at} ({why})")
    else:
        found.remarks.append(f"Time stamp: the report was there at {at}, by a trusted authority.")


def read_stamp(file: Path, manifest: bytes) -> bytes:
    """The bytes of a time stamp's file; UsageError where it is none, or one of something else."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"the time stamp cannot be read: {error.strerror}", where=str(file), remedy=HOW) from None
    answer = _decoded(data)
    if answer is None:
        raise UsageError("this is no answer of a time stamp authority", where=str(file), remedy=HOW)
    if not _is_of(answer, manifest):
        raise UsageError(f"this is a time stamp of something else than this report's {MANIFEST}", where=str(file), remedy=HOW)
    return data


def trusted_authorities(files: list[Path]) -> bytes:
    """The certificates (PEM) of authorities in one text; UsageError where a file has none."""
    from cryptography.x509 import load_pem_x509_certificates

    texts = []
    for file in files:
        try:
            load_pem_x509_certificates(data := file.read_bytes())
        except (OSError, ValueError) as error:
            remedy = "Give the certificate of the authority, or of who vouches for it, in PEM."
            raise UsageError(f"no certificate can be read: {type(error).__name__}", where=str(file), remedy=remedy) from None
        texts.append(data)
    return b"\n".join(texts)


def _decoded(data: bytes) -> TimeStampResponse | None:
    """The answer of an authority that granted the stamp; None where it is none."""
    from rfc3161_client import PKIStatus, decode_timestamp_response

    try:
        answer = decode_timestamp_response(data)
        return answer if PKIStatus(answer.status) == PKIStatus.GRANTED and answer.tst_info.gen_time else None
    except Exception:  # what it raises of bytes of a forger is not promised
        return None


def _is_of(answer: TimeStampResponse, data: bytes) -> bool:
    imprint = answer.tst_info.message_imprint
    is_known = imprint.hash_algorithm.dotted_string == SHA256
    return is_known and imprint.message == hashlib.sha256(data).digest()


def _not_proved(answer: TimeStampResponse, authorities: bytes, data: bytes) -> str:
    """Why signature and chain do not lead to a certificate that is trusted; empty where they do."""
    from cryptography.x509 import load_pem_x509_certificates
    from rfc3161_client import VerificationError, VerifierBuilder

    verifier = VerifierBuilder(roots=load_pem_x509_certificates(authorities)).build()
    try:
        verifier.verify(answer, hashlib.sha256(data).digest())
    except (VerificationError, ValueError) as error:
        return str(error).splitlines()[0]
    return ""
