"""System metrics of Weights & Biases: watts and use of GPUs, duty cycles of TPUs, as its agent logs them every 15 seconds.

A file holds the events of one run: JSON lines as the API answers them or as `wandb-events.jsonl` has them, or the table of
`run.history(stream="events")` as CSV or Parquet. Names begin with `system.` or `system/`, and end with `/l:<label>` where a run
has several writers. Before the lines may be the run itself (`connectors.stores.wandb`).

Of Trainium the agent logs cores and no watts, under torchrun each writer its own core alone: such a core may stand for a node, so
its use is a lower bound, and so is that of a TPU's TensorCore. `smActive` and the like are not read: DCGM writes them from 0 to
1 and NVML's GPM from 0 to 100, under one name.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from connectors.formats.parquet import open_parquet, read_rows
from connectors.formats.text_lines import Stream, TextFile
from connectors.formats.values import Rows
from connectors.layouts.single_files import packed
from connectors.power.devices import device_reader, owner_of, use_of
from connectors.power.readings import MEASURED, POWER, Owner, Reading, document_hash_of, schema_of, watts_of
from connectors.telemetry.converting import find_and_convert
from connectors.telemetry.samples import Host, KeyFacts, Problems, SampleError, decode_json, documents_of, is_recorded

KIND = "wandb"
SCHEMA = schema_of(KIND)
LOWER_BOUND = "lower_bound"  # evidence: the use is at least this, and no more is known

_LINES = packed(".jsonl", ".ndjson")
_REMEDY = "Deliver the events of a run as W&B writes them, with their _timestamp."
_NAME = re.compile(
    r"(?:system[./])?(?P<family>gpu|tpu|trn)\.(?P<index>\d{1,4})\."
    r"(?P<figure>gpu|powerWatts|dutyCycle|tensorcoreUtilization|neuroncore_utilization)(?:/l:(?P<label>.+))?",
    re.S,
)
_FIGURES = {  # family and name: what read it, and whether its use is the device's own
    ("gpu", "powerWatts"): ("nvml", True),
    ("gpu", "gpu"): ("nvml", True),
    ("tpu", "dutyCycle"): ("libtpu", True),
    ("tpu", "tensorcoreUtilization"): ("libtpu", False),
    ("trn", "neuroncore_utilization"): ("neuron_core", False),
}
_FOLDER = re.compile(r"(?:^|/)(?:offline-)?run-\d{8}_\d{6}-([^/]+)/")  # of wandb's own folders
_BATCH = 4096  # rows
Event = dict[str, Any]


class Run(msgspec.Struct, rename="camel", gc=False):
    """A run as the API answers it."""

    name: str = ""
    events_line_count: int | None = None


class Neuron(msgspec.Struct, gc=False):
    """What wandb-metadata.json states of Neuron devices."""

    neuroncore_per_device_count: int | None = None


class Metadata(msgspec.Struct, gc=False):
    """What is read of wandb-metadata.json."""

    host: str | None = None
    gpu: str | None = None
    trainium: Neuron | None = None


class Header(msgspec.Struct, gc=False):
    """The line before the events."""

    run: Run
    metadata: Metadata | None = None


class _Series(NamedTuple):
    device: int
    figure: str
    meter: str
    is_own: bool
    label: str | None


_EVENT = msgspec.json.Decoder(dict[str, Any])
_HEADER = msgspec.json.Decoder(Header)


@lru_cache(maxsize=4096)
def series_of(name: str) -> _Series | None:
    """Read what a metric's name is of; None for what this kind does not read."""
    match = _NAME.fullmatch(name)
    if not match or (known := _FIGURES.get((match["family"], match["figure"]))) is None:
        return None
    return _Series(int(match["index"]), match["figure"], *known, match["label"])


