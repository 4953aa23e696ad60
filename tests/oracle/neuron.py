"""neuron-monitor documents, line by line: the use of each device over the document's own period.

Runtimes add up per core, devices are the mean over all their cores, an error is unknown.
"""

import gzip
import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from .exports import modified_at, moment
from .records import microseconds
from .samples import FULL, Sample

_GROUPS = ("vcpu_usage", "memory_info", "neuron_hw_counters")
_SECOND = 1_000_000
_NOTHING, _ALL = Decimal(0), Decimal(100)


def text_of(path: Path) -> str:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    elif content[:4] == b"\x28\xb5\x2f\xfd":
        content = pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    return content.decode("utf-8")


def named_in(key: str, name: str) -> str | None:
    found = re.search(rf"(?:^|/){name}=([^/]+)/", key)
    return unquote(found[1]) if found else None


def _exact(value: float | int) -> Decimal:
    return Decimal(str(value))  # the number that was printed, not its binary neighbour


def _period(document: dict) -> Fraction | None:
    reports = [runtime.get("report") or {} for runtime in document.get("neuron_runtime_data") or ()]
    counters = [(report.get("neuroncore_counters") or {}).get("period") for report in reports]
    system = document.get("system_data") or {}
    groups = [(system.get(name) or {}).get("period") for name in _GROUPS]
    known = [period for period in counters if period]
    period = max(known) if known else next((period for period in groups if period), None)
    return None if period is None else Fraction(_exact(period))


def _lengths(document: dict) -> dict[str, Fraction]:
    """What each group states it captured, in microseconds."""
    found = {name: (group or {}).get("period") for name, group in (document.get("system_data") or {}).items()}
    reports = [runtime.get("report") or {} for runtime in document.get("neuron_runtime_data") or ()]
    found["counters"] = max(((report.get("neuroncore_counters") or {}).get("period") or 0 for report in reports), default=0)
    return {name: Fraction(_exact(period)) * _SECOND for name, period in found.items() if period}


def _percent(core: dict, logical: int) -> Decimal | None:
    if core.get("neuroncore_utilization") is not None:
        return _exact(core["neuroncore_utilization"])
    behind = [each.get("neuroncore_utilization") for each in (core.get("v3d") or {}).values()]
    if not behind or None in behind:
        return None
    return sum(map(_exact, behind), _NOTHING) / max(logical, len(behind))  # one or two, so nothing is cut


def uses_of(document: dict) -> list[int | None]:
    """Parts per million of each device."""
    hardware = document["neuron_hardware_info"]
    devices, cores = hardware["neuron_device_count"], hardware["neuroncore_per_device_count"]
    used: dict[int, Decimal] = defaultdict(Decimal)
    unknown: set[int] = set()
    for runtime in document.get("neuron_runtime_data") or ():
        counters = (runtime.get("report") or {}).get("neuroncore_counters")
        if runtime.get("error") or not counters or counters.get("error") or counters.get("neuroncores_in_use") is None:
            unknown.update(range(devices))
            continue
        for name, core in counters["neuroncores_in_use"].items():
            percent = _percent(core, hardware.get("logical_neuroncore_config") or 1)
            if percent is None:
                unknown.add(int(name) // cores)
            else:
                used[int(name)] += percent
    found: list[int | None] = []
    for device in range(devices):
        within = range(device * cores, (device + 1) * cores)
        busy = sum((min(used[core], _ALL) for core in within if core in used), _NOTHING)
        found.append(None if device in unknown else math.floor(Fraction(busy) * FULL / (100 * cores) + Fraction(1, 2)))
    return found


def _started(path: Path) -> int | None:
    found = re.match(r"(\d{4}-\d{2}-\d{2})T(\d{2})[-:]?(\d{2})[-:]?(\d{2})Z", path.name)
    return microseconds(moment(f"{found[1]}T{found[2]}:{found[3]}:{found[4]}Z")) if found else None


def read_neuron(location: Path, as_published: datetime | None = None) -> Iterator[Sample]:
    for path in sorted(location.rglob("*.json*")):
        if as_published is not None and modified_at(path) > as_published:
            continue
        key = path.relative_to(location).as_posix()
        clock = None if (started := _started(path)) is None else Fraction(started)
        came: dict[str, Fraction] = {}  # when each group was printed last
        for line in text_of(path).splitlines():
            wrapped = json.loads(line)
            document = wrapped.get("document") or wrapped
            length = _period(document) * _SECOND
            if "collected_at" in wrapped:
                clock = Fraction(microseconds(moment(wrapped["collected_at"])))
            else:
                groups = _lengths(document)
                # a group that comes again has measured since it came before; one that paused has not
                known = [(came.get(name, Fraction(started)) + long, name) for name, long in groups.items() if came]
                again = {name: max(end, clock) for end, name in known if end > clock - groups[name] / 2}
                first = again.get("counters") or next(iter(again.values()), None)
                clock = clock + max(groups.values()) if first is None else first
            came |= dict.fromkeys(_lengths(document), clock)
            start, end = math.floor(clock - length), math.floor(clock)
            host = (wrapped.get("host") or {}).get("resource_id") or named_in(key, "host")
            host = host or document["instance_info"]["instance_id"]
            instance = document.get("instance_info") or {}
            zone = instance.get("instance_availability_zone") or ""
            region = instance.get("instance_region") or re.sub("[a-z]$", "", zone) or None
            run, copy = named_in(key, "run"), hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
            is_life = not document.get("neuron_runtime_data")
            for device, use in enumerate(uses_of(document)):
                yield Sample(host, run, device, start, end, use, is_life, copy, is_partial=False, region=region)
