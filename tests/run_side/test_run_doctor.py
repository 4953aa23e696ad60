"""`trainledger doctor`: will runs get their cost, energy and carbon? Asked of small exports, answered by the models' rows."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from doctor_kit import TAG, answer, doctor, text, two_chunks

from dagster_project.doctor import reading
from tests.connectors.aws_focus import focus_row as aws_focus_row
from tests.connectors.aws_focus import write_focus
from tests.connectors.focus import FOCUS, focus_line
from tests.connectors.gcp import LINE, write_partition
from tests.line.kit import stamps
from tests.oracle.builders import PAYER, Exports, carbon, hour, run

DAY = ("2026-05-10T00:00:00Z", "2026-05-11T00:00:00Z")


def write_samples(location: Path, *samples: tuple[str, str, str | None]) -> None:
    """Documents of neuron-monitor: (host, end, run of the key), an idle minute each."""
    document = {
        "neuron_runtime_data": [],
        "system_data": {"vcpu_usage": {"period": 60.0, "error": ""}},
        "neuron_hardware_info": {"neuron_device_count": 1, "neuroncore_per_device_count": 2, "error": ""},
    }
    for number, (host, end, key) in enumerate(samples):
        path = location / f"run={key}" / f"{number}.jsonl" if key else location / f"{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"collected_at": end, "host": {"resource_id": host}, "document": document}))


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    """May 2026 after April: a tagged hour of 10, a recorded one of 20, one of 10 that no run held; storage; runs that miss."""
    exports = Exports(tmp_path_factory.mktemp("company"))
    exports.bill([hour("2026-04-10T00:00:00", 999.0)], period="2026-04")
    exports.bill(
        [
            hour("2026-05-10T00:00:00", 10.0, line_item_resource_id="i-tagged", resource_tags=TAG),
            hour("2026-05-10T00:00:00", 20.0, line_item_resource_id="i-held"),
            hour("2026-05-10T00:00:00", 10.0, line_item_resource_id="i-nobody"),
            hour("2026-05-10T00:00:00", 77.0, line_item_usage_type="USE2-EBS:VolumeUsage.gp3", line_item_resource_id="vol-1"),
        ],
        period="2026-05",
    )
    exports.carbon([carbon(0.1)])
    exports.runs(
        run("run-a", ("i-tagged", *DAY, None)),
        run("Run B", ("i-held", *DAY, None)),
        run("run-c", ("i-held", *DAY, None), ("i-elsewhere", *DAY, None)),
        run("run-of-april", ("i-elsewhere", "2026-04-10T00:00:00Z", "2026-04-11T00:00:00Z", None)),
    )
    write_samples(
        exports._source("neuron", "neuron_monitor"),
        ("i-held", "2026-05-10T00:10:00Z", None),
        ("i-other", "2026-05-10T00:10:00Z", "run-b"),
        ("i-held", "2026-05-10T00:11:00Z", "strange"),
        ("i-lost", "2026-05-10T00:10:00Z", None),
    )
    exports.config()
    return exports


@pytest.fixture(scope="module")
def checks(company: Exports) -> list[dict[str, Any]]:
    code, found = doctor(company.folder / "trainledger.yaml")
    assert code == 0
    return found


def test_the_share_of_accelerator_cost_with_a_tag_or_a_record_is_reported_with_the_machines_of_the_rest(checks: list) -> None:
    cost = answer(checks, "cost")
    assert cost["outcome"] == "warning" and "tag" in cost["remedy"].lower()
    facts = cost["facts"]
    assert (facts["month"], facts["rows"], float(facts["list_cost"])) == ("2026-05", 3, 40)
    assert (facts["share"], facts["share_by_tag"], facts["share_by_record"]) == (0.75, 0.25, 0.5)
    assert [one["resource_id"] for one in facts["without_a_run"]] == ["i-nobody"]
    assert "75 % of 40.00 USD" in cost["message"] and "i-nobody (10.00)" in cost["message"]


def test_recorded_runs_are_counted_against_the_bill_of_their_month_and_the_rest_is_named(checks: list) -> None:
    records = answer(checks, "records")
    assert records["message"].startswith("2 of 3 runs of 2026-05 have billed machines; not: run-c (i-elsewhere)")
    assert records["facts"]["unmatched"] == [{"training_run_id": "run-c", "machines": ["i-elsewhere"]}]
    assert "resource_id" in records["remedy"]


def test_samples_meet_runs_by_the_machine_that_was_held_as_the_ledger_has_it(checks: list) -> None:
    """The key of Run B is known, but its machine has samples of its own: those of another host are none of the run's."""
    facts = answer(checks, "telemetry")["facts"]
    assert (facts["samples"], facts["matched"], facts["first_day"]) == (4, 2, "2026-05-10")
    reasons = ["hosts that no record holds then", "outside the machines and the time of their run"]
    assert [(one["host"], one["reason"]) for one in facts["unmatched"]] == [*zip(["i-lost", "i-other"], reasons, strict=True)]
    [may, april] = answer(checks, "energy")["facts"]["months"]
    assert (may["month"], may["runs"], may["by_time_alone"]) == ("2026-05", 3, ["run-a"])
    assert (april["month"], april["by_time_alone"]) == ("2026-04", ["run-of-april"])


