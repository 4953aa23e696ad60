"""What a recorder has written and not delivered: after a kill, above the bound, with a clock that is set back, on a full disk."""

from __future__ import annotations

import datetime as dt
import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connectors.telemetry.samples import facts_of
from trainledger_recorder import writing
from trainledger_recorder.errors import UsageError
from trainledger_recorder.spool import Session, sessions, trim
from trainledger_recorder.targets import Folder, Options, checked_target
from trainledger_recorder.uploading import deliver, deliver_all
from trainledger_recorder.writing import Writer

NOON = dt.datetime(2026, 4, 12, 12, tzinfo=dt.UTC)


class Clock:
    """The clock that is never set, moved by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def begun(parent: Path, messages: list[str], **limits: Any) -> tuple[Session, Writer, Clock]:
    session, clock = Session.begin(parent, NOON), Clock()
    limits = {"most_bytes": 1000, "most_seconds": 600.0} | limits
    return session, Writer(session, "run-a", "i-1", monotonic=clock, say=messages.append, **limits), clock


def texts(folder: Path) -> dict[str, str]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): gzip.decompress(path.read_bytes()).decode() for path in found}


def test_a_file_is_finished_by_its_size_and_by_its_age(tmp_path: Path) -> None:
    session, writer, clock = begun(tmp_path / "spool", [], most_bytes=10)
    for line in (b"12345\n", b"6789\n", b"a\n"):
        writer.write("neuron_power", line, NOON)
    assert [one.path.read_bytes() for one in session.ready()] == [b"12345\n6789\n"]
    assert writer.due() == 700.0
    clock.time = 700.0
    writer.finish_old()
    assert [one.path.read_bytes() for one in session.ready()] == [b"12345\n6789\n", b"a\n"]
    assert writer.due() is None and writer.came() and not writer.came()


def test_a_clock_that_is_set_back_overwrites_nothing_and_the_order_stays(tmp_path: Path) -> None:
    session, writer, _ = begun(tmp_path / "spool", [])
    for number, hours in enumerate((0, -5, -5, 0)):
        writer.write("neuron_power", f"{number}\n".encode(), NOON + dt.timedelta(hours=hours))
        writer.finish_all()
    assert [one.path.read_text() for one in session.ready()] == ["0\n", "1\n", "2\n", "3\n"]
    assert deliver_all(session.folder.parent, session.name, Folder(tmp_path / "out"), print) == 4
    assert sorted(texts(tmp_path / "out").values()) == ["0\n", "1\n", "2\n", "3\n"]
    (first, *_) = texts(tmp_path / "out")
    assert first.startswith("neuron_power/run=run-a/host=i-1/2026-04-12T07-00-00Z-")


def test_by_day_a_node_has_one_object_a_day_under_keys_that_sort_by_day_and_the_connectors_read(tmp_path: Path) -> None:
    messages = list[str]()
    session, writer, clock = begun(tmp_path / "spool", messages, by_day=True, most_bytes=1 << 20, most_seconds=86_400.0)
    for hours in (0, 6, 11, 12, 13, 24, 37):  # midnight is in between twice; one line lies on it
        clock.time = 100.0 + 3600 * hours
        writer.finish_old()
        writer.write("neuron_power", f"{hours}\n".encode(), NOON + dt.timedelta(hours=hours))
    writer.finish_all()
    assert deliver_all(session.folder.parent, session.name, Folder(tmp_path / "out"), messages.append) == 3
    found = texts(tmp_path / "out")
    days = [f"neuron_power/day=2026-04-{day}/run=run-a/host=i-1" for day in ("12", "13", "14")]
    assert [key.rpartition("/")[0] for key in found] == days and messages == []
    assert [*found.values()] == ["0\n6\n11\n", "12\n13\n24\n", "37\n"]
    assert [(facts_of(key).run, facts_of(key).host) for key in found] == [("run-a", "i-1")] * 3
    last = [key for key in found if key > "neuron_power/day=2026-04-14"]  # S3's start-after: days that one has are passed over
    assert last == [key for key in found if key.startswith(days[2])]


def test_by_day_a_clock_that_is_set_back_over_midnight_begins_another_file_and_overwrites_none(tmp_path: Path) -> None:
    session, writer, _ = begun(tmp_path / "spool", [], by_day=True)
    for number, hours in enumerate((13, 11, 13)):
        writer.write("neuron_power", f"{number}\n".encode(), NOON + dt.timedelta(hours=hours))
    writer.finish_all()
    assert [one.path.read_text() for one in session.ready()] == ["0\n", "1\n", "2\n"]
    assert [one.key.split("/")[1] for one in session.ready()] == ["day=2026-04-13", "day=2026-04-12", "day=2026-04-13"]


def test_a_killed_recorder_leaves_every_whole_line_and_the_next_one_delivers_them(tmp_path: Path) -> None:
    parent, messages = tmp_path / "spool", list[str]()
    dead, writer, _ = begun(parent, [])
    writer.write("neuron_power", b"finished\n", NOON)
    writer.finish_all()
    writer.write("neuron_power", b"open\n", NOON)
    (path,) = (path for path in dead.open_files.rglob("*.jsonl"))
    path.write_bytes(b"open\n" + b"x" * 70_000)  # the kill came in the middle of a long line
    alive, other, _ = begun(parent, [])
    other.write("neuron_power", b"later\n", NOON)
    other.finish_all()
    assert deliver_all(parent, alive.name, Folder(tmp_path / "out"), messages.append) == 1, (
        "a living recorder's files are its own"
    )
    dead.release()
    assert deliver_all(parent, alive.name, Folder(tmp_path / "out"), messages.append) == 2
    assert sorted(texts(tmp_path / "out").values()) == ["finished\n", "later\n", "open\n"]
    assert [one.name for one in sessions(parent)] == [alive.name]


def test_above_the_bound_the_oldest_files_go_and_are_named_and_below_it_none(tmp_path: Path) -> None:
    session, writer, _ = begun(tmp_path / "spool", [])
    for number in range(4):
        writer.write("neuron_power", b"%d" % number + b"x" * 98 + b"\n", NOON)
        writer.finish_all()
    writer.write("neuron_power", b"open\n", NOON)
    assert trim(session.folder.parent, 405) == []
    dropped = trim(session.folder.parent, 404)
    assert [(one.key.rpartition("-")[2], one.size) for one in dropped] == [("000001.jsonl", 100)]
    assert [one.path.read_text()[0] for one in session.ready()] == ["1", "2", "3"]


def test_a_full_disk_costs_the_lines_that_do_not_fit_and_no_half_line_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    session, writer, _ = begun(tmp_path / "spool", messages)
    writer.write("neuron_power", b"before\n", NOON)
    write, room = os.write, [False]

    def full(descriptor: int, data: bytes) -> int:
        if room[0]:
            return write(descriptor, data)
        if len(data) > 3:
            return write(descriptor, data[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing.os, "write", full)
    monkeypatch.setattr(Writer, "_fits", lambda self: room[0])
    for _ in range(3):
        writer.write("neuron_power", b"lost\n", NOON)
    room[0] = True
    writer.write("neuron_power", b"after\n", NOON)
    writer.finish_all()
    (ready,) = session.ready()
    assert ready.path.read_bytes() == b"before\nafter\n"
    assert [text.split(":")[-1].strip() if "no more" in text else text[:16] for text in messages] == [
        "No space left on device. The job goes on; what does not fit is lost.",
        "3 lines were los",
    ]


def test_a_disk_too_full_to_pack_delivers_lines_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, writer, _ = begun(tmp_path / "spool", [])
    writer.write("neuron_power", b"plain\n", NOON)
    writer.finish_all()
    monkeypatch.setattr("trainledger_recorder.uploading.gzip.GzipFile", _refuse)
    assert deliver_all(session.folder.parent, session.name, Folder(tmp_path / "out"), print) == 1
    (path,) = (tmp_path / "out").rglob("*.jsonl")
    assert path.read_bytes() == b"plain\n" and session.is_empty()


def _refuse(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_store_that_fails_keeps_the_order_and_everything_that_waits(tmp_path: Path) -> None:
    session, writer, _ = begun(tmp_path / "spool", [])
    for number in range(3):
        writer.write("neuron_power", f"{number}\n".encode(), NOON)
        writer.finish_all()
    target, messages = Folder(tmp_path / "out"), list[str]()
    calls = failing(target, 1)
    with pytest.raises(OSError, match="planted"):
        deliver_all(session.folder.parent, session.name, target, messages.append)
    assert [one.path.suffix for one in session.ready()] == [".gz", ".gz"], "what waits is packed"
    assert deliver_all(session.folder.parent, session.name, target, messages.append) == 2
    assert [key[-15:-9] for key in calls] == ["000001", "000002", "000002", "000003"]
    (tmp_path / "file").touch()
    assert deliver(session.folder.parent, session.name, str(tmp_path / "file/below"), Options(), messages.append) == 0
    writer.write("neuron_power", b"3\n", NOON)
    writer.finish_all()
    assert deliver(session.folder.parent, session.name, str(tmp_path / "file/below"), Options(), messages.append) == 75
    assert "Not a directory" in messages[-1] or "File exists" in messages[-1]


def failing(target: Folder, after: int) -> list[str]:
    """Have the second delivery fail once, and keep the keys of all."""
    calls: list[str] = []
    deliver_one: Callable[[Path, str], None] = target.deliver

    def once(path: Path, key: str) -> None:
        calls.append(key)
        if len(calls) == after + 1:
            raise OSError(errno.EIO, "planted")
        deliver_one(path, key)

    target.deliver = once  # type: ignore[method-assign]
    return calls


def test_a_spool_of_somebody_else_is_refused_and_so_is_a_target_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "spool").symlink_to(tmp_path / "theirs")
    with pytest.raises(UsageError, match="another user"):
        Session.begin(tmp_path / "spool", NOON)
    for location in ("https://bucket/x", "s3://", "bq://a.b.c"):
        with pytest.raises(UsageError, match="cannot be recorded to"):
            checked_target(location)
    assert checked_target("gs://bucket/prefix/") == "gs://bucket/prefix"
