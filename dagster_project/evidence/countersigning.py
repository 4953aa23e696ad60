"""`trainledger sign PACK`: a signature or a time stamp is put beside the manifest of an issued report, and its zip is made again.

Nothing that the manifest lists is touched. Where folder and zip lie beside each other, as in a home, both have it; what the zip
has of somebody else's signatures, and the folder does not, is kept.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project.base import durable, modes
from dagster_project.base.failures import GateError, UsageError
from dagster_project.evidence import layout, signatures, signing, stamps
from dagster_project.evidence.manifest import (
    BESIDE,
    MANIFEST,
    ROLES,
    STAMP,
    manifest_differences,
    opened_pack,
    read_json,
    write_zip,
)
from dagster_project.evidence.signatures import NAMED_BY, Signer

if TYPE_CHECKING:
    from dagster_project.settings import Settings


def allowed_signers(settings: Settings | None) -> tuple[Signer, ...]:
    """Who may sign, by the configuration; empty where there is none."""
    configured = settings.allowed_signers if settings else []
    return tuple(Signer(one.name, one.role, signing.allowed_key(one.key, settings.base)) for one in configured if settings)


def sign_pack(path: Path, key: Path | None, role: str | None, stamp: Path | None, allowed: tuple[Signer, ...]) -> list[str]:
    """Sign a pack as one of ROLES, keep the time stamp of a file with it, or both. Returns what was done, for people."""
    if (key is None) != (role is None) or not (key or stamp) or role not in (None, *ROLES):
        remedy = f"Give --key KEY --as {'|'.join(ROLES)}, or --time-stamp FILE, or all of them."
        raise UsageError("it is not clear what to sign as whom", remedy=remedy)
    path = path.absolute()
    folder, archive = (path, path.with_name(f"{path.name}.zip")) if path.is_dir() else (path.with_suffix(""), path)
    done: list[str] = []

    def put(pack: Path) -> None:
        if differences := list(manifest_differences(pack)):
            raise GateError(f"the report is not as it was issued: {differences[0]}", where=str(pack))
        if archive.is_file():
            _keep_from(archive, pack)
        if key and role:
            done.append(put_signature(pack, key, role, allowed))
        if stamp:
            _put(pack / STAMP, stamps.read_stamp(stamp, (pack / MANIFEST).read_bytes()))
            done.append(f"{pack.name} has the time stamp of {stamp.name}.")

    if folder.is_dir():
        put(folder)
        modes.give(folder / "signatures", modes.as_in(folder))
        if archive.is_file():
            _pack_again(folder, archive)
    else:
        _put_in_zip(archive, put)
    return done


def put_signature(pack: Path, key: Path, role: str, allowed: tuple[Signer, ...]) -> str:
    """Sign the manifest of a folder as its preparer or its approver. Refused where somebody else may, or did as the other."""
    issued: Any = read_json(pack / layout.ISSUE)
    if not isinstance(issued, dict) or issued.get("form") != layout.FORM:
        remedy = "Issue the quarter again with this version; a pack of before has the one signature of when it was issued."
        raise UsageError("this pack has another form than this version signs", where=str(pack), remedy=remedy)
    name, public = issued[NAMED_BY[role]], signing.public_key_of(key)
    if allowed and not any((one.name, one.role, one.key) == (name, role, public) for one in allowed):
        remedy = (
            f"Add `{{name: {name}, as: {role}, key: FILE}}` to `allowed_signers`, or sign with a key of {name} that is there."
        )
        raise UsageError(f"{name} may not sign as {role} with this key", where=str(key), remedy=remedy)
    for other in {*ROLES} - {role}:
        stated = pack / signatures.files_of(other)[0]
        if stated.is_file() and (read_json(stated) or {}).get("public_key") == public.decode():
            raise UsageError(f"this key signed the report as {other}: it takes two people", where=str(key))
    statement = signatures.statement(pack, issued, role, public)
    written, signature = signatures.files_of(role)
    _put(pack / written, statement)
    _put(pack / signature, signing.sign(key, statement))
    return f"{pack.name} is signed as {role} by {name}, with the key with sha256 {signing.fingerprint(public)}."


def _put(file: Path, data: bytes) -> None:
    durable.put(file, data)


def _keep_from(archive: Path, pack: Path) -> None:
    """What somebody put beside the manifest of the zip alone."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for name in {entry.filename.partition("/")[2] for entry in opened.infolist()} & BESIDE:
                if not (pack / name).exists():
                    _put(pack / name, opened.read(f"{pack.name}/{name}"))
    except (zipfile.BadZipFile, KeyError, OSError, RuntimeError) as error:
        remedy = "Restore it from where it is backed up; nothing was signed."
        raise GateError(f"the zip beside the report is damaged: {error}", where=str(archive), remedy=remedy) from error


def _pack_again(folder: Path, archive: Path) -> None:
    beside = archive.with_name(f".{archive.name}.writing")
    write_zip(folder, beside, folder.name)
    beside.chmod(archive.stat().st_mode & 0o777)
    durable.sync(beside)
    beside.replace(archive)
    durable.sync(archive.parent)


def _put_in_zip(archive: Path, put: Callable[[Path], None]) -> None:
    """The same in a zip alone, whose bytes are those that its files are packed into."""
    with opened_pack(archive) as (folder, differences):
        if differences:
            raise GateError(f"the report is not as it was issued: {differences[0]}", where=str(archive))
        put(folder)
        _pack_again(folder, archive)