def test_hours_resources_types_and_carbon_are_reported(checks: list) -> None:
    assert answer(checks, "granularity")["facts"]["granularity"] == "hourly"
    total = answer(checks, "independent_total")
    assert total["outcome"] == "ok" and total["facts"]["payers_without_total"] and "provider_totals" in total["message"]
    assert answer(checks, "resource_ids")["facts"]["share"] == 1
    assert answer(checks, "accelerator_types")["facts"]["known"] == ["trn1.32xlarge"]
    missing = answer(checks, "carbon")["facts"]
    assert (missing["bill_months"], missing["missing"]) == (["2026-04", "2026-05"], ["2026-05"])
    assert missing["payers_without_carbon"] == []
    assert answer(checks, "run_tag")["facts"]["tagged_rows"] == 1


def test_what_was_read_is_reported_with_its_files_and_rows(checks: list) -> None:
    bill = answer(checks, "source", "cur")
    assert bill["message"] == "aws_cur, 2 months, the newest is 2026-05; read 2 of 2 files, 5 rows"
    assert bill["facts"]["objects_read"] == 2 and bill["facts"]["newest_month"] == "2026-05"


def test_the_share_of_each_month_is_reported_the_worst_first(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 1.0)])
    exports.bill([hour("2026-05-10T10:00:00", 1.0, resource_tags=TAG)], "2026-05")
    _, found = doctor(exports.config())
    cost = answer(found, "cost")
    assert (cost["facts"]["month"], cost["facts"]["share"]) == ("2026-05", 1.0)
    assert cost["facts"]["months"] == [{"month": "2026-04", "share": 0.0}, {"month": "2026-05", "share": 1.0}]
    assert "; by month: 2026-04 0 %, 2026-05 100 %" in cost["message"]


def test_doctor_writes_nothing_and_fits_80_columns(company: Exports) -> None:
    before = stamps(company.folder)
    shown = text(company.folder / "trainledger.yaml")
    assert stamps(company.folder) == before and not (company.folder / "home").exists()
    assert "Will runs get their cost, energy and carbon?" in shown
    assert re.fullmatch(r"\d+ problems?, \d+ warnings?", shown.splitlines()[-1])
    assert [line for line in shown.splitlines() if len(line) > 80 and " " in line[12:].strip()] == []


def test_an_export_without_the_column_of_tags_is_reported_and_is_no_bug(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 1.0)])
    code, found = doctor(exports.config())
    tag = answer(found, "run_tag")
    assert code == 0 and tag["message"] == "the export has no column resource_tags"
    assert tag["outcome"] == "warning" and tag["facts"]["has_column"] is False
    records = answer(found, "records")
    assert records["message"] == "no source of run records: only tags give a run its cost"


def test_a_misspelt_tag_is_recognised(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 1.0, resource_tags={"user_trainingrun_id": "a", "user_name": "b"})])
    _, found = doctor(exports.config())
    assert answer(found, "run_tag")["message"] == "no row carries training_run_id; did you mean 'trainingrun_id'?"


