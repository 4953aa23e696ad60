"""Landed bytes against their sha256: by `verify --landing` all of them, by a refresh those of the months that it builds."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
from pathlib import Path

import pytest

from dagster_project.base.failures import SourceError, UsageError
from dagster_project.commands.verifying import require_a_subject, verify_landing
from dagster_project.warehouse.building import compare_landed
from dagster_project.warehouse.builds import Build
from tests.landing.kit import Organisation, bill_line, write_run

APRIL, MAY = dt.date(2026, 4, 1), dt.date(2026, 5, 1)


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """Bills of April, twice, and of May, and a run of May."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    made = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, {"name": "runs", "kind": "training_runs"})
    for at, month, cost in (("2026-05-02", "2026-04", 1.0), ("2026-05-09", "2026-04", 2.0), ("2026-06-02", "2026-05", 3.0)):
        made.deliver([bill_line(cost, day=f"{month}-01")], at=at, month=month)
        made.refresh()
    node = {"resource_id": "i-1", "started_at": "2026-05-01T00:00:00Z", "ended_at": "2026-05-02T00:00:00Z"}
    write_run(tmp_path / "exports/runs/a.run.json", "run-a", at="2026-06-02", nodes=[node])
    made.refresh()
    return made


def landed(organisation: Organisation, partition: str, which: int = -1) -> Path:
    """The data file of a generation: by default of the newest in its partition."""
    folder = sorted(path for path in (organisation.landing / "cur" / partition).iterdir() if path.is_dir())[which]
    (file,) = folder.glob("*.parquet")
    return file


def flip(path: Path) -> None:
    """One bit, and no other date of the file: as a disk loses one."""
    stat, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def verified(organisation: Organisation, *, as_json: bool = False) -> tuple[int, list[str]]:
    told: list[str] = []
    return verify_landing(organisation.settings, told.append, as_json=as_json), told


def compared(organisation: Organisation, *months: dt.date, reads_all: bool = False) -> None:
    build = Build("b", "", "", "", {}, [month.isoformat() for month in months], is_full=False, reads_all=reads_all)
    line = organisation.line
    compare_landed(line.landing, organisation.settings.sources, build, line.elect())


def test_a_landing_whose_bytes_are_those_that_were_landed_passes(organisation: Organisation) -> None:
    code, told = verified(organisation)
    assert code == 0 and told[-1].startswith("7 of 7 landed objects have the bytes that were landed")
    compared(organisation, APRIL, MAY, reads_all=True)


def test_a_flipped_bit_is_named_with_source_object_and_both_hashes(organisation: Organisation) -> None:
    file = landed(organisation, "2026-04", 0)  # superseded: no month is made of it
    flip(file)
    code, told = verified(organisation)
    assert code == 1 and told[-1].startswith("6 of 7")
    assert told[0].startswith("differs: cur 2026-04: data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet in cur/2026-04/")
    code, [text] = verified(organisation, as_json=True)
    [one] = json.loads(text)["differences"]
    assert code == 1 and one["source"] == "cur" and one["expected"] != one["found"]
    assert f"sha256 {one['expected']} expected, sha256 {one['found']} found" in told[0]


def test_an_object_that_is_gone_is_a_difference(organisation: Organisation) -> None:
    landed(organisation, "2026-05").unlink()
    code, told = verified(organisation)
    assert code == 1 and told[0].endswith("expected, gone")


def test_a_refresh_compares_what_its_months_are_made_of_and_with_full_all(organisation: Organisation) -> None:
    flip(landed(organisation, "2026-04"))
    compared(organisation, MAY)
    with pytest.raises(SourceError, match=r"other bytes than were landed \(cur 2026-04: data/.* expected, sha256 .* found\)"):
        compared(organisation, APRIL)
    organisation.deliver([bill_line(4.0)], at="2026-06-05")
    organisation.refresh()
    compared(organisation, APRIL, MAY)  # it no longer counts
    with pytest.raises(SourceError, match="other bytes than were landed"):
        compared(organisation, reads_all=True)


def test_a_damaged_run_record_is_found_by_the_months_of_its_run(organisation: Organisation) -> None:
    (file,) = organisation.landing.glob("runs/*/*/*.run.json")
    flip(file)
    compared(organisation, APRIL)
    with pytest.raises(SourceError, match=r"a\.run\.json"):
        compared(organisation, MAY)


def test_damaged_bytes_are_never_derived_again(organisation: Organisation) -> None:
    flip(landed(organisation, "2026-05"))
    shutil.rmtree(organisation.settings.cache)  # as after an upgrade
    with pytest.raises(SourceError, match="other bytes than were landed"):
        organisation.line.elect()


def test_verify_without_a_subject_is_no_success() -> None:
    with pytest.raises(UsageError, match="--landing"):
        require_a_subject(None, False, None)
