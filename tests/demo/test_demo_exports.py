"""The demo's exports are what a provider would deliver: complete, dated, repeatable, and clearly not real."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dagster_project.demo.clock import HISTORY, MONTHS, NOW
from dagster_project.demo.files import number_text
from dagster_project.demo.generate import write_demo
from dagster_project.demo.organisation import UNIT, money

pytestmark = pytest.mark.proved_by("generator")


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_writing_again_gives_the_same_bytes_and_times_whatever_became_of_the_exports(demo, tmp_path):
    shutil.copytree(demo.folder, tmp_path, dirs_exist_ok=True)
    bills = tmp_path / "exports" / "payer-a-cur"
    for path in bills.rglob("*.parquet"):
        path.write_bytes(b"damaged")
    (bills / "data" / "another.parquet").write_bytes(b"of an older demo")
    (tmp_path / "truth.json").unlink()
    write_demo(tmp_path)
    assert snapshot(tmp_path) == snapshot(demo.folder)


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "bill.csv").write_text("real")
    with pytest.raises(FileExistsError, match="was not written by the demo"):
        write_demo(tmp_path)
    assert (tmp_path / "exports" / "bill.csv").read_text() == "real"


def test_a_scale_below_one_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least 1"):
        write_demo(tmp_path, scale=0)


def test_everything_states_that_it_is_synthetic(demo):
    assert "synthetic" in (demo.folder / "README.md").read_text()
    assert "Example AG (synthetic)" in (demo.folder / "trainledger.yaml").read_text()
    row = demo.rows("payer-b-cur", next(iter(demo.truth["objects"]["payer-b-cur"])))[0]
    assert "(synthetic)" in row["bill_payer_account_name"]


def test_nothing_is_younger_than_the_clock(demo):
    assert max(time for _, time in snapshot(demo.folder).values()) <= NOW * 10**9
    latest = max(
        moment
        for record in demo.records()
        for attempt in record.get("attempts", ())
        for moment in (attempt["started_at"], attempt["ended_at"])
        if moment
    )
    assert datetime.fromisoformat(latest) <= datetime.fromtimestamp(NOW, UTC)


def test_manifests_name_exactly_the_objects_that_exist(demo):
    for source in ("payer-a-cur", "payer-b-cur", "payer-a-carbon", "payer-b-carbon"):
        root = demo.folder / "exports" / source
        named = set()
        for manifest in root.glob("metadata/**/*-Manifest.json"):
            for uri in json.loads(manifest.read_text())["dataFiles"]:
                key = uri.split(f"/{source}/", 1)[1]
                assert (root / key).stat().st_mtime <= manifest.stat().st_mtime, "a manifest is written after its data"
                named.add(key)
        assert named == {path.relative_to(root).as_posix() for path in (root / "data").rglob("*") if path.is_file()}


def test_the_restated_month_has_two_executions_and_the_newest_on_top(demo):
    root = demo.folder / "exports" / "payer-b-cur" / "metadata" / "BILLING_PERIOD=2026-06"
    executions = sorted(path.name for path in root.iterdir() if path.is_dir())
    assert [name[:10] for name in executions] == ["2026-07-13", "2026-08-06"]
    top, newest = (root / "payer-b-cur-Manifest.json"), root / executions[1] / "payer-b-cur-Manifest.json"
    assert top.read_bytes() == newest.read_bytes()
    old, new = (
        [row for _, key, _ in demo.objects() if executions[n] in key for row in demo.rows("payer-b-cur", key)] for n in (0, 1)
    )
    assert len(new) == len(old) + 1
    assert sum(row["line_item_line_item_type"] == "Credit" for row in new) == 1
    tagged = [sum("user_training_run_id" in row["resource_tags"] for row in rows) for rows in (old, new)]
    assert tagged[1] == tagged[0] + 1
    hours = [
        sum(
            Decimal(row["line_item_usage_amount"])
            for row in rows
            if row["line_item_usage_type"].endswith("BoxUsage:trn1.32xlarge")
        )
        for rows in ([row for row in old if row["line_item_usage_type"]], [row for row in new if row["line_item_usage_type"]])
    ]
    assert hours[0] > hours[1]


def test_parquet_is_what_the_provider_writes(demo):
    key = "data/BILLING_PERIOD=2026-08/payer-a-cur-00001.snappy.parquet"
    footer = pq.ParquetFile(demo.folder / "exports" / "payer-a-cur" / key)
    physical = {footer.schema.column(n).path: footer.schema.column(n) for n in range(len(footer.schema))}
    assert physical["line_item_usage_start_date"].physical_type == "INT96"
    assert physical["line_item_unblended_cost"].physical_type == "DOUBLE"
    assert footer.metadata.row_group(0).column(0).compression == "SNAPPY"
    assert {"resource_tags.key_value.key", "resource_tags.key_value.value"} <= physical.keys()
    assert b"ARROW:schema" not in (footer.metadata.metadata or {})


def test_columns_begin_with_their_first_use(demo):
    names = {}
    for month in MONTHS:
        path = demo.folder / "exports" / "payer-a-cur" / f"data/BILLING_PERIOD={month}/payer-a-cur-00001.snappy.parquet"
        names[month] = set(pq.read_schema(path).names)
    assert "capacity_reservation_capacity_reservation_arn" in names["2026-06"] - names["2026-05"]
    assert "line_item_net_unblended_cost" in names["2026-07"] - names["2026-06"]
    assert len(names["2026-09"]) > 95


def test_a_closed_month_has_one_invoice_and_september_none(demo):
    invoices = defaultdict(set)
    for source, key, _ in demo.objects():
        for row in demo.rows(source, key):
            invoices[source, key.split("BILLING_PERIOD=")[1][:7]].add(row["bill_invoice_id"])
    for (_, month), ids in invoices.items():
        assert (ids == {None}) if month == "2026-09" else (len(ids) == 1 and None not in ids)


def test_account_ids_keep_their_leading_zeros(demo):
    rows = demo.rows("payer-a-cur", "data/BILLING_PERIOD=2026-04/payer-a-cur-00001.snappy.parquet")
    assert {row["bill_payer_account_id"] for row in rows} == {"004217390156"}
    assert all(len(row["line_item_usage_account_id"]) == 12 for row in rows)


def test_savings_plan_rows_cancel_but_for_one_cent(demo):
    """Net of the discount too; summed in whole units, because doubles would hide a small difference."""
    left = defaultdict(int)
    for source, key, _ in demo.objects():
        for row in demo.rows(source, key) if source == "payer-a-cur" else ():
            if row["line_item_line_item_type"] in ("SavingsPlanCoveredUsage", "SavingsPlanNegation"):
                cost = row.get("line_item_net_unblended_cost")
                cost = row["line_item_unblended_cost"] if cost is None else cost
                left[row["line_item_usage_start_date"].strftime("%Y-%m")] += round(cost * UNIT)
    assert left == dict.fromkeys(MONTHS, 0) | {"2026-05": money("0.01")}


def test_carbon_identities_hold_to_the_gram_and_september_is_missing(demo):
    months = defaultdict(set)
    for payer in ("payer-a-carbon", "payer-b-carbon"):
        for path in sorted(demo.folder.glob(f"*/{payer}/data/**/*.parquet")):  # one is late
            for row in pq.read_table(path).to_pylist():
                months[payer, row["model_version"]].add(row["usage_period_start"].strftime("%Y-%m"))
                if "total_scope_1_emissions_value" not in row:
                    assert row["model_version"] == "v2.0.1"
                    continue
                grams = {
                    name.removesuffix("_emissions_value"): round(value * 10**6)
                    for name, value in row.items()
                    if name.endswith("_value")
                }
                for method in ("lbm", "mbm"):
                    scopes = ("total_scope_1", f"total_scope_2_{method}", f"total_scope_3_{method}")
                    assert grams[f"total_{method}"] == sum(grams[scope] for scope in scopes)
    assert months["payer-a-carbon", "v3.0.0"] == set(MONTHS[:3])
    assert months["payer-a-carbon", "v3.0.1"] == months["payer-b-carbon", "v3.0.1"] - set(HISTORY) == set(MONTHS[:5])
    assert months["payer-b-carbon", "v2.0.1"] == {"2026-04"}


@pytest.mark.parametrize(
    ("units", "text"),
    [
        (181, "1.81E-8"),
        (215 * UNIT // 10, "21.5"),
        (-UNIT, "-1.0"),
        (0, "0.0"),
        (UNIT // 1_000, "0.001"),
        (-9, "-9.0E-10"),
        (UNIT * 10**7, "1.0E7"),
    ],
)
def test_numbers_in_csv_look_like_doubles_of_java(units, text):
    assert number_text(units) == text
    assert Decimal(text) * UNIT == units


@pytest.mark.slow
@pytest.mark.nightly
def test_scale_multiplies_rows_and_runs(demo, tmp_path):
    write_demo(tmp_path, scale=2)
    truth = json.loads((tmp_path / "truth.json").read_text())
    rows = [sum(answer["rows"] for keys in each["objects"].values() for answer in keys.values()) for each in (demo.truth, truth)]
    assert abs(rows[1] - 2 * rows[0]) < rows[0] // 100  # copies differ in their drawn durations
    assert len(truth["energy"]) == 2 * len(demo.truth["energy"])
    assert len(truth["runs"]) == 2 * len(demo.truth["runs"])
