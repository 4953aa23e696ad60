"""Nothing that lies in a location is skipped in silence: one refresh over what people put in wrong places."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import pytest

from tests.conftest import Command
from tests.line.kit import NOW, date_files, query, stamps
from tests.oracle.builders import TEN, Exports, hour, run

pytestmark = pytest.mark.slow

MONTHS = [f"2025-{month:02d}" for month in range(1, 10)]
CONSOLE = "usage_month,service,region,total_lbm_emissions,total_mbm_emissions,model_version\n2026-04,AmazonEC2,Ohio,1,0,v3.0.1\n"
PROM = 'neuroncore_utilization_ratio{neuroncore="0"} 0.5\n'
BYSTANDERS = ("_SUCCESS", ".DS_Store", "README.txt", "aws-programmatic-access-test-object", "data/.cur-00001.snappy.parquet.crc")


class Told(NamedTuple):
    """One refresh, and what is afterwards."""

    folder: Path
    process: CompletedProcess
    status: dict[str, dict]

    def finding(self, source: str) -> tuple[str, str, str, str]:
        [row] = query(
            self.folder / "home",
            "select source_object, value, reason, remedy from marts.fct_quarantine"
            f" where source_name = '{source}' and reason in ('not_understood', 'not_published')",
        )
        return row

    def counts(self, source: str) -> tuple[int, ...]:
        [row] = query(
            self.folder / "home",
            "select listed, delivered, refused, bystanders, awaited, not_understood from ops.listed_objects"
            f" where source_name = '{source}'",
        )
        return row


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Told:
    folder = tmp_path_factory.mktemp("nothing-skipped")
    exports = Exports(folder)
    for name in ("cur", "nine", "below", "overdue"):
        for month in ["2026-04"] if name == "cur" else MONTHS:
            payer = f"{sum(map(ord, name)):012d}"
            machine = "i-0aaa" if name == "cur" else f"i-{name}"
            row = hour(f"{month}-10T10:00:00", 21.5, bill_payer_account_id=payer, line_item_resource_id=machine)
            exports.bill([row], period=month, name=name)
    exports.runs(run("run-a", ("i-0aaa", TEN + "Z", "2026-04-10T11:00:00Z", None)))
    there = folder / "exports"
    for name in BYSTANDERS:
        (there / "cur" / name).write_bytes(b"x")
    shutil.rmtree(there / "nine/metadata")
    (there / "below").rename(there / "hourly-cur")
    (there / "below").mkdir()
    (there / "hourly-cur").rename(there / "below/hourly-cur")
    shutil.rmtree(there / "overdue/metadata/BILLING_PERIOD=2025-08")
    for kind, files in {
        "aws_carbon": {"report.csv": CONSOLE},
        "gcp_billing": {"_PARTITIONTIME=2026-04-01/0.csv": "cost\n1\n", "_PARTITIONTIME=2026-04-02/0.avro": "{}"},
        "neuron_monitor": {"node.prom": PROM, "node.txt": "idle"},
        "training_runs": {"node.prom": PROM, "node.txt": "idle", "plot.png": "x"},
    }.items():
        location = exports._source("runs" if kind == "training_runs" else kind, kind)
        for name, text in files.items():
            (location / name).parent.mkdir(exist_ok=True)
            (location / name).write_text(text)
    config = exports.config()
    date_files(there, datetime(2026, 5, 20, tzinfo=UTC))
    for month, day in {"2025-08": 10, "2025-09": 12}.items():
        for path in (there / "overdue").rglob(f"BILLING_PERIOD={month}/*"):
            os.utime(path, (datetime(2026, 5, day, tzinfo=UTC).timestamp(),) * 2)
    for path in (there / "overdue").rglob("*"):
        if path.is_file() and "2025-08" not in str(path) and "2025-09" not in str(path):
            os.utime(path, (datetime(2026, 5, 1, tzinfo=UTC).timestamp(),) * 2)
    process = trainledger("refresh", "--config", config, now=NOW)
    status = json.loads(trainledger("status", "--json", "--config", config, now=NOW).stdout)
    return Told(folder, process, {source["name"]: source for source in status["sources"]})


def test_what_was_passed_by_is_exit_3_and_the_others_are_published(told: Told) -> None:
    assert told.process.returncode == 3, told.process.stderr
    assert "Published build" in told.process.stderr and "Traceback" not in told.process.stderr
    assert query(told.folder / "home", "select count(*) from marts.fct_training_run_costs where effective_cost = 21.5") == [(1,)]


def test_nine_months_without_metadata_are_counted_with_their_partitions(told: Told) -> None:
    place, value, reason, remedy = told.finding("nine")
    assert (place, reason) == ("data/BILLING_PERIOD=2025-01/nine-00001.snappy.parquet", "not_understood")
    assert value == f"9 data files, no metadata/ ({', '.join(MONTHS)})"
    assert "Copy the whole export" in remedy
    assert f"nine: {told.folder}/exports/nine: {value}" in told.process.stderr
    assert told.counts("nine") == (9, 0, 0, 0, 0, 9)


def test_an_export_one_level_below_is_named_with_its_folder(told: Told) -> None:
    _, value, _, remedy = told.finding("below")
    assert value.startswith("an export one level below, in hourly-cur (18 objects)")
    assert remedy.endswith(f"such as {told.folder}/exports/below/hourly-cur.")


def test_a_month_whose_manifest_is_missing_is_not_published_once_newer_objects_came_a_day_later(told: Told) -> None:
    place, value, reason, remedy = told.finding("overdue")
    assert (place, reason) == ("data/BILLING_PERIOD=2025-08", "not_published")
    assert value.startswith("2025-08: 1 data file of 2026-05-10 without a manifest") and "manifest" in remedy
    assert told.counts("overdue") == (17, 16, 1, 0, 0, 0)
    [august] = [month for month in told.status["overdue"]["months"] if month["month"] == "2025-08"]
    assert august["state"] == "quarantined"


def test_a_console_report_of_carbon_is_recognised(told: Told) -> None:
    _, value, _, remedy = told.finding("aws_carbon")
    assert "this looks like a carbon report of the AWS console" in value
    assert "below a folder payer=<account id>" in remedy and "data/" not in remedy


def test_google_files_of_other_formats_are_reported_without_a_word_of_manifests(told: Told) -> None:
    _, value, _, remedy = told.finding("gcp_billing")
    assert value == "2 files of neither Parquet nor JSON lines: 1 .avro, 1 .csv (2026-04-01, 2026-04-02)"
    assert "Parquet or JSON lines" in remedy and "_PARTITIONTIME=" in remedy
    assert "manifest" not in (value + remedy).lower()


@pytest.mark.parametrize(("source", "counted"), [("neuron_monitor", (2, 0, 0, 0, 0, 2)), ("runs", (4, 1, 0, 0, 0, 3))])
def test_prometheus_and_text_files_are_reported_where_no_kind_reads_them(
    told: Told, source: str, counted: tuple[int, ...]
) -> None:
    _, value, reason, _ = told.finding(source)
    assert reason == "not_understood" and "1 .prom" in value and "1 .txt" in value
    assert told.counts(source) == counted


def test_known_bystanders_are_counted_and_no_finding(told: Told) -> None:
    assert told.counts("cur") == (2 + len(BYSTANDERS), 2, 0, len(BYSTANDERS), 0, 0)
    assert told.status["cur"]["quarantined"] == []


def test_status_shows_the_findings_and_the_counts(told: Told, trainledger: Command) -> None:
    assert told.status["nine"]["objects"]["not_understood"] == 9
    [item] = told.status["nine"]["quarantined"]
    assert item["value"].startswith("9 data files")
    shown = trainledger("status", "--config", told.folder / "trainledger.yaml", now=NOW).stdout
    assert "objects of nine: 9 listed, 0 delivered" in shown


def test_a_second_refresh_states_the_same_and_writes_nothing(told: Told, trainledger: Command) -> None:
    before = stamps(told.folder / "home")
    again = trainledger("refresh", "--config", told.folder / "trainledger.yaml", now=NOW)
    assert again.returncode == 3 and "the publication is up to date" in again.stderr
    assert stamps(told.folder / "home") == before


def test_what_is_understood_later_is_no_finding_any_more(told: Told, trainledger: Command, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(told.folder, folder, symlinks=True)
    for path in (folder / "exports/runs").glob("node.*"):
        path.unlink()
    config = folder / "trainledger.yaml"
    trainledger("refresh", "--config", config, now=NOW)
    reasons = query(folder / "home", "select reason from marts.fct_quarantine where source_name = 'runs'")
    assert reasons == []
    counts = "select delivered, not_understood from ops.listed_objects where source_name = 'runs'"
    assert query(folder / "home", counts) == [(1, 1)]
