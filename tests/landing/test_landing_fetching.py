"""How the objects of a delivery come into the landing: side by side, each hashed as it comes, through one client of a source."""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from connectors.deliveries import Delivery
from connectors.stores import ObjectInfo
from dagster_project.base import durable
from dagster_project.landing import fetching, land, store
from tests.landing.kit import Organisation, bill_line, instant, write_run


class Meeting:
    """A store whose objects come only while as many are on their way together."""

    def __init__(self, at_a_time: int) -> None:
        self._barrier = Barrier(at_a_time, timeout=10)

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        self._barrier.wait()
        path.write_text(info.key)
        return hashlib.sha256(info.key.encode()).hexdigest()


def test_the_objects_of_a_delivery_are_fetched_side_by_side_and_keep_their_order_and_hash(tmp_path: Path) -> None:
    keys = [f"part-{number}.parquet" for number in (3, 1, 2, 4, 0, 5, 7)]
    infos = [ObjectInfo(key, len(key), key, dt.datetime.now(dt.UTC)) for key in [*keys, "manifest.json"]]
    delivery = Delivery("aws_cur", "2026-04", "", instant("2026-05-02"), tuple(infos[:-1]), infos[-1])
    landed = fetching.fetch(Meeting(len(infos)), delivery, tmp_path)
    assert [(one.key, one.role) for one in landed] == [*((key, "data") for key in keys), ("manifest.json", "manifest")]
    for one in landed:
        assert (tmp_path / one.file).read_text() == one.key
        assert one.sha256 == hashlib.sha256(one.key.encode()).hexdigest()


def test_one_client_of_a_source_fetches_all_its_deliveries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    opened: list[Any] = []
    original = land.open_source
    monkeypatch.setattr(land, "open_source", lambda base, source, **more: opened.append(source) or original(base, source, **more))
    organisation = Organisation(tmp_path)
    for month in ("2026-04", "2026-05"):
        organisation.deliver([bill_line(day=f"{month}-01")], at="2026-06-02", month=month)
    assert organisation.outcomes() == {"landed": 2}
    assert len(opened) == 1


def test_a_delivery_looks_into_its_own_partition_and_forces_to_disk_what_got_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A landing of many partitions would else be listed for each of them, and a flush costs more than a record."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "runs", "kind": "training_runs"})
    runs = organisation.landing / "runs"
    looked_at: list[Path] = []
    forced: list[Path] = []
    entries, sync = store._entries, durable.sync
    monkeypatch.setattr(store, "_entries", lambda folder: looked_at.append(folder) or entries(folder))
    monkeypatch.setattr(durable, "sync", lambda path: forced.append(path) or sync(path))
    for name in ("a", "b"):
        looked_at.clear(), forced.clear()
        write_run(tmp_path / f"exports/runs/{name}.run.json", name, at="2026-05-02")
        line = organisation.line
        plan = line.plan()
        looked_at.clear()
        assert [landed.outcome for landed in line.land_all(plan)] == ["landed"]
        assert set(looked_at) == {runs / f"{name}.run.json", runs / "_bundles"}
        above = [path for path in forced if path in (organisation.landing, runs, runs / f"{name}.run.json")]
        new = [runs / "a.run.json", runs, organisation.landing] if name == "a" else [runs / "b.run.json", runs]
        assert above == new
        staged = [path for path in forced if organisation.landing / ".staging" in path.parents]
        assert {"_generation.json", f"{name}.run.json"} <= {path.name for path in staged}
