"""`nvidia-smi --query-gpu=... --format=csv` with or without its header and units: a reading per line.

Fields are found by their names. A file without a header has those that its key names as `query=...`, else those of the query in
docs/sources/gpu_monitoring.md. Times have no zone: they are read in that which the key names as `timezone=...`, else as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple
from urllib.parse import unquote

from connectors.formats.text_lines import TextFile
from connectors.power.devices import Gpu, limit_of, number_of, owner_of, reading_of, use_of
from connectors.power.readings import Owner, Reading, watts_of
from connectors.telemetry.samples import KeyFacts, Problems, SampleError, micros_of
from connectors.times import zone_named

_QUERY = ("timestamp", "index", "uuid", "name", "power.draw", "utilization.gpu", "driver_version")  # of our docs page
_LIMITS = ("enforced.power.limit", "power.limit")  # what holds, of all limits the least, is worth more than what was set
_POWERS = ("power.draw.average", "power.draw", "power.draw.instant")  # the mean of a second is worth more than a moment
_NAMED = re.compile(r"([a-z0-9_.]+)(?: \[([^\]]*)\])?", re.ASCII)
_NUMBER = re.compile(r"([+-]?\d{1,12}(?:\.\d{1,9})?)(?: ([A-Za-z%]+))?", re.ASCII)
_UNKNOWN = re.compile(r"|N/A|\[.*\]|ERR!", re.ASCII)  # [N/A], [Not Supported], [Unknown Error], [GPU requires reset]
_TIME = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", re.ASCII)
_ASK = "Query timestamp, index, uuid, name, power.draw, utilization.gpu and driver_version, with --format=csv."
_ZONE = "Name the zone in the key as timezone=+02:00 or timezone=Europe%2FBerlin."


class _Form(NamedTuple):
    fields: tuple[str, ...]
    units: Mapping[str, str]
    is_assumed: bool = False  # the file does not name its fields


def nvidia_smi_readings(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """Yield a reading per line. A header may come again: nvidia-smi writes one each time it is started."""
    named = dict(folder.partition("=")[::2] for folder in file.key.split("/")[:-1])
    try:
        zone, owner = zone_named(unquote(named.get("timezone") or "+00:00")), owner_of(None, None, facts)
    except SampleError as error:
        problems.add(1, error)
        return
    except ValueError:
        problems.add(1, SampleError("bad_time", "timezone", _ZONE))
        return
    alone = {"index": named["device"]} if "device" in named else {}
    form = _form_of(unquote(named.get("query", "")).split(",")) or _Form(_QUERY, {}, is_assumed=True)
    for number, text in file.lines():
        try:
            cells = [cell.strip() for cell in text.decode("utf-8").lstrip("\ufeff").split(",")]
            if header := _form_of(cells):
                form = header
                problems.pass_by(*header.fields)
            else:
                yield _reading(alone | dict(zip(form.fields, cells, strict=True)), form, owner, zone, number)
        except SampleError as error:
            problems.add(number, error)
        except ValueError:  # a wrong byte, or another number of fields
            problems.add(number, SampleError("bad_text", None, _ASK))


def _form_of(cells: Sequence[str]) -> _Form | None:
    """The fields of a header, None where a line is none."""
    found = [*filter(None, map(_NAMED.fullmatch, cells))]
    names = tuple(match[1] for match in found)
    if len(found) != len(cells) or not {"timestamp", *_POWERS, "utilization.gpu"} & {*names}:
        return None
    return _Form(names, {match[1]: match[2] for match in found if match[2]})


def _reading(cells: Mapping[str, str], form: _Form, owner: Owner, zone: tzinfo, number: int) -> Reading:
    if form.is_assumed and not cells["uuid"].startswith("GPU-"):  # the fields of another query: a temperature is no watts
        raise SampleError("bad_text", None, _ASK)
    time = _time_of(cells.get("timestamp", ""), zone)
    index = number_of(cells.get("index"))
    if index is None:
        raise SampleError("missing_device", "index", _ASK)
    powers = (_number(cells.get(name, ""), form.units.get(name), "W", name) for name in _POWERS)
    power = next((watts for watts in powers if watts is not None), None)
    limits = (_number(cells.get(name, ""), form.units.get(name), "W", name) for name in _LIMITS)
    limit = next((watts for watts in limits if watts is not None), None)
    use = _number(cells.get("utilization.gpu", ""), form.units.get("utilization.gpu"), "%", "utilization.gpu")
    uuid = cells.get("uuid") or cells.get("gpu_uuid") or ""
    gpu = Gpu(owner, index, None if _UNKNOWN.fullmatch(uuid) else uuid)
    return reading_of(gpu, number, time, "nvml", watts_of(power), use_of(use, 100.0), None, limit_of(limit))


def _number(text: str, stated: str | None, unit: str, column: str) -> float | None:
    """A value with or without its unit; None where nvidia-smi has a mark for unknown."""
    if _UNKNOWN.fullmatch(text):
        return None
    match = _NUMBER.fullmatch(text)
    if not match or (match[2] or stated or unit) != unit:
        raise SampleError("wrong_type", column, _ASK)
    return float(match[1])


def _time_of(text: str, zone: tzinfo) -> int:
    if not _TIME.fullmatch(text):
        raise SampleError("bad_time", "timestamp", _ASK)
    try:
        moment = datetime.fromisoformat(text.replace("/", "-")).replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise SampleError("bad_time", "timestamp", _ASK) from error
    return micros_of(moment.isoformat(), "timestamp", _ASK)