def test_days_and_rows_without_machines_are_reported_with_what_to_change(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    day = {"line_item_usage_end_date": datetime(2026, 4, 11), "line_item_resource_id": None}  # noqa: DTZ001
    exports.bill([hour("2026-04-10T00:00:00", 1.0, **day)])
    _, found = doctor(exports.config())
    granularity, resources = answer(found, "granularity"), answer(found, "resource_ids")
    assert granularity["facts"]["granularity"] == "daily" and "HOURLY" in granularity["remedy"]
    assert resources["facts"]["share"] == 0 and "resource IDs" in resources["remedy"]
    assert answer(found, "cost")["facts"]["without_a_run"][0]["resource_id"] is None


def test_the_newest_month_is_read_and_not_its_smallest_file(tmp_path: Path) -> None:
    _, found = doctor(two_chunks(tmp_path).config())
    assert answer(found, "run_tag")["message"] == "training_run_id on 500 of 501 rows of use"


def test_a_month_that_is_too_large_is_read_in_part_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = two_chunks(tmp_path).config()
    large = tmp_path / "exports/cur/data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet"
    monkeypatch.setitem(reading.BYTES, "bill", large.stat().st_size)
    _, found = doctor(config)
    assert "read 1 of 2 files (" in answer(found, "source")["message"]
    monkeypatch.setitem(reading.BYTES, "bill", 10)
    _, found = doctor(config)
    source = answer(found, "source")
    assert source["outcome"] == "warning" and "too large" in source["message"]
    assert [check for check in found if check["question"] == "cost"] == []


def test_a_google_bill_is_asked_by_the_month_in_which_it_was_used(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    location = exports._source("google", "gcp_billing")
    used = {"usage_start_time": datetime(2026, 4, 30, 22), "usage_end_time": datetime(2026, 4, 30, 23)}  # noqa: DTZ001
    write_partition(location, "2026-04-30", {**LINE, **used})
    late = {"usage_start_time": datetime(2026, 3, 1), "usage_end_time": datetime(2026, 3, 1, 1)}  # noqa: DTZ001
    write_partition(location, "2026-05-01", {**LINE, **late})
    _, found = doctor(exports.config())
    cost = answer(found, "cost")["facts"]
    assert (cost["month"], cost["rows"]) == ("2026-04", 1)
    assert answer(found, "carbon")["facts"]["bill_months"] == ["2026-04"]


def test_a_bill_in_focus_is_asked_for_its_tags_machines_and_hours(tmp_path: Path) -> None:
    """A tagged hour of 9.60 at list price, one that no run holds; tax is use of nothing."""
    exports = Exports(tmp_path)
    untagged = focus_line(x_Labels=[], ResourceName="node-2", ResourceId=None)
    rows = focus_line(), untagged, focus_line(ChargeCategory="Tax")
    write_partition(exports._source("focus", "gcp_focus"), "2026-04-01", *rows, schema=FOCUS)
    _, found = doctor(exports.config())
    cost = answer(found, "cost")["facts"]
    assert (cost["month"], cost["rows"], cost["share_by_tag"]) == ("2026-04", 2, 0.5)
    assert [one["resource_id"] for one in cost["without_a_run"]] == ["node-2"]
    assert answer(found, "granularity")["outcome"] == answer(found, "run_tag")["outcome"] == "ok"


def test_a_focus_bill_of_aws_is_asked_as_a_cur_is(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    rows = aws_focus_row("1.2"), aws_focus_row("1.2", Tags={}, ResourceId="i-2"), aws_focus_row("1.2", ChargeCategory="Tax")
    write_focus(exports._source("focus", "aws_focus"), *rows, version="1.2")
    _, found = doctor(exports.config())
    cost = answer(found, "cost")["facts"]
    assert (cost["month"], cost["rows"], cost["share_by_tag"]) == ("2026-04", 2, 0.5)
    assert [one["resource_id"] for one in cost["without_a_run"]] == ["i-2"]
    assert answer(found, "granularity")["outcome"] == answer(found, "run_tag")["outcome"] == "ok"


def test_payers_without_carbon_are_named(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 1.0)])
    exports.carbon([carbon(0.1, payer_account_id="999999999999")])
    _, found = doctor(exports.config())
    answered = answer(found, "carbon")
    assert answered["outcome"] == "warning" and answered["facts"]["payers_without_carbon"] == [PAYER]


def test_chips_of_google_are_known_by_their_skus_and_fees_are_none(tmp_path: Path) -> None:
    chips = ["TpuV5e Chip Hour", "Cloud TPU v6e", "DWS Defined Duration V5p", "TPU 8t Chip", "Reserved v4 TPU", "Nvidia H100 GPU"]
    others = [
        "Commitment v1: TpuV5e for 1 Year",
        "Vertex Training management fee on TPU V5e",
        "output tokens",
        "N1 Instance Core",
    ]
    exports = Exports(tmp_path)
    lines = [
        {**LINE, "labels": [], "sku": {"id": "1", "description": sku}, "resource": {"name": sku, "global_name": None}}
        for sku in (*chips, *others)
    ]
    write_partition(exports._source("google", "gcp_billing"), "2026-05-01", *lines)
    _, found = doctor(exports.config())
    assert sorted(one["resource_id"] for one in answer(found, "cost")["facts"]["without_a_run"]) == sorted(chips)


def test_pools_and_workloads_that_records_name_meet_the_rows_of_their_cluster(tmp_path: Path) -> None:
    exports = Exports(tmp_path)

    def of_cluster(name: str, **labels: str) -> dict[str, Any]:
        pairs = [
            {"key": key.replace("_", "-"), "value": value} for key, value in {"goog_k8s_cluster_name": "c", **labels}.items()
        ]
        return {**LINE, "labels": pairs, "resource": {"name": name, "global_name": None}}

    pod = {"k8s_namespace": "ml", "k8s_workload_name": "train"}
    rows = [of_cluster("gke-p", goog_k8s_node_pool_name="p"), of_cluster("gke-pod", **pod), of_cluster("gke-lost")]
    write_partition(exports._source("google", "gcp_billing"), "2026-05-01", *rows)
    day = (LINE["usage_start_time"].isoformat(), LINE["usage_end_time"].isoformat())
    pool = "projects/research/locations/us-west4/clusters/c/nodePools/p"
    exports.runs(
        run("pool", (pool, *day, 8), provider_name="Google Cloud"),
        run("pod", aliases=[{"system": "kubernetes", "id": "c/ml/train"}], provider_name="Google Cloud"),
    )
    _, found = doctor(exports.config())
    assert [one["resource_id"] for one in answer(found, "cost")["facts"]["without_a_run"]] == ["gke-lost"]
    assert answer(found, "records")["facts"]["unmatched"] == []
