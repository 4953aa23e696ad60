"""`trainledger doctor` about sources that cannot be read: each is named in the words of `refresh`, the others are still asked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from doctor_kit import answer, doctor, two_chunks

from connectors.stores import ObjectInfo
from dagster_project.doctor import reading
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import make_plan
from dagster_project.settings import load_settings
from tests.connectors.gcp import CARBON, EMISSION, write_partition
from tests.oracle.builders import Exports, hour


def test_one_bad_source_never_stops_the_others(tmp_path: Path) -> None:
    exports = two_chunks(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 1.0)], name="broken")
    (tmp_path / "exports/broken/data/BILLING_PERIOD=2026-04/broken-00001.snappy.parquet").write_bytes(b"PAR1 no Parquet PAR1")
    code, found = doctor(exports.config())
    refused = answer(found, "refusal")
    assert code == 3 and refused["about"] == "broken" and refused["remedy"]
    assert answer(found, "cost", "cur")["facts"]["share_by_tag"] == 0.998


def test_a_focus_file_in_the_folders_of_a_bill_is_recognised(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    exports.bill([{"BilledCost": 1.0, "ChargePeriodStart": datetime(2026, 4, 1)}])  # noqa: DTZ001
    code, found = doctor(exports.config())
    refused = answer(found, "refusal")
    assert code == 3 and "this looks like a FOCUS file" in refused["message"]
    assert (
        refused["remedy"].startswith("FOCUS is read as AWS Data Exports delivers it (aws_focus)")
        and "Add " not in refused["remedy"]
    )


def test_a_carbon_export_in_the_place_of_a_google_bill_is_recognised(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    write_partition(exports._source("google", "gcp_billing"), "2026-05-01", EMISSION, schema=CARBON)
    code, found = doctor(exports.config())
    refused = answer(found, "refusal")
    assert code == 3 and "this looks like a gcp_carbon" in refused["message"]
    assert "manifest" not in (refused["message"] + refused["remedy"]).lower()


def test_errors_of_google_never_mention_manifests(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    for name, file in {"csv": "_PARTITIONTIME=2026-04-01/0.csv", "empty": "_SUCCESS"}.items():
        for kind in ("gcp_billing", "gcp_carbon"):
            path = exports._source(f"{kind}-{name}", kind) / file
            path.parent.mkdir(exist_ok=True)
            path.write_text("cost\n1\n")
    code, found = doctor(exports.config())
    assert code == 3
    stated = [check["message"] + check["remedy"] for check in found if check["is_source"]]
    assert len(stated) == 4 and not [shown for shown in stated if "manifest" in shown.lower()]
    assert "1 file of neither Parquet nor JSON lines" in answer(found, "refusal", "gcp_billing-csv")["message"]
    assert "nothing in this folder but 1 that is no data" in answer(found, "source", "gcp_billing-empty")["message"]


def test_a_landing_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 1.0)])
    config = exports.config()
    (tmp_path / "file").write_text("x")
    config.write_text(config.read_text() + "landing: ./file/landing\n")
    code, found = doctor(config)
    assert code == 2 and answer(found, "landing")["outcome"] == "problem"


@pytest.mark.parametrize("name", ["nine", "below"])
def test_doctor_and_refresh_say_the_same_of_what_was_passed_by(tmp_path: Path, name: str) -> None:
    exports = Exports(tmp_path)
    for month in range(1, 10):
        exports.bill([hour(f"2026-{month:02}-10T10:00:00", 1.0)], period=f"2026-{month:02}", name=name)
    if name == "nine":
        shutil.rmtree(tmp_path / "exports/nine/metadata")
    else:
        exports.sources[0]["location"] = "exports"
    config = exports.config()
    settings = load_settings(config)
    [(_, refusal)] = make_plan(settings.sources, settings.base, open_landing(settings)).refused
    code, found = doctor(config)
    stated = answer(found, "refusal")
    assert code == 3 and (stated["message"], stated["remedy"]) == (refusal.message, refusal.remedy)
    assert {"nine": "9 data files, no metadata/", "below": "an export one level below, in below"}[name] in stated["message"]


class Bucket:
    """A store of some keys below a bucket, all of one byte."""

    def __init__(self, location: str, keys: list[str]) -> None:
        self.uri, prefix = location, f"{location.removeprefix('s3://').partition('/')[2]}/"
        self.keys = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return (ObjectInfo(key, 1, "e", datetime(2026, 5, 1, tzinfo=UTC)) for key in self.keys)


def test_nothing_below_a_prefix_is_reported_with_the_prefix_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ["exports/hourly-cur/data/x.parquet", "exports/carbon/data/y.parquet"]
    monkeypatch.setattr(reading, "open_source", lambda base, source, *_, **__: Bucket(source.location, keys))
    exports = Exports(tmp_path)
    exports.sources.append({"name": "cur", "kind": "aws_cur", "location": "s3://bucket/exports/hourly_cur"})
    code, found = doctor(exports.config())
    stated = answer(found, "source")
    assert code == 3
    assert stated["message"] == "s3://bucket/exports/hourly_cur: nothing below this prefix; did you mean 'hourly-cur'?"
