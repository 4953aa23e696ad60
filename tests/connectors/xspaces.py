"""Profiles as a profiler writes them: XSpace messages by Google's own encoder, from a descriptor of the public schema.

Schema: openxla/xla, third_party/tsl/tsl/profiler/protobuf/xplane.proto at f33d2e16. The product reads its numbers without it.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

START = int(dt.datetime(2026, 4, 1, 12, tzinfo=dt.UTC).timestamp()) * 10**9  # nanoseconds since 1970
SECOND = 10**12  # picoseconds
KEY = "runs/plugins/profile/2026_04_01_12_00_00/host-1.xplane.pb"

# message: name of field -> (number, type, is repeated); a type with a capital is a message
_MESSAGES: dict[str, dict[str, tuple[int, str, bool]]] = {
    "XSpace": {"planes": (1, "XPlane", True), "errors": (2, "string", True), "hostnames": (4, "string", True)},
    "XPlane": {
        "id": (1, "int64", False),
        "name": (2, "string", False),
        "lines": (3, "XLine", True),
        "event_metadata": (4, "XEventEntry", True),
        "stat_metadata": (5, "XStatEntry", True),
        "stats": (6, "XStat", True),
    },
    "XEventEntry": {"key": (1, "int64", False), "value": (2, "XEventMetadata", False)},
    "XStatEntry": {"key": (1, "int64", False), "value": (2, "XStatMetadata", False)},
    "XLine": {
        "id": (1, "int64", False),
        "display_id": (10, "int64", False),
        "name": (2, "string", False),
        "display_name": (11, "string", False),
        "timestamp_ns": (3, "int64", False),
        "duration_ps": (9, "int64", False),
        "events": (4, "XEvent", True),
    },
    "XEvent": {
        "metadata_id": (1, "int64", False),
        "offset_ps": (2, "int64", False),
        "num_occurrences": (5, "int64", False),
        "duration_ps": (3, "int64", False),
        "stats": (4, "XStat", True),
    },
    "XStat": {
        "metadata_id": (1, "int64", False),
        "double_value": (2, "double", False),
        "uint64_value": (3, "uint64", False),
        "int64_value": (4, "int64", False),
        "str_value": (5, "string", False),
        "bytes_value": (6, "bytes", False),
        "ref_value": (7, "uint64", False),
    },
    "XEventMetadata": {"id": (1, "int64", False), "name": (2, "string", False), "metadata": (3, "bytes", False)},
    "XStatMetadata": {"id": (1, "int64", False), "name": (2, "string", False)},
    "CoreDetails": {"hostname": (1, "string", False), "local_chip_id": (4, "uint32", False)},
}
_CHOICES = {"XEvent": {"offset_ps", "num_occurrences"}, "XStat": {name for name in _MESSAGES["XStat"] if name != "metadata_id"}}


def _classes() -> dict[str, Any]:
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="xplane_of_tests.proto", package="xplane_of_tests", syntax="proto3")
    for name, named in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _CHOICES:
            message.oneof_decl.add(name="choice")
        for field, (number, kind, is_repeated) in named.items():
            one = message.field.add(name=field, number=number)
            one.label = kinds.LABEL_REPEATED if is_repeated else kinds.LABEL_OPTIONAL
            if kind[0].isupper():
                one.type, one.type_name = kinds.TYPE_MESSAGE, f".xplane_of_tests.{kind}"
            else:
                one.type = getattr(kinds, f"TYPE_{kind.upper()}")
            if field in _CHOICES.get(name, ()):
                one.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"xplane_of_tests.{name}")) for name in _MESSAGES}


CLASSES = _classes()


def stat(plane: Any, owner: Any, name: str, value: Any) -> None:
    """Add a named value to a plane or an event of it."""
    ids = {entry.value.name: entry.key for entry in plane.stat_metadata}
    if name not in ids:
        ids[name] = len(ids) + 1
        plane.stat_metadata.add(key=ids[name], value=CLASSES["XStatMetadata"](id=ids[name], name=name))
    kinds = {float: "double_value", int: "int64_value", str: "str_value", bytes: "bytes_value"}
    owner.stats.add(**{"metadata_id": ids[name], kinds[type(value)]: value})


def counter(plane: Any, name: str, samples: list[tuple[float, float]], *, line: Any = None, durations: bool = False) -> Any:
    """Add a counter: (seconds since the line's start, watts) of each sample."""
    key = len(plane.event_metadata) + 1
    plane.event_metadata.add(key=key, value=CLASSES["XEventMetadata"](id=key, name=name))
    if line is None:
        line = plane.lines.add(id=100 + key, name="_counters_")
    ends = [seconds for seconds, _ in samples[1:]] + [samples[-1][0]]
    for (seconds, watts), end in zip(samples, ends, strict=True):
        event = line.events.add(metadata_id=key, offset_ps=round(seconds * SECOND))
        if durations:
            event.duration_ps = round((end - seconds) * SECOND)
        stat(plane, event, "device_offset_ps", round(seconds * SECOND))
        stat(plane, event, "power", float(watts))
    return line


def device(space: Any, number: int = 0, type_: str = "TPU v6 Lite", **more: Any) -> Any:
    """Add a plane of a chip, with a line of operations that is not about power."""
    plane = space.planes.add(id=number + 2, name=f"/device:TPU:{number}")
    stat(plane, plane, "device_type_string", type_)
    for name, value in more.items():
        stat(plane, plane, name, value)
    operations = plane.lines.add(id=3, name="XLA Ops")
    plane.event_metadata.add(key=1, value=CLASSES["XEventMetadata"](id=1, name="fusion.1", metadata=b"\x00\xff" * 50))
    operations.events.add(metadata_id=1, offset_ps=7, duration_ps=11)
    return plane


def space_of(seconds: float = 10, hosts: tuple[str, ...] = ("host-1",), **versions: str) -> Any:
    """A profile of so many seconds without device planes, as JAX writes it: times count from the start of the session."""
    space = CLASSES["XSpace"](hostnames=hosts)
    metadata = space.planes.add(name="/host:metadata")
    for name, value in versions.items():
        stat(metadata, metadata, name, value)
    task = space.planes.add(name="Task Environment")
    for name, value in (("profile_start_time", START), ("profile_stop_time", START + round(seconds * 10**9))):
        stat(task, task, name, value)
    return space
