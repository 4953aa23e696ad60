"""A legacy bill arrives in the shape of CUR 2.0, with every row, every digit and every tag."""

from __future__ import annotations

import csv
import shutil
import zipfile
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from connectors.aws.cur_columns import SCHEMA
from connectors.aws.cur_legacy import legacy_plan, snake_case
from connectors.errors import ExportSchemaError
from dagster_project.landing.deriving.typed_select import parts_select
from tests.connectors.kit import LINE, converted, rows_of, table, write_csv, write_manifest, write_parquet
from tests.shared import SHARED, SHARED_REASON

BASE = {
    "identity/LineItemId": "id-1",
    "bill/PayerAccountId": "000000000017",
    "bill/BillingPeriodStartDate": "2026-04-01T00:00:00.000Z",
    "lineItem/UsageAccountId": "012345678901",
    "lineItem/LineItemType": "Usage",
    "lineItem/UsageStartDate": "2026-04-01T00:00:00.000Z",
    "lineItem/UsageEndDate": "2026-04-01T01:00:00.000Z",
    "lineItem/ProductCode": "AmazonEC2",
    "lineItem/CurrencyCode": "USD",
    "lineItem/UnblendedCost": "0.0000000181",
}


def legacy(folder: Path, *rows: dict[str, str]) -> Path:
    header = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(header), *(",".join(row.get(name, "") for name in header) for row in rows)]
    write_csv(folder / "20260401-20260501/cur-00001.csv.gz", "\n".join(lines) + "\n")
    write_manifest(folder / "20260401-20260501/cur-Manifest.json", ["/cur/20260401-20260501/cur-00001.csv.gz"])
    return folder


@pytest.mark.parametrize(
    ("name", "translated"),
    [
        ("identity/LineItemId", "identity_line_item_id"),
        ("lineItem/LineItemType", "line_item_line_item_type"),
        ("savingsPlan/SavingsPlanARN", "savings_plan_savings_plan_a_r_n"),
        ("reservation/NetEffectiveCost", "reservation_net_effective_cost"),
        ("pricing/publicOnDemandCost", "pricing_public_on_demand_cost"),
        ("product/productFamily", "product_product_family"),
        ("product/servicecode", "product_servicecode"),
        ("resourceTags/user:Name", "resource_tags_user_name"),
        ("resourceTags/aws:createdBy", "resource_tags_aws_created_by"),
        ("resourceTags/user:cost-center (old)", "resource_tags_user_cost_center_old"),
    ],
)
def test_names_follow_the_rule_of_aws(name: str, translated: str) -> None:
    assert snake_case(name) == translated


def test_products_and_tags_become_maps(tmp_path: Path) -> None:
    row = BASE | {
        "product/ProductName": "Amazon Elastic Compute Cloud",
        "product/region": "us-east-1",
        "product/regionCode": "us-east-1",
        "product/instanceType": "trn1.32xlarge",
        "resourceTags/user:training_run_id": "run-a",
        "resourceTags/aws:createdBy": "",
        "costCategory/Team": "research",
    }
    (read,) = rows_of(converted("aws_cur", legacy(tmp_path / "cur", row), tmp_path / "landing"))
    assert read["product"] == {
        "product_name": "Amazon Elastic Compute Cloud",
        "region": "us-east-1",
        "region_code": "us-east-1",
        "instance_type": "trn1.32xlarge",
    }
    assert (read["product_region_code"], read["product_instance_type"]) == ("us-east-1", "trn1.32xlarge")
    assert read["resource_tags"] == {"user_training_run_id": "run-a"}
    assert read["cost_category"] == {"team": "research"}
    assert read["bill_payer_account_id"] == "000000000017"


def test_tags_whose_names_fall_together_are_one_and_the_first_value_wins(tmp_path: Path) -> None:
    rows = [BASE | {"resourceTags/user:Run": a, "resourceTags/user:run": b} for a, b in [("x", "y"), ("", "y"), ("", "")]]
    read = rows_of(converted("aws_cur", legacy(tmp_path / "cur", *rows), tmp_path / "landing"))
    assert [row["resource_tags"] for row in read] == [{"user_run": "x"}, {"user_run": "y"}, {}]


