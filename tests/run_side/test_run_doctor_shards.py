"""Before a refresh `doctor` names files of any partition of Google's that one EXPORT DATA cannot have written."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from doctor_kit import CLOCK, doctor

from tests.connectors.gcp import LINE, write_partition
from tests.landing.kit import set_time


def test_doctor_names_the_left_over_files_of_an_old_partition_and_of_a_new_one_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", CLOCK["TRAINLEDGER_NOW"])
    for day in ("2026-02-08", "2026-04-08"):
        start = dt.datetime.fromisoformat(f"{day}T10:00:00+00:00")
        row = {**LINE, "usage_start_time": start, "usage_end_time": start + dt.timedelta(hours=1)}
        for name, at in (("part-000000000000", "2026-04-13"), ("part-000000000001", "2026-04-10")):
            set_time(write_partition(tmp_path / "exports/google", day, row, name=name), at)
    config = tmp_path / "trainledger.yaml"
    sources = "[{name: google, kind: gcp_billing, location: ./exports/google}]"
    config.write_text(f"organisation: {{name: Example AG}}\nhome: ./home\nsources: {sources}\n")
    _, checks = doctor(config)
    stated = [check for check in checks if check["facts"].get("reason") == "orphan_shards"]
    assert [check["outcome"] for check in stated] == ["warning", "warning"]
    for check, day in zip(stated, ("2026-02-08", "2026-04-08"), strict=True):
        shown = f"_PARTITIONTIME={day}: its files are not of one export: part-000000000001.parquet of 2026-04-10"
        assert shown in check["message"]
