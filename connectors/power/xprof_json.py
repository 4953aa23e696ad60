"""JSON that XProf and JAX export: trace events with counters of power, and the overview page.

A trace states each sample; when it was is only in the name of its folder. Of an overview page only the mean of one chip is
energy: maxima and moving averages are not, and means over several chips name none of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from connectors.formats.text_lines import TextFile
from connectors.power.counters import Plane, Profile, check_host, meter_of, readings_of, type_of
from connectors.power.readings import Owner, Reading, document_hash_of, watts_of
from connectors.telemetry.samples import KeyFacts, Problems, SampleError, decode_json, is_recorded

_REMEDY = "Deliver the JSON as XProf exports it, or better the session's xplane.pb files."
_PROCESS = re.compile(r"(?:(?P<host>\S+) )?/device:TPU:(?P<chip>\d{1,4})(?: SparseCore.*)?")


class _Event(msgspec.Struct):
    ph: str = ""
    pid: int = 0
    name: str = ""
    ts: float | None = None
    dur: float | None = None
    args: dict[str, Any] | None = None
    entries: list[Any] | None = None


class _Trace(msgspec.Struct):
    events: list[_Event] = msgspec.field(name="traceEvents", default_factory=list)
    message: str = msgspec.field(name="showCounterMessage", default="")


_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw] | list[msgspec.Raw], strict=False)
_TRACE = msgspec.json.Decoder(_Trace, strict=False)
_PAGE = msgspec.json.Decoder(dict[str, Any])
_TEXTS = (b'"power_metrics"', b'"fw_power_metrics"', b'"spi_power_metrics"')


def read_json(file: TextFile, facts: KeyFacts, named: str | None, problems: Problems) -> Iterator[Reading]:
    """Rows of one document: a trace, an overview page as protobuf JSON, or the tables of one."""
    content = file.content()
    document = decode_json(_DECODER, content, _REMEDY, _REMEDY)
    if isinstance(document, dict) and "traceEvents" in document:
        trace = decode_json(_TRACE, content, _REMEDY, _REMEDY)
        if trace.message.strip():
            # the page asks for what it can draw; a series with samples left out has another mean
            remedy = "Export a shorter window, or deliver the session's xplane.pb files."
            raise SampleError("not_all_counters", "showCounterMessage", remedy)
        yield from readings_of(_profile_of(trace, facts, named), problems)
        return
    page = _run_environment(decode_json(_PAGE, content, _REMEDY, _REMEDY)) if isinstance(document, dict) else None
    if page is not None:
        try:
            yield from _page(page, facts, named)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise SampleError("wrong_type", "power_metrics", _REMEDY) from error
    elif any(word in content for word in _TEXTS):
        remedy = "Deliver the session's xplane.pb files: the texts of this page do not say which time they are of."
        raise SampleError("no_window", "power_metrics", remedy)
    else:
        raise SampleError("no_power", None, "Deliver a trace or an overview page; other pages of XProf say nothing of power.")


def _profile_of(trace: _Trace, facts: KeyFacts, named: str | None) -> Profile:
    """Counters of a trace by their process, whose name is host and chip."""
    if facts.started_at is None:
        remedy = "Keep the folder plugins/profile/<session>, whose name is the time, or name the object by its UTC start."
        raise SampleError("missing_time", "ts", remedy)
    naming = (event for event in trace.events if event.ph == "M" and event.name == "process_name")
    named_so = {event.pid: str((event.args or {}).get("name")) for event in naming}
    processes = {pid: match for pid, name in named_so.items() if (match := _PROCESS.fullmatch(name))}
    planes = {pid: Plane(place, int(match["chip"]), None, None) for place, (pid, match) in enumerate(processes.items(), 1)}
    for event in trace.events:
        if event.pid in planes and event.ph in ("C", "X") and meter_of(event.name):
            samples = planes[event.pid].counters[event.name.rstrip(" :")]
            for start, value in _samples_of(event):
                if not (math.isfinite(start) and abs(start) < 1e12):
                    raise SampleError("bad_time", "ts", _REMEDY)
                # a trace has picoseconds as a fraction of microseconds
                samples.add(round(start * 1e6), round((event.dur or 0) * 1e6), value)
    hosts = {match["host"] for match in processes.values() if match["host"]}
    host = facts.host or (hosts.pop() if len(hosts) == 1 else named)
    return Profile(facts.started_at * 1000, None, facts.run, host, None, [*planes.values()])


def _samples_of(event: _Event) -> Iterator[tuple[float, float]]:
    """Time and watts of each sample: entries as pairs or objects (XProf), or one event with its figure in the arguments (JAX)."""
    try:
        if event.entries is not None:
            for entry in event.entries:
                start, value = (entry["ts"], entry["value"]) if isinstance(entry, dict) else (entry[0], entry[1])
                yield float(start), float(value)
        elif event.ts is not None:
            named = {name.lower(): value for name, value in (event.args or {}).items()}
            figures = [named["power"]] if "power" in named else [*named.values()]
            if len(figures) == 1:
                yield event.ts, float(figures[0])
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise SampleError("wrong_type", "entries", _REMEDY) from error


def _run_environment(document: dict[str, Any]) -> dict[str, Any] | None:
    """The part of an overview page, or of a RunEnvironment, that has power."""
    inner = _of(document, "run_environment", document)
    return inner if isinstance(inner, dict) and _of(inner, "power_metrics") else None


def _of(message: dict[str, Any], name: str, absent: Any = None) -> Any:
    """A field in either spelling of protobuf JSON."""
    camel = re.sub("_([a-z])", lambda match: match[1].upper(), name)
    return message.get(name, message.get(camel, absent))


def _page(page: dict[str, Any], facts: KeyFacts, named: str | None) -> Iterator[Reading]:
    """A row for each rail with a mean, where the page is of one chip and has its time."""
    metrics = _of(_of(page, "power_metrics"), "power_component_metrics", [])
    # a figure that is 0 is not written: firmware meters have a maximum alone
    means = [(str(_of(one, "component_name", "")), watts) for one in metrics if (watts := _of(one, "avg_power", 0.0)) > 0]
    if not means:
        remedy = "Deliver the session's xplane.pb files: maxima and moving averages are no energy."
        raise SampleError("no_mean", "power_metrics", remedy)
    if int(_of(page, "host_count", 1)) > 1 or int(_of(page, "device_core_count", 0)) != 1:
        remedy = "Deliver the session's xplane.pb files, which state each chip by itself."
        raise SampleError("several_chips", "device_core_count", remedy)
    jobs = _of(page, "host_dependent_job_info", [])
    start = int(_of(jobs[0], "profile_time_ns", 0)) // 1000 if jobs else facts.started_at or 0
    stop = start + int(_of(_of(page, "host_independent_job_info", {}), "profile_duration_ms", 0)) * 1000
    if not is_recorded(start) or not start < stop:
        remedy = "Deliver the session's xplane.pb files: this page does not say when it was."
        raise SampleError("no_window", "profile_duration_ms", remedy)
    host = facts.host or next(iter(_of(page, "hostnames", {})), None) or named
    check_host(host, facts.run)
    owner = Owner(host, facts.run, type_of(str(_of(page, "device_type", ""))))
    rows = []
    for name, value in means:
        meter, watts = meter_of(name), watts_of(float(value))
        rail = meter.rail if meter else name or None
        # the SPI sampler alone has means
        digest = document_hash_of(host, 0, "xprof_spi", rail, start, stop, watts)
        rows.append(Reading(digest, 1, *owner, 0, start, stop, "xprof_spi", watts, component=rail, is_sampled=True))
    yield from rows
