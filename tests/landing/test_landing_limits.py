"""`delivery_limits`: a delivery that takes too much is refused by name, and the others of its source and of all are landed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from connectors.deliveries import Delivery
from connectors.errors import ConnectorError, TooCostlyError
from connectors.registry import connector_for
from connectors.runs import training_runs
from dagster_project.landing import worker
from dagster_project.landing.fetching import Fetched
from dagster_project.landing.land import Landed
from dagster_project.landing.limits import Allowance, bytes_of, watched
from dagster_project.landing.worker import Worker, is_read_here
from dagster_project.settings import DeliveryLimits
from tests.landing.kit import Organisation, bill_line, write_run
from tests.landing.whole_company import whole_company

RUNS = {"name": "runs", "kind": "training_runs"}
LITTLE = {"cpu_s": 1, "wall_s": 1}


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")


@pytest.fixture
def all_in_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads every delivery in the worker, and none together with another."""
    monkeypatch.setattr(worker, "is_read_here", lambda *_: False)
    monkeypatch.setattr("dagster_project.landing.fetching.SMALL", -1)


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def allowed(cpu_s: int = 60, wall_s: int = 60, memory_bytes: int = 1 << 30) -> Allowance:
    return Allowance("file:///x", cpu_s, wall_s, memory_bytes)


def never(_: Any = None) -> None:
    raise AssertionError("nothing is interrupted")


def outcomes(landed: list[Landed]) -> dict[str, str]:
    return {one.partition: one.outcome for one in landed}


def test_a_small_delivery_whose_reading_never_ends_is_refused_and_its_neighbours_are_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation = Organisation(tmp_path, RUNS, delivery_limits=LITTLE)
    for name in ("a", "endless", "z"):
        write_run(tmp_path / f"exports/runs/{name}.run.json", name, at="2026-05-02")
    original: Callable[..., Any] = training_runs.convert

    def convert(delivery: Delivery, *rest: Any) -> Any:
        if "endless" in delivery.partition:
            spin(60)
        return original(delivery, *rest)

    monkeypatch.setattr(connector_for("training_runs"), "convert", convert)
    begun = time.monotonic()
    landed = organisation.refresh()
    assert outcomes(landed) == {"a.run.json": "landed", "endless.run.json": "refused", "z.run.json": "landed"}
    [refused] = [one.refusal for one in landed if one.refusal]
    assert refused.refusals[0].reason == "too_costly"
    assert "endless.run.json" in refused.refusals[0].message and "delivery_limits" in refused.refusals[0].remedy
    assert time.monotonic() - begun < 50  # of three that would have spun for a minute


def test_a_refused_delivery_is_left_alone_until_its_limits_are_others(tmp_path: Path, all_in_worker: None) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    limits = DeliveryLimits.model_construct(cpu_s=0, wall_s=0, memory="2GB")
    usual = organisation.settings
    organisation.settings = usual.model_copy(update={"delivery_limits": limits})
    assert [one.outcome for one in organisation.refresh()] == ["refused"]
    assert organisation.refresh() == []
    organisation.settings = usual
    assert [one.outcome for one in organisation.refresh()] == ["landed"]


def test_the_worker_makes_of_every_kind_what_this_process_makes_of_it(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    here = whole_company(tmp_path / "here")
    there = whole_company(tmp_path / "there")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "is_read_here", lambda *_: True)
        expected = {(one.source, one.partition): one.contents for one in here.refresh()}
    request.getfixturevalue("all_in_worker")
    found = {(one.source, one.partition): one.contents for one in there.refresh()}
    assert found == expected and all(found.values())


def test_a_worker_that_is_killed_is_one_unreadable_delivery_and_the_next_one_has_another(
    tmp_path: Path, all_in_worker: None
) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    line = organisation.line
    os.kill(line.landing.deriver._worker._process.pid, signal.SIGKILL)
    [landed] = line.land_all(line.plan())
    assert landed.outcome == "unreadable" and landed.error and "SIGKILL" in landed.error.message
    assert [one.outcome for one in line.land_all(line.plan())] == ["landed"]


