"""Who vouches for an issued report: a signature of its preparer and one of its approver, beside the manifest.

    signatures/preparer.json   a statement: this key, as preparer, by this name, of this report and manifest
    signatures/preparer.sig    Ed25519 over its bytes; the same for approver

A pack brings the keys that it was signed by, so a signature alone shows no more than that somebody signed. Whose key it is, the
reader states: public keys that their owners handed over, or `allowed_signers` of the configuration. Packs of before 0.9 have one
signature, of the manifest itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dagster_project.base.durable import sha256_of
from dagster_project.evidence import signing
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.manifest import MANIFEST, ROLES, SIGNATURE, canonical, read_json

NAMED_BY = {"preparer": "prepared_by", "approver": "approver"}  # in issue.json
ISSUER = "issuer"  # of a pack of before: one signature, without a name
UNSIGNED = "Not signed: integrity only. Who issued it is not shown by the pack."


class Signer(NamedTuple):
    """A person who may sign as one of ROLES, and the public key as PEM."""

    name: str
    role: str
    key: bytes


@dataclass(frozen=True, slots=True)
class Trust:
    """What a reader knows of who signs, and asks for. Nothing in a pack adds to it."""

    keys: tuple[bytes, ...] = ()  # each must have signed, and they alone
    signers: tuple[Signer, ...] = ()  # `allowed_signers` of the configuration
    is_signature_required: bool = False
    roles: frozenset[str] = frozenset()  # as which it must have been signed
    authorities: bytes = b""  # certificates (PEM) of time stamp authorities; none: a time is not proved

    @property
    def asks(self) -> bool:
        """Whether a report without any signature differs."""
        return bool(self.keys or self.signers or self.is_signature_required or self.roles)


NO_TRUST = Trust()


class Signature(NamedTuple):
    """A signature that is of its key and of this report."""

    role: str
    name: str
    key: bytes  # as PEM
    file: str


def files_of(role: str) -> tuple[str, str]:
    """The statement and its signature."""
    return f"signatures/{role}.json", f"signatures/{role}.sig"


def statement(folder: Path, issued: Mapping[str, Any], role: str, public_key: bytes) -> bytes:
    """What is signed: all of a report by its manifest, and who signs it as what."""
    document = {
        "as": role,
        "name": issued[NAMED_BY[role]],
        "public_key": public_key.decode(),
        "report_id": issued["report_id"],
        "manifest_sha256": sha256_of(folder / MANIFEST),
    }
    return canonical(document)


def check(folder: Path, found: Findings, trust: Trust) -> None:
    """Find who signed a pack, as far as its signatures are of this report, and whether the reader asks for another."""
    problems: list[str] = []
    signatures = [*_statements(folder, found.issued, problems), *_of_the_manifest(folder, found.issued, problems)]
    found.signed += [_line(one, trust) for one in signatures]
    if not (signatures or problems):
        found.signed.append(UNSIGNED)
    found.differences += problems
    found.differences += _missing(signatures, trust)
    for one in signatures:
        found.differences += _of_another(one, trust)
    if len({signing.fingerprint(one.key) for one in signatures}) < len(signatures):
        found.differences.append(
            f"{signatures[-1].file}: one key signed as preparer and as approver, and a report takes two people"
        )


def _statements(folder: Path, issued: Mapping[str, Any], problems: list[str]) -> Iterator[Signature]:
    for role in ROLES:
        written, signature = (folder / name for name in files_of(role))
        if not (written.is_file() or signature.is_file()):
            continue
        if not (written.is_file() and signature.is_file()):
            missing = written if signature.is_file() else signature
            problems.append(f"signatures/{missing.name}: a signature as {role} has it, and it is not there")
            continue
        stated = read_json(written)
        key = stated.get("public_key") if isinstance(stated, dict) else None
        if not isinstance(key, str) or not {"report_id", NAMED_BY[role]} <= issued.keys():
            problems.append(f"signatures/{written.name}: it is no statement of who signs")
        elif written.read_bytes() != statement(folder, issued, role, key.encode()):
            problems.append(f"signatures/{written.name}: it is not of this report, its {MANIFEST} and its {role}")
        elif not signing.is_signed_by(key.encode(), signature.read_bytes(), written.read_bytes()):
            problems.append(f"signatures/{signature.name}: it is no signature of {written.name} by the key there")
        else:
            yield Signature(role, stated["name"], key.encode(), f"signatures/{signature.name}")


def _of_the_manifest(folder: Path, issued: Mapping[str, Any], problems: list[str]) -> Iterator[Signature]:
    """The signature of a pack of before 0.9."""
    key, signature = folder / signing.PUBLIC_KEY, folder / SIGNATURE
    if not (key.is_file() or signature.is_file() or issued.get("is_signed")):
        return
    if not (key.is_file() and signature.is_file()):
        problems.append(f"{SIGNATURE if key.is_file() else signing.PUBLIC_KEY}: a signed report has it, and it is not there")
    elif not signing.is_signed_by(key.read_bytes(), signature.read_bytes(), (folder / MANIFEST).read_bytes()):
        problems.append(f"{SIGNATURE}: it is no signature of {MANIFEST} by {signing.PUBLIC_KEY}")
    else:
        yield Signature(ISSUER, "", key.read_bytes(), SIGNATURE)


def _missing(signatures: Collection[Signature], trust: Trust) -> Iterator[str]:
    """What the reader asks for and the pack does not have."""
    if trust.asks and not signatures:
        yield "signatures: a signature is asked for, and the report has none that is valid"
    for role in sorted(trust.roles - {one.role for one in signatures}):
        yield f"{files_of(role)[1]}: a signature as {role} is asked for, and the report has none that is valid"
    if signatures:
        signed = {*map(signing.fingerprint, (one.key for one in signatures))}
        for key in sorted({*map(signing.fingerprint, trust.keys)} - signed):
            yield f"signatures: the trusted key with sha256 {key} did not sign it"


def _of_another(one: Signature, trust: Trust) -> Iterator[str]:
    """Whether a valid signature is by somebody whom the reader does not know as who it names."""
    fingerprint = signing.fingerprint(one.key)
    if trust.keys and fingerprint not in map(signing.fingerprint, trust.keys):
        yield f"{one.file}: it is by no trusted key, but by the one with sha256 {fingerprint}"
    if trust.signers and not _is_allowed(one, trust):
        as_whom = f"{one.name} may not sign as {one.role}" if one.name else "it may not be signed"
        yield f"{one.file}: by allowed_signers {as_whom} with the key with sha256 {fingerprint}"


def _is_allowed(one: Signature, trust: Trust) -> bool:
    own = signing.fingerprint(one.key)
    return any(
        signing.fingerprint(signer.key) == own and (one.role == ISSUER or (signer.name, signer.role) == (one.name, one.role))
        for signer in trust.signers
    )


def _line(one: Signature, trust: Trust) -> str:
    fingerprint = signing.fingerprint(one.key)
    who = f" as {one.role} by {one.name}" if one.name else ""
    if trust.signers and _is_allowed(one, trust):
        return f"Signed{who}, with a key of allowed_signers."
    if fingerprint in map(signing.fingerprint, trust.keys):
        return f"Signed{who}, with a trusted key."
    return f"Signed{who}, with the key with sha256 {fingerprint}: compare it with the one its owner gives you."
