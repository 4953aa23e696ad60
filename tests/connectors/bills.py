"""Bills in the layouts of AWS, written to a folder for the tests of finding and of converting."""

from __future__ import annotations

from pathlib import Path

from tests.connectors.kit import LINE, table, write_csv, write_manifest, write_parquet

DATA = "data/BILLING_PERIOD=2026-04"
META = "metadata/BILLING_PERIOD=2026-04"
EARLY = "2026-04-02T13:14:43.337Z-6b622448-daaa-439c-92f1-afc727f1e0a3"
LATE = "2026-05-02T22:56:48.277Z-11111111-2222-3333-4444-555555555555"
CSV_HEADER = (
    "identity_line_item_id,bill_payer_account_id,bill_billing_period_start_date,line_item_usage_account_id,"
    "line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_product_code,"
    "line_item_currency_code,line_item_usage_amount,line_item_unblended_cost,product,resource_tags,line_item_line_item_description"
)


def csv_line(cost: str = "1.81E-8", start: str = "2026-04-01T00:00:00.000Z", product: str = "{}", tags: str = "{}") -> str:
    quoted = [f'"{value.replace(chr(34), chr(34) * 2)}"' for value in (product, tags, 'A "b", c')]
    fixed = "id-1,000000000017,2026-04-01T00:00:00.000Z,012345678901,Usage"
    return ",".join([fixed, start, "2026-04-01 01:00:00", "AmazonEC2", "USD", "", cost, *quoted])


def overwrite(folder: Path, *rows: dict, month: str = "2026-04", **options: object) -> Path:
    """An OVERWRITE export of one Parquet file."""
    write_parquet(folder / f"data/BILLING_PERIOD={month}/cur-00001.snappy.parquet", table(*(rows or (LINE,))), **options)
    name = f"s3://bucket/prefix/cur/data/BILLING_PERIOD={month}/cur-00001.snappy.parquet"
    write_manifest(folder / f"metadata/BILLING_PERIOD={month}/cur-Manifest.json", [name])
    return folder


def csv_export(folder: Path, *lines: str, header: str = CSV_HEADER) -> Path:
    write_csv(folder / DATA / "cur-00001.csv.gz", "\n".join([header, *lines]) + "\n")
    write_manifest(folder / META / "Manifest.json", [f"{DATA}/cur-00001.csv.gz"])
    return folder


def execution(folder: Path, name: str, *files: str) -> list[str]:
    """Write one execution of a CREATE_NEW export with its own manifest, and return the keys it names."""
    keys = [f"prefix/cur/{DATA}/{name}/{file}" for file in files]
    for file in files:
        write_parquet(folder / DATA / name / file, table(LINE))
    write_manifest(folder / META / name / "cur-Manifest.json", keys)
    return keys
