"""The manifest of an evidence pack and its zip: which files there are, with which bytes, and a zip that has no choices.

MANIFEST.json has one form for one content, and the zip one sequence of bytes, so a changed byte anywhere is a difference: in a
file, in the manifest, in the zip's own tables. What the files mean is not known here.
"""

from __future__ import annotations

import filecmp
import json
import shutil
import stat
import tempfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from dagster_project.base.durable import sha256_of
from dagster_project.base.failures import UsageError

MANIFEST = "MANIFEST.json"
SIGNATURE = "MANIFEST.sig"  # over the bytes of the manifest, in packs of before 0.9
# who vouches for a manifest comes after it: files beside it, of which it has no entry
ROLES = ("preparer", "approver")
STAMP = "signatures/manifest.tsr"
BESIDE = frozenset({*(f"signatures/{role}.{kind}" for role in ROLES for kind in ("json", "sig")), STAMP})
OUTSIDE = frozenset({MANIFEST, SIGNATURE, *BESIDE})  # what no manifest lists
FORMAT = 1
MOST_FILES = 100_000
MOST_JSON_BYTES = 64 << 20
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the first a zip can say


def files_below(folder: Path) -> list[str]:
    """Every file below a folder by its name there, sorted; a link is named too, and never followed."""
    found = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return sorted(path.relative_to(folder).as_posix() for path in found)


def manifest_bytes(folder: Path) -> bytes:
    """The manifest of the files as they are."""
    names = [name for name in files_below(folder) if name not in OUTSIDE]
    files = {name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)} for name in names}
    return canonical({"files": files, "format": FORMAT})


def canonical(document: Any) -> bytes:
    """The one form in which a document of this folder is written."""
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def issued_zip_sha256(folder: Path, report_id: str = "") -> str:
    """Of the zip that a pack was issued as: signatures and a time stamp came later. Its folder may have another name by now."""
    with tempfile.TemporaryDirectory(prefix="trainledger-zip-") as scratch:
        write_zip(folder, Path(scratch) / "issued.zip", report_id or folder.name, is_as_issued=True)
        return sha256_of(Path(scratch) / "issued.zip")


def read_json(path: Path) -> Any:
    """A JSON file of a pack, of a size that a person could have written."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_JSON_BYTES:
        remedy = "Give the folder or the zip of an issued report."
        raise UsageError("this is no evidence pack of trainledger", where=str(path), remedy=remedy)
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None


def manifest_differences(folder: Path) -> Iterator[str]:
    """Every file that is not what the manifest states, is there and not in it, or is in it and not there."""
    manifest = read_json(folder / MANIFEST)
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or set(manifest) != {"files", "format"} or manifest["format"] != FORMAT:
        yield f"{MANIFEST}: it is no manifest of this version"
        return
    if canonical(manifest) != (folder / MANIFEST).read_bytes():
        yield f"{MANIFEST}: it is not written as manifests are"
    there = [name for name in files_below(folder) if name not in OUTSIDE]
    for name in sorted(OUTSIDE & {*files_below(folder)}):
        if (folder / name).is_symlink():
            yield f"{name}: it is a link"
    for name in sorted(name for name, count in Counter(map(folded, files)).items() if count > 1):
        yield f"{name}: {MANIFEST} has two names that some file systems take for one"
    for name in sorted(set(there) - set(files)):
        yield f"{name}: it is not in {MANIFEST}"
    for name in sorted(set(files) - set(there)):
        yield f"{name}: {MANIFEST} names it and it is not there"
    for name in sorted(set(files) & set(there)):
        path = folder / name
        if path.is_symlink():
            yield f"{name}: it is a link"
        elif {"bytes": path.stat().st_size, "sha256": sha256_of(path)} != files[name]:
            yield f"{name}: its bytes are not those of {MANIFEST}"


def write_zip(folder: Path, target: Path, top: str, *, is_as_issued: bool = False) -> None:
    """The folder as a zip whose bytes depend on its files alone: stored, in order, without times.

    `is_as_issued`: without what was put beside its manifest since.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name in files_below(folder):
            if is_as_issued and name in BESIDE:
                continue
            entry = zipfile.ZipInfo(f"{top}/{name}", ZIP_TIME)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            entry.file_size = (folder / name).stat().st_size
            with (folder / name).open("rb") as file, archive.open(entry, "w") as packed:
                shutil.copyfileobj(file, packed)


@contextmanager
def opened_pack(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """The folder of a pack, unpacked where it is a zip, and how the zip differs from what its files are packed into.

    That is what no manifest sees, such as a time or a comment.
    """
    if path.is_dir() and not path.is_symlink():
        yield path.absolute(), []
        return
    if not path.is_file():
        raise UsageError("there is no such report", where=str(path), remedy="Give the folder or the zip of an issued report.")
    with tempfile.TemporaryDirectory(prefix="trainledger-verify-") as scratch:
        folder, again = _extract(path, Path(scratch) / "pack"), Path(scratch) / "again.zip"
        write_zip(folder, again, folder.name)
        is_same = filecmp.cmp(path, again, shallow=False)
        again.unlink()
        yield folder, [] if is_same else [f"{path.name}: its bytes are not those that its files are packed into"]


def _extract(archive: Path, folder: Path) -> Path:
    """Unpack a zip of ours into an empty folder and return the pack in it. A zip that another program wrote is refused.

    Entries are stored, so the zip cannot claim to hold more than its own size; a name that leads elsewhere is never written.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = opened.infolist()
            top = _top_of(entries, archive)
            opened.extractall(folder)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError, RuntimeError) as error:
        remedy = "Get the pack again from who issued it."
        raise UsageError(f"the zip is damaged: {error}", where=str(archive), remedy=remedy) from error
    return folder / top


def _top_of(entries: list[zipfile.ZipInfo], archive: Path) -> str:
    """The one folder that all entries are in."""
    names = [entry.filename for entry in entries]
    tops = {name.partition("/")[0] for name in names}
    size = archive.stat().st_size
    is_ours = (
        0 < len(entries) <= MOST_FILES
        and len(tops) == 1
        and len({folded(name) for name in names}) == len(names)
        and all(map(_is_inside, names))
        and all(entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1 for entry in entries)
        and all(stat.S_ISREG(entry.external_attr >> 16) for entry in entries)
        and sum(entry.file_size for entry in entries) <= size
    )
    if not is_ours:
        what = "this zip is not one that trainledger wrote: names that lead elsewhere, links, compressed or repeated entries"
        remedy = "Nothing of it was unpacked. Get the pack again from who issued it."
        raise UsageError(what, where=str(archive), remedy=remedy)
    return tops.pop()


def folded(name: str) -> str:
    """What file systems that do not tell capitals, or forms of an accent, apart take a name for."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    is_plain = not path.is_absolute() and not {"..", "."} & set(path.parts) and "\\" not in name and "\0" not in name
    return is_plain and len(path.parts) > 1 and str(path) == name and ":" not in path.parts[0]
