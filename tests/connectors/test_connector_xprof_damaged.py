"""A damaged or hostile profile is refused with its place, or gives the joules that it gave before: never others."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from connectors.deliveries import Converted
from connectors.errors import ConnectorError, ExportContentError
from connectors.formats.protobuf_wire import LENGTH, VARINT, WireError, fields
from tests.connectors.kit import rows_of
from tests.connectors.test_connector_xprof import CORE, joules, profile, read
from tests.connectors.xspaces import CLASSES, SECOND, counter, device, space_of


def varint(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def field(number: int, wire: int, content: bytes) -> bytes:
    return varint(number << 3 | wire) + (varint(len(content)) if wire == LENGTH else b"") + content


def reason_of(tmp_path: Path, content: bytes) -> str:
    with pytest.raises(ExportContentError) as error:
        read(tmp_path, content)
    assert error.value.source_object and error.value.remedy and "byte" in str(error.value.value)
    return error.value.reason


def result_of(folder: Path, content: bytes) -> Converted | None:
    try:
        return read(folder, content)
    except ConnectorError as error:
        assert error.reason in ("truncated", "bad_protobuf", "too_large"), error
        return None


def event(*parts: bytes) -> bytes:
    """A profile of 100 W and 200 W for a second each, whose second event is these bytes."""
    space = space_of(2)
    line = counter(device(space), CORE, [(0, 100)])
    content = space.SerializeToString()
    old = line.SerializeToString()
    new = old + field(4, LENGTH, b"".join(parts))
    # lengths around the line change with it, so each message is written again around the new bytes
    plane = space.planes[-1]
    lines = [one.SerializeToString() for one in plane.lines]
    lines[lines.index(old)] = new
    del plane.lines[:]
    whole = plane.SerializeToString() + b"".join(field(3, LENGTH, one) for one in lines)
    del space.planes[-1]
    assert content
    return space.SerializeToString() + field(1, LENGTH, whole)


def parts_of(watts: float = 200.0) -> tuple[bytes, bytes, bytes]:
    """Metadata id, offset and stat of a good event: the ids are those that the kit gives."""
    good = CLASSES["XEvent"](metadata_id=2, offset_ps=SECOND)
    good.stats.add(metadata_id=3, double_value=watts)
    stat_ = field(4, LENGTH, good.stats[0].SerializeToString())
    return field(1, VARINT, varint(2)), field(2, VARINT, varint(SECOND)), stat_


def test_the_events_that_these_tests_write_are_read(tmp_path: Path) -> None:
    assert joules(rows_of(read(tmp_path, event(*parts_of())))) == 300


def test_a_field_of_another_wire_type_is_refused_and_not_read_as_absent(tmp_path: Path) -> None:
    """An offset that is passed over would be the second 0: other joules, without a word."""
    id_, offset, stat_ = parts_of()
    wrong = (
        field(2, 1, bytes(8)),
        field(2, 5, bytes(4)),
        field(2, LENGTH, b"abc"),
        field(1, LENGTH, b""),
        field(4, VARINT, b"\x01"),
    )
    for place, one in enumerate(wrong):
        assert reason_of(tmp_path / str(place), event(id_, offset, stat_, one)) == "bad_protobuf"
    number = field(4, LENGTH, field(1, VARINT, b"\x03") + field(2, VARINT, b"\x01"))
    assert reason_of(tmp_path / "double", event(id_, offset, number)) == "bad_protobuf"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (varint(4 << 3 | 2) + varint(1 << 62), "truncated"),
        (varint(9 << 3 | 2) + varint((1 << 64) - 1), "truncated"),
        (varint(9 << 3) + b"\xff" * 10 + b"\x01", "bad_protobuf"),
        (varint(9 << 3) + b"\xff" * 9 + b"\x7f", "bad_protobuf"),
        (varint(9 << 3) + b"\xff", "truncated"),
        (varint(9 << 3 | 1) + b"1234", "truncated"),
        (varint(9 << 3 | 3), "bad_protobuf"),
        (varint(9 << 3 | 7), "bad_protobuf"),
        (b"\x00\x00", "bad_protobuf"),
    ],
)
def test_lengths_and_numbers_that_lead_nowhere_are_refused(tmp_path: Path, wrong: bytes, reason: str) -> None:
    assert reason_of(tmp_path, event(*parts_of(), wrong)) == reason
    assert reason_of(tmp_path / "outer", profile().SerializeToString() + wrong) == reason


def test_unknown_fields_are_passed_over_and_of_a_field_twice_the_last_counts(tmp_path: Path) -> None:
    """As every reader of protobuf does it."""
    id_, offset, stat_ = parts_of()
    unknown = field(77, VARINT, varint(5)) + field(78, LENGTH, b"x" * 300) + field(79, 1, bytes(8)) + field(80, 5, bytes(4))
    assert joules(rows_of(read(tmp_path, event(unknown, id_, unknown, offset, stat_, unknown) + unknown))) == 300
    twice = event(id_, field(2, VARINT, varint(7 * SECOND)), offset, stat_)
    assert joules(rows_of(read(tmp_path / "2", twice))) == 300
    aggregated = event(id_, offset, field(5, VARINT, varint(3)), stat_)  # an event is a sample or a sum of them
    assert read(tmp_path / "3", aggregated).rows == 0


def test_a_time_out_of_all_bounds_is_no_time(tmp_path: Path) -> None:
    id_, _, stat_ = parts_of()
    for value in ((1 << 63) - 1, 1 << 63, (1 << 64) - 1):
        result = read(tmp_path / str(value), event(id_, field(2, VARINT, varint(value)), stat_))
        assert value == (1 << 64) - 1 or [refusal.reason for refusal in result.refusals] == ["bad_time"]


def test_a_file_cut_anywhere_gives_no_other_joules(tmp_path: Path) -> None:
    content = space_with_two_chips().SerializeToString()
    whole = {row["document_hash"] for row in rows_of(read(tmp_path / "whole", content))}
    assert len(whole) == 2
    reasons = []
    for end in range(0, len(content), 7):
        result = result_of(tmp_path / str(end), content[:end])
        rows = rows_of(result) if result else []
        assert {row["document_hash"] for row in rows} <= whole
        reasons.append(result is None)
    assert sum(reasons) > 0.9 * len(reasons)


def space_with_two_chips() -> Any:
    space = space_of(10)
    for number in range(2):
        counter(device(space, number), CORE, [(0, 100), (5, 200)])
    return space


def test_bytes_that_were_changed_never_crash(tmp_path: Path) -> None:
    content = space_with_two_chips().SerializeToString()
    chosen = random.Random(11)
    for count in range(150):
        damaged = bytearray(content)
        for _ in range(1 + count % 3):
            damaged[chosen.randrange(len(damaged))] = chosen.randrange(256)
        result_of(tmp_path / str(count), bytes(damaged))


def test_something_else_under_the_name_of_a_profile_is_refused(tmp_path: Path) -> None:
    for place, content in enumerate((b"", b"<html>not found</html>", b"\x1f\x8b cut", b"PK\x03\x04" + bytes(100))):
        assert result_of(tmp_path / str(place), content) is None


def test_fields_that_are_not_asked_for_are_not_built() -> None:
    """A plane of 20 MB of operations is one jump."""
    content = field(1, LENGTH, bytes(20 << 20)) + field(2, VARINT, b"\x05")
    assert list(fields(content, 0, len(content), {2: VARINT})) == [(2, 5, 0)]
    with pytest.raises(WireError, match="field 1 ends behind its message at byte 0"):
        list(fields(content[: 1 << 20], 0, 1 << 20, {2: VARINT}))