def _documents(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """JSON lines, or the one document that a .json file is."""
    header, count, folder = Header(Run()), 0, _FOLDER.search(f"/{file.key}")
    header.run.name = folder[1] if folder else ""
    for number, text in documents_of(file, _LINES):
        with problems.left_out(number):
            if number == 1 and text.lstrip().startswith(b'{"run":'):
                header = decode_json(_HEADER, text, _REMEDY, broken="Fetch the run again.")
                continue
            count += 1
            yield from _readings(
                decode_json(_EVENT, text, _REMEDY, broken="Deliver whole lines."), number, header, facts, problems
            )
    if (header.run.events_line_count or 0) > count:
        remedy = "Nothing: what is absent is unknown. W&B answers an even sample of long runs."
        problems.add(1, SampleError("partial_answer", "eventsLineCount", remedy))


def _table(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """The rows of a CSV that pandas wrote; nothing in a cell is no figure."""
    with file.read_as_csv():
        lines = (text for _, text in file.lines())
        rows = csv.DictReader(io.TextIOWrapper(io.BufferedReader(Stream(lines)), encoding="utf-8-sig", newline=""))
        for number, row in enumerate(rows, start=1):
            with problems.left_out(number):
                event = {name: value for name, value in row.items() if name and value}
                yield from _readings(event, number, Header(Run()), facts, problems)


def _parquet(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """The rows of a Parquet file; columns that are not read are not opened."""
    source = open_parquet(file.path, file.key, file.uri)
    names = [name for name in source.schema_arrow.names if name == "_timestamp" or series_of(name)]
    problems.pass_by(*(name for name in source.schema_arrow.names if name not in names))
    for rows, batch in read_rows(source, names, Rows(file.key, file.uri), _BATCH):
        for number, row in enumerate(batch.to_pylist(), start=rows.before + 1):
            with problems.left_out(number):
                yield from _readings(row, number, Header(Run()), facts, problems)


def _readings(event: Event, number: int, header: Header, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """A reading per device of an event."""
    figures: dict[tuple[str | None, int, str], dict[str, tuple[float, bool]]] = {}
    for name, value in event.items():
        if (series := series_of(name)) is None:
            problems.pass_by(*([name] if name.lstrip("_") == name else []))
            continue
        with problems.left_out(number):
            if (figure := _number(value, name)) is not None:
                found = figures.setdefault((series.label, series.device, series.meter), {})
                kind = "watts" if series.figure == "powerWatts" else "use"
                # a duty cycle before the TensorCore's own use
                if kind not in found or series.is_own:
                    found[kind] = figure, series.is_own
    time = _time_of(event) if figures else 0
    metadata = header.metadata or Metadata()
    for (label, device, meter), found in figures.items():
        with problems.left_out(number):
            host = Host(facts.host or label or metadata.host, metadata.gpu)
            owner = owner_of(host, header.run.name or None, facts)
            yield _reading(owner, device, meter, found, time, number, metadata)


def _reading(
    owner: Owner, device: int, meter: str, found: Mapping[str, tuple[float, bool]], time: int, number: int, metadata: Metadata
) -> Reading:
    watts = watts_of(found["watts"][0]) if "watts" in found else None
    percent, is_own = found.get("use", (None, True))
    use = use_of(percent, 100.0)
    if meter == "neuron_core":
        cores = metadata.trainium.neuroncore_per_device_count if metadata.trainium else None
        if not cores or cores < 0:
            raise SampleError("missing_hardware", "trainium", "Keep wandb-metadata.json beside the events: it counts the cores.")
        device, use = device // cores, None if use is None else use / cores
    evidence = POWER if use is None else MEASURED if is_own else LOWER_BOUND
    digest = document_hash_of(meter, owner.host_id, owner.run_key, device, time, watts, use, evidence)
    return Reading(digest, number, *owner, device, None, time, meter, watts, None, use, evidence)


def _number(value: Any, name: str) -> float | None:
    if value is None or value == "NaN":  # as simplejsonext writes what is none
        return None
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError("wrong_type", name[:100], _REMEDY) from error
    return found if math.isfinite(found) else None


def _time_of(event: Event) -> int:
    try:
        micros = round(float(event["_timestamp"]) * 1_000_000)
    except KeyError as error:
        raise SampleError("missing_time", "_timestamp", _REMEDY) from error
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError("bad_time", "_timestamp", _REMEDY) from error
    if not is_recorded(micros):
        raise SampleError("bad_time", "_timestamp", _REMEDY)
    return micros


_READERS = {
    (*_LINES, *packed(".json")): device_reader(_documents, SCHEMA.columns),
    packed(".csv"): device_reader(_table, SCHEMA.columns),
    (".parquet",): device_reader(_parquet, SCHEMA.columns),
}
find_deliveries, convert = find_and_convert(KIND, _READERS)