def test_a_delivery_that_stops_answering_is_ended_after_its_wall_time(tmp_path: Path) -> None:
    worker = Worker(tmp_path, "100MB")
    os.kill(worker._process.pid, signal.SIGSTOP)  # uses neither CPU time nor memory
    fetched = Fetched(None, tmp_path, [], tmp_path, "", "file:///x", "v")  # type: ignore[arg-type]
    with pytest.raises(TooCostlyError, match="more than 0 seconds"):
        worker.derive([fetched], allowed(wall_s=0))
    assert worker._process.returncode == -signal.SIGKILL


def test_what_goes_wrong_in_the_worker_is_raised_here(tmp_path: Path) -> None:
    worker = Worker(tmp_path, "100MB")
    fetched = Fetched(None, tmp_path, [], tmp_path, "", "file:///x", "v")  # type: ignore[arg-type]
    with pytest.raises(AttributeError) as caught:
        worker.derive([fetched], allowed())
    assert "worker.py" in caught.value.__notes__[0]
    worker.close()


def test_the_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from dagster_project.landing.worker import Worker\n"
        f"worker = Worker(Path({str(tmp_path)!r}), '100MB'); print(worker._process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        worker = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    worker.wait(timeout=20)  # psutil.TimeoutExpired if it goes on


def test_memory_that_a_small_delivery_takes_ends_its_reading() -> None:
    kept = []
    with pytest.raises(TooCostlyError, match="more than 64 MiB of memory"), watched(allowed(memory_bytes=64 << 20), lambda: None):
        while True:
            kept.append(bytes(1 << 20))


def test_no_handler_of_a_connector_keeps_what_ends_its_reading() -> None:
    with pytest.raises(TooCostlyError, match="CPU seconds"), watched(allowed(cpu_s=0), lambda: None):
        for _ in range(600):
            try:
                spin(0.1)
            except Exception:
                raise AssertionError("an `except Exception` met it") from None


def test_a_reading_inside_its_limits_is_not_touched_and_its_own_error_stays_its_own() -> None:
    with watched(allowed(), never):
        spin(0.3)
    with pytest.raises(ConnectorError, match="its own"), watched(allowed(), never):
        raise ConnectorError("its own")


def test_times_grow_with_each_begun_mebibyte_and_memory_stands_beside_that_of_the_engine() -> None:
    limits = DeliveryLimits(cpu_s=2, wall_s=3, memory="1GB")
    allowance = Allowance.of(limits, "x", (5 << 20) + 1, "1500MB")
    assert (allowance.cpu_s, allowance.wall_s, allowance.memory_bytes) == (12, 18, 2_500_000_000)
    assert [bytes_of(text) for text in ("1MB", "2GiB", "3TB")] == [10**6, 2 << 30, 3 * 10**12]


def test_bytes_that_end_the_process_that_reads_them_stop_no_other_delivery(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path)
    for month in ("2026-03", "2026-04"):
        organisation.deliver([bill_line(day=f"{month}-01")], at="2026-06-02", month=month)
    # Arrow ends the process at some damaged bytes; those that are known are refused before, so here the reader is told to
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "is_read_here", is_read_here)
        patch.setenv("PYTHONPATH", f"{_reader_that_ends_at(tmp_path, '2026-04')}:{os.environ.get('PYTHONPATH', '')}")
        march, april = organisation.refresh()
    assert (march.outcome, april.outcome) == ("landed", "unreadable")
    assert "the process that read it ended (SIGSEGV)" in str(april.error) and "2026-04" in str(april.error)
    assert outcomes(organisation.refresh()) == {"2026-04": "landed"}


def _reader_that_ends_at(folder: Path, month: str) -> Path:
    """A folder whose `sitecustomize` lets the reading of a month's bill end like a bad address in native code."""
    place = folder / "path"
    place.mkdir()
    text = f"""import os, signal, sys
if "dagster_project.landing.worker" in sys.orig_argv:
    from connectors.formats import parquet
    original = parquet.open_parquet
    def open_parquet(path, key, uri):
        if "{month}" in key:
            os.kill(os.getpid(), signal.SIGSEGV)
        return original(path, key, uri)
    parquet.open_parquet = open_parquet
"""
    (place / "sitecustomize.py").write_text(text)
    return place
