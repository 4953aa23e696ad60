"""The file list of a manifest, and which objects of the location its names mean.

A manifest comes from outside and may be hostile: it can name files, never lead out of the location. Bucket and prefix in it
are ignored, so that a copied export works: a name counts by what follows `/<export>/`, else by what follows the folder
in which its layout begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from connectors.errors import ExportContentError, Place, shorten
from connectors.stores import ObjectInfo

_LISTS = ("dataFiles", "reportKeys")
_KEYS = ("key", "Key", "s3Key", "objectKey", "path", "uri", "s3Uri", "file", "fileName")
_DATA = (".parquet", ".csv.gz", ".csv", ".zip")
_MAX_FILES = 100_000
# the first folder of a layout below an export: data/ of Data Exports, the date folder of a legacy report
_LAYOUT = re.compile(r"(?:^|/)(data/[A-Za-z_]+=[^/]+/.+|\d{8}-\d{8}/.+)$")


def parse_manifest(content: bytes, key: str, uri: str) -> tuple[list[str], str | None]:
    """The file list of a manifest as written, and the provider's id of the execution if it names one.

    ExportContentError when it is no JSON object or has no list of files.
    """
    place = Place(key)
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ExportContentError(
            f"{uri} is no JSON: {shorten(str(error)) or 'nested too deeply'}.",
            place=place,
            reason="too_deep" if isinstance(error, RecursionError) else "bad_json",
        ) from error
    listed = next((document[name] for name in _LISTS if document.get(name)), None) if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ExportContentError(f"{uri} has no list of files ({' or '.join(_LISTS)}).", place=place, reason="no_file_list")
    if len(listed) > _MAX_FILES:
        raise ExportContentError(f"{uri} lists {len(listed)} files; the limit is {_MAX_FILES}.", place=place, reason="too_large")
    names = [_name(entry, key, uri) for entry in listed]
    identifier = document.get("executionId") or document.get("assemblyId")
    return names, identifier if isinstance(identifier, str) else None


def resolve(names: Iterable[str], export: str, listed: Mapping[str, ObjectInfo], key: str, uri: str) -> tuple[ObjectInfo, ...]:
    """Return the listed objects a manifest means, each once, in its order."""
    found: dict[str, ObjectInfo] = {}
    for name in names:
        candidates = _candidates(name, export, key, uri)
        match = next((candidate for candidate in candidates if candidate in listed), None)
        if match is None:
            absent = candidates[0]
            raise ExportContentError(
                f"{uri} names {shorten(absent)}, which is not in the location.",
                place=Place(shorten(absent, 1000)),
                reason="absent_object",
                remedy="Deliver or copy the export again with all its files.",
            )
        if not match.lower().endswith(_DATA):
            raise ExportContentError(
                f"{uri} names {match}, which is neither Parquet nor CSV.",
                place=Place(match),
                reason="unsupported_format",
                remedy="Set the export's format to Parquet or to gzip CSV.",
            )
        found[match] = listed[match]
    return tuple(found.values())


def _name(entry: Any, key: str, uri: str) -> str:
    if isinstance(entry, dict):
        entry = next((entry[name] for name in _KEYS if isinstance(entry.get(name), str)), None)
    if not isinstance(entry, str) or not entry:
        raise ExportContentError(f"{uri}: an entry of its file list has no key.", place=Place(key), reason="no_file_list")
    return entry


def _candidates(name: str, export: str, key: str, uri: str) -> list[str]:
    """The relative keys a name can mean, best first. A name that could lead out of the location is refused, whatever exists."""
    path = name.partition("://")[2].partition("/")[2] if name.startswith("s3://") else name
    parts = name.split("/")
    below = f"/{path}".split(f"/{export}/")
    hostile = any(part in {"..", "."} for part in parts) or any(c == "\\" or ord(c) < 32 for c in path) or "://" in path
    # a legacy report without a prefix has keys that begin with '/', so only what cannot be placed is absolute
    placed = [f"/{export}/".join(below[start:]) for start in range(1, len(below))]
    anchored = _LAYOUT.search(path)
    candidates = [*placed, anchored[1] if anchored else "", "" if path.startswith("/") else path]
    candidates = [candidate for candidate in candidates if candidate]
    if hostile or not candidates:
        raise ExportContentError(
            f"{uri} names '{shorten(name)}', which does not lie below the export.",
            place=Place(key, value=name),
            reason="unsafe_path",
            remedy="Find out who wrote this manifest: a provider names only files of its own export.",
        )
    return candidates
