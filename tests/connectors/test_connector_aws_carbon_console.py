"""Monthly carbon reports of the AWS console: each month of a file is a delivery, with the account of its folder."""

from __future__ import annotations

import csv
import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.deliveries import Delivery, Refusal
from connectors.errors import ConnectorError
from connectors.registry import connector_for
from tests.connectors.kit import found, only_delivery, only_refusal, rows_of, store_of, write_csv
from tests.landing.kit import set_time
from tests.shared import SHARED, SHARED_REASON

PAYER, MEMBER = "000000000017", "012345678901"
HEADER = (
    "usage_month,service,region,total_lbm_emissions,total_mbm_emissions,total_scope_1_emissions_value,"
    "total_scope_2_lbm_emissions_value,total_scope_2_mbm_emissions_value,total_scope_3_lbm_emissions_value,"
    "total_scope_3_mbm_emissions_value,cfe_savings_value,model_version"
)
ROWS = (
    "2026-04,AmazonEC2,US East (Ohio),1.284001,0.6,0.1,0.984001,0.3,0.2,0.2,0.684001,v3.0.1",
    "2026-05,AmazonEC2,US East (Ohio),2,1,0,1,0,1,1,1,v3.0.1",
    "2026-04,Other,Global,0,0,0,0,0,0,0,0,v3.0.1",
)
MONTHLY = "\n".join([HEADER, *ROWS]) + "\n"
SAMPLE = "samples/aws/ccft-console-annual__carbon-json__cloud_example_1.csv"


def deliveries(folder: Path) -> list[Delivery]:
    return [one for one in found("aws_carbon", folder) if isinstance(one, Delivery)]


def landed(folder: Path, delivery: Delivery, landing: Path) -> list[dict]:
    store, target = store_of(folder), landing / delivery.partition
    target.mkdir(parents=True)
    [info] = delivery.objects
    store.fetch(info, target / "report.csv")
    result = connector_for("aws_carbon").convert(delivery, {info.key: target / "report.csv"}, target, store.uri)
    assert result.unknown_columns == ()
    return rows_of(result)


def test_each_month_of_a_report_is_a_delivery_whose_rows_keep_their_numbers(tmp_path: Path) -> None:
    write_csv(tmp_path / f"source/payer={PAYER}/account={MEMBER}/2026.csv", MONTHLY)
    april, may = found("aws_carbon", tmp_path / "source")
    assert isinstance(april, Delivery) and isinstance(may, Delivery)
    assert (april.partition, may.partition) == (f"2026-04@v3.0.1~{MEMBER}", f"2026-05@v3.0.1~{MEMBER}")
    ohio, everywhere = landed(tmp_path / "source", april, tmp_path / "landing")
    assert (ohio["line_number"], everywhere["line_number"]) == (1, 3)
    assert ohio["usage_period_start"] == dt.datetime(2026, 4, 1)  # noqa: DTZ001 - Parquet holds naive times, and they are UTC
    assert (ohio["payer_account_id"], ohio["usage_account_id"]) == (PAYER, MEMBER)
    assert (ohio["product_code"], ohio["location"], ohio["model_version"]) == ("AmazonEC2", "US East (Ohio)", "v3.0.1")
    assert (ohio["total_lbm_emissions_value"], ohio["total_scope_2_mbm_emissions_value"]) == ("1.284001", "0.3")
    [row] = landed(tmp_path / "source", may, tmp_path / "landing")
    assert (row["line_number"], row["total_mbm_emissions_value"]) == (2, "1")


def test_a_report_of_the_payers_own_account_needs_no_other_folder(tmp_path: Path) -> None:
    write_csv(tmp_path / f"source/carbon/payer={PAYER}/a.csv.gz", f"{HEADER}\n{ROWS[1]}\n")
    delivery = only_delivery("aws_carbon", tmp_path / "source")
    [row] = landed(tmp_path / "source", delivery, tmp_path / "landing")
    assert (row["payer_account_id"], row["usage_account_id"]) == (PAYER, PAYER)


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_the_real_rows_load_with_the_exact_total_of_each_column(tmp_path: Path) -> None:
    """The public report is of a year; as of one of its months its rows are those of a monthly report."""
    assert SHARED
    text = (SHARED / SAMPLE).read_text(encoding="utf-8").replace("usage_year", "usage_month").replace("\n2025,", "\n2025-06,")
    write_csv(tmp_path / f"source/payer={PAYER}/2025.csv", text)
    rows = landed(tmp_path / "source", only_delivery("aws_carbon", tmp_path / "source"), tmp_path / "landing")
    written = list(csv.DictReader(text.splitlines()))
    assert len(rows) == len(written) == 23
    renamed = {f"total_{mass}_emissions": f"total_{mass}_emissions_value" for mass in ("lbm", "mbm")}
    masses = [name for name in written[0] if "emissions" in name]
    assert len(masses) == 7
    for name in masses:
        assert sum(Decimal(row[renamed.get(name, name)]) for row in rows) == sum(Decimal(row[name]) for row in written), name
    assert sum(Decimal(row["total_lbm_emissions_value"]) for row in rows) == Decimal("7.660951")


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_the_real_report_of_a_year_is_a_delivery_of_each_of_its_months_with_all_its_rows(tmp_path: Path) -> None:
    assert SHARED
    write_csv(tmp_path / f"source/payer={PAYER}/2025.csv", (SHARED / SAMPLE).read_text(encoding="utf-8"))
    months = deliveries(tmp_path / "source")
    assert [one.partition for one in months] == [f"2025-{month:02d}@v3.0.1~{PAYER}~2025-01..2025-12" for month in range(1, 13)]
    rows = landed(tmp_path / "source", months[4], tmp_path / "landing")
    assert len(rows) == 23 and sum(Decimal(row["total_lbm_emissions_value"]) for row in rows) == Decimal("7.660951")
    assert {row["usage_period_start"] for row in rows} == {dt.datetime(2025, 5, 1)}  # noqa: DTZ001
    assert {(row["period_start"], row["period_end"]) for row in rows} == {(dt.datetime(2025, 1, 1), dt.datetime(2026, 1, 1))}  # noqa: DTZ001


