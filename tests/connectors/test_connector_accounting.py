"""Every listed object is accounted for, whatever lies in a location."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.deliveries import Refusal
from connectors.layouts.accounting import Counts, is_bystander, look, nothing_there
from connectors.registry import KINDS, connector_for
from connectors.stores.local import LocalStore
from tests.shared import SHARED, SHARED_REASON

NAMES = st.sampled_from(
    ["a.parquet", "a.csv", "_SUCCESS", "a.prom", "a.run.json", "README", "a-Manifest.json", "plot.png", "x.csv.gz"]
)
FOLDERS = st.sampled_from(
    [
        "",
        "data/BILLING_PERIOD=2026-04",
        "metadata/BILLING_PERIOD=2026-04",
        "data/model_version=v3/usage_period=2026-04",
        "metadata/model_version=v3/usage_period=2026-04",
        "_PARTITIONTIME=2026-04-01",
        "_PARTITIONTIME=today",
        "20260401-20260501",
    ]
)


def seen(kind: str, folder: Path) -> tuple[list[Refusal], Counts]:
    connector = connector_for(kind)
    found, counts = look(kind, connector.find_deliveries, getattr(connector, "LAYOUTS", ()), LocalStore(str(folder), folder))
    return [item for item in found if isinstance(item, Refusal)], counts


@given(kind=st.sampled_from(KINDS), keys=st.sets(st.tuples(FOLDERS, NAMES), min_size=1, max_size=8))
def test_the_counts_add_up_to_what_is_listed_whatever_lies_there(
    tmp_path_factory: pytest.TempPathFactory, kind: str, keys: set[tuple[str, str]]
) -> None:
    location = tmp_path_factory.mktemp("location")
    for folder, name in keys:
        path = location / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"dataFiles": []}')
    refusals, counts = seen(kind, location)
    parts = (counts.delivered, counts.refused, counts.bystanders, counts.awaited, counts.not_understood)
    assert counts.listed == sum(parts) == len(keys)
    if counts.listed > counts.bystanders:
        assert counts.delivered or refusals, "something lies there, and nothing is reported"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_SUCCESS", True),
        (".part-0.parquet.crc", True),
        (".git/config", True),
        ("README.txt", True),
        ("aws-programmatic-access-test-object", True),
        ("folder/", True),
        ("_PARTITIONTIME=2026-04-01/0.csv", False),
        ("notes.txt", False),
    ],
)
def test_bystanders_are_known_by_their_names(name: str, expected: bool) -> None:
    assert is_bystander(name) is expected


def test_a_manifest_that_is_not_a_day_late_is_awaited_and_no_finding(tmp_path: Path) -> None:
    now = datetime(2026, 5, 2, tzinfo=UTC)
    for month, at in {"2026-03": now, "2026-04": now + timedelta(hours=20)}.items():
        for part, name, text in (
            ("data", "b-1.csv", "x"),
            ("metadata", "b-Manifest.json", f'["b/data/BILLING_PERIOD={month}/b-1.csv"]'),
        ):
            path = tmp_path / f"b/{part}/BILLING_PERIOD={month}/{name}"
            path.parent.mkdir(parents=True)
            path.write_text(text if part == "data" else f'{{"dataFiles": {text}}}')
            os.utime(path, (at.timestamp(),) * 2)
    (tmp_path / "b/metadata/BILLING_PERIOD=2026-03/b-Manifest.json").unlink()
    assert seen("aws_cur", tmp_path / "b") == ([], Counts(3, 2, 0, 0, 1, 0))


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
@pytest.mark.parametrize(
    ("kind", "sample", "named"),
    [
        ("aws_cur", "aws/focus-1.0__FOCUS-Sample-Data__focus_sample.csv", "a FOCUS file"),
        ("aws_carbon", "aws/ccft-console-annual__carbon-json__cloud_example_1.csv", "a carbon report of the AWS console"),
        ("aws_carbon", "aws/cur2-synthetic__aws-cur-anonymize__sample-cur20.csv", "an aws_cur"),
        ("gcp_billing", "aws/legacy-cur__focus_converters__sample-anonymous-aws-export-dataset.csv", "an aws_cur"),
        ("neuron_monitor", "telemetry/gke_tpu_device_plugin_tpu7x.prom", "a tpu_monitoring"),
        ("training_runs", "telemetry/neuron_monitor_prometheus_inf1_excerpt.prom", "a neuron_monitor"),
    ],
)
def test_real_files_in_a_wrong_place_are_recognised(tmp_path: Path, kind: str, sample: str, named: str) -> None:
    assert SHARED
    path = SHARED / "samples" / sample
    (tmp_path / path.name).write_bytes(path.read_bytes())
    [refusal], counts = seen(kind, tmp_path)
    assert f"this looks like {named}" in refusal.message
    assert counts.not_understood == 1


def test_an_export_of_another_kind_is_known_by_its_folders_where_its_files_are_too_large_to_be_read(tmp_path: Path) -> None:
    path = tmp_path / "data/BILLING_PERIOD=2026-04/hourly-00001.snappy.parquet"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(9 << 20)
    [refusal], _ = seen("aws_carbon", tmp_path)
    assert "1 object in data/ and metadata/ of an export of another kind; this looks like an aws_cur" in refusal.message


@pytest.mark.parametrize(
    ("kind", "name", "content", "named", "remedy"),
    [
        (
            "aws_cur",
            "focus.csv",
            "BilledCost,ChargePeriodStart,x_ServiceCode\n",
            "an aws_focus",
            "give it a source of its own kind",
        ),
        (
            "aws_focus",
            "focus.csv",
            "BilledCost,ChargePeriodStart,x_SkuDetails\n",
            "a FOCUS file of neither AWS nor Google Cloud",
            "as AWS Data Exports delivers it",
        ),
        ("aws_cur", "carbon.json", '{"Results": [{"EmissionsValues": {}}]}', "AWS Sustainability API", "CARBON_EMISSIONS export"),
        ("aws_carbon", "water.json", '{"Results": [{"AllocationValues": {}}]}', "an answer about water", "of kind aws_water"),
        ("aws_carbon", "costs.json", '{"ResultsByTime": []}', "an answer of AWS Cost Explorer", "of kind provider_totals"),
        (
            "aws_carbon",
            "year.csv",
            "usage_year,region,total_mbm_emissions\n",
            "which names no account",
            "below a folder payer=<account id>",
        ),
        (
            "aws_cur",
            "1-aws-billing-csv-2015-04.csv",
            "InvoiceID,PayerAccountId,LinkedAccountId,RecordType,RecordID,BillingPeriodStartDate,BillingPeriodEndDate\n",
            "a detailed billing report, AWS's form before the CUR, which is not read",
            "CUR 2.0",
        ),
        (
            "aws_carbon",
            "carbon.json",
            '{"accountId": "1", "emissions": {"carbonEmissionEntries": [{"mbmCarbon": "0.05", "startDate": "2022-01-01"}]}}',
            "carbon by AWS's experimental script, whose endpoint is switched off",
            "CARBON_EMISSIONS export",
        ),
        (
            "gcp_billing",
            "table.csv",
            "Project name,SKU description,Cost type,Usage start date,Usage end date,Usage amount,Unrounded Cost ($)\n",
            "a cost table of Google Cloud's console, which is not read",
            "from their export in BigQuery",
        ),
        (
            "gcp_billing",
            "bill.csv",
            "billing_account_id,service.id,usage_start_time,cost\n",
            "1 file of neither Parquet nor JSON lines: 1 .csv",
            "as Parquet or JSON lines",
        ),
        ("aws_carbon", "bill.csv", "line_item_usage_start_date\n", "an aws_cur", "give it a source of its own kind"),
    ],
)
def test_a_file_of_another_form_is_named_with_the_one_thing_that_works(
    tmp_path: Path, kind: str, name: str, content: str, named: str, remedy: str
) -> None:
    (tmp_path / name).write_text(content)
    [refusal], _ = seen(kind, tmp_path)
    assert named in refusal.message and remedy in refusal.remedy
    assert "metadata/" not in refusal.remedy, "how files of the source's own kind would lie is no help here"


def test_a_manifest_has_no_say_in_what_its_files_look_like(tmp_path: Path) -> None:
    (tmp_path / "export-Manifest.json").write_text("{}")
    (tmp_path / "export-00001.csv").write_text("BilledCost,ChargePeriodStart,ServiceName\n1,2026-04-01,x\n")
    [refusal], _ = seen("aws_cur", tmp_path)
    assert "this looks like a FOCUS file" in refusal.message


@pytest.mark.parametrize(
    ("names", "location", "named"),
    [
        ([], "s3://bucket/prefix", "s3://bucket/prefix: nothing below this prefix"),
        ([], "./runs", "./runs: nothing in this folder"),
        ([], "prom://h", "prom://h: none of the metrics that are read, on the days that were asked for"),
        (["_SUCCESS", "README"], "./runs", "./runs: nothing in this folder but 2 that are no data, such as _SUCCESS or README"),
        (["a.run.json"], "./runs", None),
    ],
)
def test_a_location_with_nothing_to_read_is_named_empty_and_is_no_refusal(
    tmp_path: Path, names: list[str], location: str, named: str | None
) -> None:
    for name in names:
        (tmp_path / name).write_text("x")
    refusals, counts = seen("training_runs", tmp_path)
    stated = nothing_there(location, counts)
    assert refusals == [] and (stated and stated[0]) == named
    assert stated is None or "Correct `location`" in stated[1]


def test_links_pipes_and_sockets_are_counted_and_named(tmp_path: Path) -> None:
    """A folder that is a link may hold the bill of the year before: nobody must believe that it was read."""
    location, elsewhere = tmp_path / "rates", tmp_path / "elsewhere"
    for folder in (location / "2026", elsewhere):
        folder.mkdir(parents=True)
        (folder / "rates.csv").write_text("rate_date,base_currency,quote_currency,rate\n2026-04-01,EUR,USD,1.1\n")
    (location / "2025").symlink_to(elsewhere)
    (location / "gone.csv").symlink_to(tmp_path / "gone.csv")
    (location / "loop").symlink_to(location / "loop")
    (location / "latest").symlink_to(location / "2026")  # its files are read in 2026
    (location / ".cache").symlink_to(elsewhere)
    os.mkfifo(location / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(location / "s"))
        [refusal], counts = seen("fx_rates", location)
    assert (counts.listed, counts.delivered, counts.not_understood) == (6, 1, 5)
    assert (refusal.reason, refusal.source_object) == ("not_followed", "2025")
    assert refusal.value == "2 broken links, 1 linked folder, 1 pipe, 1 socket"