def test_tags_stand_in_the_row_they_belong_to(tmp_path: Path) -> None:
    rows = [BASE | {f"resourceTags/user:t{n % 7}": f"v{n}", f"resourceTags/user:u{n % 3}": f"w{n}"} for n in range(200)]
    read = rows_of(converted("aws_cur", legacy(tmp_path / "cur", *rows), tmp_path / "landing"))
    assert [row["resource_tags"] for row in read] == [{f"user_t{n % 7}": f"v{n}", f"user_u{n % 3}": f"w{n}"} for n in range(200)]


def test_a_legacy_report_in_parquet_has_its_tags_categories_and_products_in_maps(tmp_path: Path) -> None:
    flat = {
        **{name: value for name, value in LINE.items() if name not in ("product", "resource_tags")},
        "product_product_name": "Amazon Elastic Compute Cloud",
        "product_region": "us-east-1",
        "product_physical_cores": "64",
        "resource_tags_user_training_run_id": "run-a",
        "cost_category_team": "research",
    }
    folder = tmp_path / "cur"
    write_parquet(folder / "cur/year=2026/month=4/cur-00001.snappy.parquet", table(flat))
    write_manifest(folder / "20260401-20260501/cur-Manifest.json", ["cur/year=2026/month=4/cur-00001.snappy.parquet"])
    result = converted("aws_cur", folder, tmp_path / "landing")
    assert (result.rows, result.unknown_columns) == (1, ())
    [part] = result.parts
    rows = parts_select(SCHEMA, [(str(part.path), dict.fromkeys(flat, "VARCHAR"))])
    with duckdb.connect() as connection:
        [read] = connection.execute(f"select product, resource_tags, cost_category from ({rows})").fetchall()
    assert read == (
        {"product_name": "Amazon Elastic Compute Cloud", "region": "us-east-1"},
        {"user_training_run_id": "run-a"},
        {"team": "research"},
    )


def test_a_missing_column_is_named_as_cur_2_names_it(tmp_path: Path) -> None:
    row = {name: value for name, value in BASE.items() if name != "lineItem/UnblendedCost"}
    with pytest.raises(ExportSchemaError, match="is missing columns line_item_unblended_cost"):
        converted("aws_cur", legacy(tmp_path / "cur", row), tmp_path / "landing")


def test_only_what_aws_does_not_document_is_unknown() -> None:
    plan = legacy_plan(["lineItem/BlendedCost", "lineItem/Novelty", "product/anything", "resourceTags/user:x"], SCHEMA)
    assert plan.unknown == ("lineItem/Novelty",)


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
@pytest.mark.parametrize("packing", ["gz", "zip"])
def test_the_real_legacy_bill_arrives_with_all_its_rows_and_digits(tmp_path: Path, packing: str) -> None:
    assert SHARED is not None
    sample = SHARED / "samples/aws/legacy-cur__focus_converters__sample-anonymous-aws-export-dataset.csv"
    folder = tmp_path / "cost_and_usage"
    key = f"20231101-20231201/20231103T125721Z/cost_and_usage-00001.csv.{packing}"
    if packing == "gz":
        write_csv(folder / key, sample.read_text(encoding="utf-8"))
    else:
        (folder / key).parent.mkdir(parents=True)
        with zipfile.ZipFile(folder / key, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(sample, "cost_and_usage-00001.csv")
    manifest = folder / "20231101-20231201/20231103T125721Z/cost_and_usage-Manifest.json"
    write_manifest(manifest, [], dataFiles=None, reportKeys=[f"/cost_and_usage/{key}"])
    shutil.copy(manifest, folder / "20231101-20231201/cost_and_usage-Manifest.json")

    result = converted("aws_cur", folder, tmp_path / "landing")
    read = rows_of(result)
    with sample.open(encoding="utf-8", newline="") as source:
        written = list(csv.DictReader(source))

    assert (result.rows, len(read), result.unknown_columns) == (1281, 1281, ())
    for name in ("lineItem/UsageAmount", "lineItem/UnblendedCost", "bill/PayerAccountId", "identity/LineItemId"):
        assert [row[snake_case(name)] for row in read] == [row[name] or None for row in written]
    assert sum("E" in row["line_item_usage_amount"] for row in read) == 474
    total = sum(Decimal(row["lineItem/UnblendedCost"]) for row in written)
    assert sum(Decimal(row["line_item_unblended_cost"]) for row in read) == total
    assert [row["product"].get("product_name") for row in read] == [row["product/ProductName"] or None for row in written]
    assert {len(row["line_item_usage_account_id"]) for row in read} == {12}