QUARTERLY = MONTHLY.replace("usage_month", "usage_quarter").replace("2026-05", "2026-Q1")


@pytest.mark.parametrize("spelling", ["2026-Q2", "2026Q2", "2026 Q2", "Q2 2026", "Q2-2026", "2026-q2"])
def test_a_quarter_is_read_in_each_spelling(tmp_path: Path, spelling: str) -> None:
    write_csv(tmp_path / f"source/payer={PAYER}/q.csv", QUARTERLY.replace("2026-04", spelling))
    months = deliveries(tmp_path / "source")
    assert [one.partition.partition("@")[0] for one in months] == [f"2026-0{month}" for month in range(1, 7)]
    rows = landed(tmp_path / "source", months[-1], tmp_path / "landing")
    assert [(row["line_number"], row["period_start"]) for row in rows] == [
        (1, dt.datetime(2026, 4, 1)),  # noqa: DTZ001
        (3, dt.datetime(2026, 4, 1)),  # noqa: DTZ001
    ]


def test_a_quarter_whose_months_were_not_all_published_is_left_out_and_alone_refused(tmp_path: Path) -> None:
    """June is published by 21 July at the latest."""
    path = tmp_path / f"payer={PAYER}/q.csv"
    write_csv(path, QUARTERLY.replace("2026-04", "2026-Q2"))
    for day, count in (("2026-07-20", 3), ("2026-07-22", 6)):
        set_time(path, day)
        assert len(deliveries(tmp_path)) == count
    set_time(path, "2026-04-21")
    refused = only_refusal("aws_carbon", tmp_path)
    assert (refused.reason, refused.column_name) == ("incomplete_answer", "usage_quarter")
    assert "21 days after the end" in refused.remedy


def test_a_quarter_of_two_model_versions_is_refused_since_its_months_cannot_be_told(tmp_path: Path) -> None:
    write_csv(tmp_path / f"payer={PAYER}/q.csv", QUARTERLY.replace("2026-04", "2026-Q1").replace("1,1,1,v3.0.1", "1,1,1,v3.0.0"))
    assert (only_refusal("aws_carbon", tmp_path).column_name, only_refusal("aws_carbon", tmp_path).reason) == (
        "model_version",
        "wrong_value",
    )


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        (QUARTERLY.replace("2026-04", "FY2026-Q2"), "usage_quarter", "unsupported_format"),
        (QUARTERLY, "usage_quarter", "wrong_type"),
        (MONTHLY.replace("usage_month", "usage_year").replace("2026-04", "2025"), "usage_year", "wrong_type"),
        (f"{HEADER}\n", None, "no_rows"),
        (MONTHLY.replace("2026-05", "2026-13"), "usage_month", "wrong_type"),
        (MONTHLY.replace("2026-05", ""), "usage_month", "missing_value"),
        (MONTHLY.replace("v3.0.1", "v3/0"), "model_version", "wrong_type"),
        (MONTHLY.replace("model_version", "version"), "model_version", "missing_column"),
        ("line_item_usage_start_date\n2026-04-01\n", "usage_month, model_version, region, service", "missing_column"),
    ],
)
def test_a_report_that_cannot_be_placed_is_refused(tmp_path: Path, text: str, column: str | None, reason: str) -> None:
    write_csv(tmp_path / f"payer={PAYER}/a.csv", text)
    refused = only_refusal("aws_carbon", tmp_path)
    assert (refused.column_name, refused.reason) == (column, reason)


def test_a_wrong_number_refuses_each_month_of_its_file_by_its_row(tmp_path: Path) -> None:
    write_csv(tmp_path / f"source/payer={PAYER}/a.csv", MONTHLY.replace("2,1,0,1", "many,1,0,1"))
    april, may = found("aws_carbon", tmp_path / "source")
    for delivery in (april, may):
        assert isinstance(delivery, Delivery)
        with pytest.raises(ConnectorError) as caught:
            landed(tmp_path / "source", delivery, tmp_path / "landing")
        assert (caught.value.row_number, caught.value.column_name) == (2, "total_lbm_emissions_value")


def test_a_report_outside_of_a_folder_with_an_account_is_no_delivery(tmp_path: Path) -> None:
    write_csv(tmp_path / "2026.csv", MONTHLY)
    assert not [one for one in found("aws_carbon", tmp_path) if isinstance(one, Delivery | Refusal)]
