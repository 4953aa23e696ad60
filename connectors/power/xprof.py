"""Power rails of TPUs from XProf: profile folders, and the JSON that XProf exports.

The files of a session are deliveries of their own, each of one host. How a plane or a page is read is in xplane and xprof_json.
"""

from __future__ import annotations

import mmap
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import IO

from connectors.deliveries import Delivery
from connectors.errors import ExportContentError, Place
from connectors.formats.protobuf_wire import Buffer, WireError
from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import find_file_deliveries
from connectors.power.counters import readings_of
from connectors.power.readings import Reading, reader_of, schema_of
from connectors.power.xplane import read_profile
from connectors.power.xprof_json import read_json
from connectors.stores import ObjectStore
from connectors.telemetry.converting import convert_with
from connectors.telemetry.samples import KeyFacts, Problems, SampleError

KIND = "xprof"
SCHEMA = schema_of(KIND)

_XPLANE = re.compile(r"\.xplane\.pb(\.gz)?$", re.I)
_TRACE = re.compile(r"\.trace\.json(\.gz)?$", re.I)
_COPIES = ("perfetto_trace.json", "perfetto_trace.json.gz")  # of a trace, for another viewer
# a session's folder, in the host's clock: when it was asked for, or by JAX when it was written: 2026_04_01_12_00_00
_SESSION = re.compile(r"(?:^|/)(\d{4})_(\d\d)_(\d\d)_(\d\d)_(\d\d)_(\d\d)(?:[^/]*)/[^/]*$", re.ASCII)
_REMEDY = "Deliver the file again as the profiler wrote it; the other files of the session are read."


def find_deliveries(store: ObjectStore) -> Iterator[Delivery]:
    """Yield a delivery for each profile and JSON. A trace that JAX writes beside a host's profile has less of the same."""
    found = [*find_file_deliveries(store, KIND, (".xplane.pb", ".xplane.pb.gz", ".json", ".json.gz"))]
    profiles = {_XPLANE.sub("", one.delivery_id) for one in found if _XPLANE.search(one.delivery_id)}
    for one in found:
        stem = _TRACE.sub("", one.delivery_id)
        if not one.delivery_id.lower().endswith(_COPIES) and (stem == one.delivery_id or stem not in profiles):
            yield one


def _readings(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    facts = replace(facts, started_at=_started(file.key) or facts.started_at)
    try:
        if not _XPLANE.search(file.key):
            named = _TRACE.sub("", _name(file.key)) if _TRACE.search(file.key) else None
            yield from read_json(file, facts, named, problems)
            return
        with _mapped(file) as (data, size):
            profile = read_profile(data, size, facts, _XPLANE.sub("", _name(file.key)) or None, problems)
        if profile:
            yield from readings_of(profile, problems)
    except SampleError as error:
        problems.add(1, error)
    except WireError as error:
        raise ExportContentError(
            f"{file.uri}: {error}.",
            place=Place(file.key, value=f"byte {error.offset}"),
            reason="truncated" if error.is_cut else "bad_protobuf",
            remedy=_REMEDY,
        ) from error


@contextmanager
def _mapped(file: TextFile) -> Iterator[tuple[Buffer, int]]:
    """The bytes of a profile without reading them; one that is compressed is unpacked beside it first."""
    with tempfile.TemporaryFile() as unpacked, file.path.open("rb") as original:
        source: IO[bytes] = original
        if original.read(2) == b"\x1f\x8b":
            source = unpacked
            for chunk in file.chunks():
                unpacked.write(chunk)
            unpacked.flush()
        size = source.seek(0, 2)
        if not size:
            raise WireError("an empty file", 0, is_cut=True)
        with mmap.mmap(source.fileno(), size, access=mmap.ACCESS_READ) as data:
            yield data, size


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _started(key: str) -> int | None:
    """About when a session was, in microseconds since 1970, by its folder; hosts of Google Cloud keep UTC."""
    match = _SESSION.search(key)
    try:
        return match and int(datetime(*map(int, match.groups()), tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[arg-type, misc]
    except ValueError:
        return None


convert = partial(convert_with, reader=reader_of(_readings, SCHEMA.columns))
