"""How an AWS bill is asked for in groups: what the statement names, who may be asked, and Athena by fakes of its answers.

What the statement answers is asked of a real server in tests/engines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pyarrow.parquet as pq
import pytest
from botocore.stub import Stubber

from connectors.aws import cur
from connectors.aws.cur_columns import SCHEMA
from connectors.aws.grouped_bill import grouped_bill, rows_of_group
from connectors.aws.grouped_sql import PRODUCT_ENTRIES, Table, grouped_sql
from connectors.aws.sql_dialects import SPARK, TRINO
from connectors.errors import ExportSchemaError, SourceUnreadableError
from connectors.layouts.accounting import look
from connectors.stores import READ_LIMIT, ObjectInfo, StoreOptions
from connectors.stores.athena import AthenaEngine
from connectors.stores.grouped import GroupedStore
from connectors.stores.s3 import S3Store
from connectors.stores.trino import TrinoEngine
from dagster_project.base.dbt_project import project_folder
from dagster_project.base.failures import UsageError
from dagster_project.landing.answers import require_sums
from dagster_project.settings import SourceSettings, settings_of
from tests.oracle.builders import Exports, hour

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("made_up_credentials")]

TYPES = {column.name: "varchar" for column in SCHEMA if column.required} | {
    "bill_billing_period_start_date": "timestamp(3)",
    "line_item_usage_start_date": "timestamp(3)",
    "line_item_usage_end_date": "timestamp(3)",
    "line_item_unblended_cost": "double",
    "line_item_resource_id": "varchar",
}
URL = "athena://Primary/awsdatacatalog/bills/cur"


def test_only_what_the_table_has_is_named() -> None:
    for dialect in (TRINO, SPARK):
        statement = grouped_sql(Table("t", TYPES, dialect), ["training_run_id"], ["s3://a/b.parquet"])
        absent = [column.name for column in SCHEMA if column.name not in TYPES and column.name != "line_count"]
        assert not [name for name in absent if dialect.quoted(name) in statement]


def test_a_single_precision_cost_and_a_missing_column_are_refused_before_anything_is_asked() -> None:
    with pytest.raises(ExportSchemaError, match="line_item_unblended_cost is real, which is no Number"):
        Table("t", TYPES | {"line_item_unblended_cost": "real"}, TRINO).check("uri")
    with pytest.raises(ExportSchemaError, match="missing columns line_item_usage_start_date"):
        Table("t", {name: kind for name, kind in TYPES.items() if name != "line_item_usage_start_date"}, TRINO).check("uri")


def test_what_the_statement_knows_of_rules_is_what_the_models_read() -> None:
    staged = (project_folder() / "models/staging/aws/stg_aws_cur__line_items.sql").read_text().partition("union all")[0]
    assert all(f"map_get('product', '{name}')" in staged for name in PRODUCT_ENTRIES if name != "region")
    assert staged.count("map_get('product'") == len(PRODUCT_ENTRIES)


def test_other_run_tag_keys_are_another_question() -> None:
    versions = {grouped_bill("trino", keys).version for keys in (["a"], ["b"], ["a", "b"])}
    assert len(versions) == 3
    assert grouped_bill("trino", ["b", "a"]).version in versions


@pytest.mark.parametrize(
    ("kind", "location", "more", "message"),
    [
        ("aws_cur", "./exports", {"engine_url": "trino://h/a/b/c"}, r"groups an aws_cur export in Parquet .* leave the key out"),
        ("aws_focus", "s3://b/c", {"engine_url": "trino://h/a/b/c"}, r"groups an aws_cur export in Parquet .* leave the key out"),
        ("aws_cur", "s3://b/c", {}, r"needs the table over these files: engine_url: trino://host\[:port\]/catalog/schema/table"),
        ("aws_cur", "s3://b/c", {"engine_url": "http://h/a/b/c"}, "needs the table over these files"),
        ("aws_cur", "iceberg://a/b/c", {"engine": "spark", "keep": "raw"}, "the files of a table of Iceberg are not its rows"),
        ("aws_cur", "s3://b/c", {"engine": None, "engine_url": "trino://h/a/b/c"}, "engine_url names the table of `engine"),
    ],
)
def test_only_parquet_in_a_bucket_with_a_table_over_it_is_asked(
    kind: str, location: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SourceSettings.model_validate({"name": "bill", "kind": kind, "location": location, "engine": "trino"} | more)


@pytest.mark.parametrize("url", ["trino://h/a/b", "trino://h:1/a/b/c/d", "trino://user:word@h/a/b/c", 'trino://h/a/b/c"'])
def test_an_address_that_names_no_table_is_refused_with_what_to_write(url: str) -> None:
    with pytest.raises(SourceUnreadableError) as caught:
        TrinoEngine(StoreOptions(engine_url=url))
    assert caught.value.remedy == "Write trino://host[:port]/catalog/schema/table."


def test_a_password_never_goes_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trino.dbapi", reason="the extra `trino` is not installed")
    monkeypatch.setenv("TRAINLEDGER_PASSWORD_MY_BILL", "planted-secret")
    engine = TrinoEngine(StoreOptions(source="my-bill", engine_url="trino+http://127.0.0.1:1/a/b/c"))
    with pytest.raises(SourceUnreadableError, match="a password goes over HTTPS alone") as caught:
        engine.open([])
    assert "planted-secret" not in str(caught.value)


def test_a_bill_as_csv_is_refused_under_an_engine(tmp_path: Path, endpoint: str) -> None:
    exports = Exports(tmp_path)
    exports.csv_bill([hour("2026-04-10T10:00:00", 1.0)])
    store = stored(tmp_path, endpoint, "cur-csv")
    [refused], _ = look("aws_cur", cur.find_deliveries, cur.LAYOUTS, store)
    assert getattr(refused, "reason", None) == "unsupported_format"


def test_an_engine_that_no_server_was_tried_of_is_refused(tmp_path: Path) -> None:
    bill = {"name": "bill", "kind": "aws_cur", "location": "s3://b/c", "engine": "athena", "engine_url": URL}
    document: dict[str, Any] = {"organisation": {"name": "Test"}, "home": "./home", "sources": [bill]}
    with pytest.raises(UsageError, match=r"'engine: athena' of bill was tried with fakes of its answers only"):
        settings_of(document, tmp_path / "trainledger.yaml")
    assert settings_of(document | {"untried_engines": True}, tmp_path / "trainledger.yaml").untried_engines


def stored(folder: Path, endpoint: str, name: str) -> GroupedStore:
    """The bill of a folder in a bucket, asked of Athena."""
    s3, bucket = boto3.client("s3", endpoint_url=endpoint), f"b{abs(hash(str(folder))) % 10**9}"
    s3.create_bucket(Bucket=bucket)
    for path in sorted((folder / "exports" / name).rglob("*")):
        if path.is_file():
            s3.upload_file(str(path), bucket, f"{name}/{path.relative_to(folder / 'exports' / name)}")
    options = StoreOptions(source="bill", endpoint_url=endpoint, engine_url=URL, groups=grouped_bill("athena", ["run"]))
    return GroupedStore(S3Store(f"s3://{bucket}/{name}", options), AthenaEngine(options), options)


@pytest.fixture
def athena(tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[GroupedStore, Stubber]]:
    exports = Exports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 1.0), hour("2026-04-10T11:00:00", 2.5)])
    store = stored(tmp_path, endpoint, "cur")
    monkeypatch.setattr("connectors.stores.athena.time.sleep", lambda _: None)
    assert isinstance(store.engine, AthenaEngine)
    with Stubber(store.engine.client) as stub:
        yield store, stub


def execution(state: str, **more: Any) -> dict[str, Any]:
    status = {"State": state, "SubmissionDateTime": datetime(2026, 6, 1, 12, tzinfo=UTC), **more}
    return {"QueryExecution": {"QueryExecutionId": "q-1", "Status": status}}


def page(names: list[str], *rows: dict[str, str], token: str | None = None) -> dict[str, Any]:
    info = [{"Name": name, "Type": "varchar"} for name in names]
    data = [{"Data": [{"VarCharValue": row[name]} if name in row else {} for name in names]} for row in rows]
    answer: dict[str, Any] = {"ResultSet": {"Rows": data, "ResultSetMetadata": {"ColumnInfo": info}}}
    return answer | ({"NextToken": token} if token else {})


METADATA = {
    "TableMetadata": {
        "Name": "cur",
        "Columns": [{"Name": name, "Type": kind.replace("varchar", "string")} for name, kind in TYPES.items()],
        "PartitionKeys": [{"Name": "billing_period", "Type": "string"}],
    }
}


def test_times_in_a_zone_of_the_engine_are_refused(athena: tuple[GroupedStore, Stubber], tmp_path: Path) -> None:
    store, stub = athena
    [delivery], _ = look("aws_cur", cur.find_deliveries, cur.LAYOUTS, store)
    [info] = delivery.objects  # type: ignore[union-attr]
    names = [*TYPES, "line_count", "is_total", "files"]
    group = {"bill_billing_period_start_date": "2026-04-01 02:00:00.000", "line_count": "2", "is_total": "false"}
    stub.add_response("get_table_metadata", METADATA)
    stub.add_response("start_query_execution", {"QueryExecutionId": "q-1"})
    stub.add_response("get_query_execution", execution("SUCCEEDED"))
    stub.add_response("get_query_results", page(names, dict(zip(names, names, strict=True)), group))
    with pytest.raises(SourceUnreadableError, match="reads a billing period that begins at 2026-04-01 02:00:00") as caught:
        store.fetch(info, tmp_path / "answer.parquet")
    assert caught.value.reason == "other_time_zone"
    assert not (tmp_path / "answer.parquet").exists()


def test_a_large_file_that_the_table_lacks_is_named_and_not_read(athena: tuple[GroupedStore, Stubber]) -> None:
    store, _ = athena
    gone = ObjectInfo("data/BILLING_PERIOD=2026-04/gone.parquet", READ_LIMIT + 1, "e", datetime(2026, 6, 1, tzinfo=UTC))
    assert store._has_rows(gone)


def test_an_answer_of_athena_comes_as_text_and_is_landed_with_its_types(
    athena: tuple[GroupedStore, Stubber], tmp_path: Path
) -> None:
    store, stub = athena
    [delivery], _ = look("aws_cur", cur.find_deliveries, cur.LAYOUTS, store)
    [info] = delivery.objects  # type: ignore[union-attr]
    names = [*TYPES, "resource_tags", "line_count", "is_total", "files"]
    group = {
        "bill_payer_account_id": "000011112222",
        "bill_billing_period_start_date": "2026-04-01 00:00:00.000",
        "line_item_usage_start_date": "2026-04-10 00:00:00.000",
        "line_item_unblended_cost": "3.5000000000000",
        "resource_tags": '{"user_team":"a"}',
        "line_count": "2",
        "is_total": "false",
    }
    [file] = store._files(info)
    total = {
        "line_item_unblended_cost": "3.5000000000000",
        "line_count": "2",
        "is_total": "true",
        "files": store.uri_of(file.key),
    }
    stub.add_response("get_table_metadata", METADATA)
    stub.add_response("start_query_execution", {"QueryExecutionId": "q-1"})
    stub.add_response("get_query_execution", execution("RUNNING"))
    stub.add_response("get_query_execution", execution("SUCCEEDED"))
    stub.add_response("get_query_results", page(names, dict(zip(names, names, strict=True)), group, token="more"))
    stub.add_response("get_query_results", page(names, total))
    store.fetch(info, tmp_path / "answer.parquet")
    [row] = pq.read_table(tmp_path / "answer.parquet").to_pylist()
    assert (row["line_count"], row["line_item_unblended_cost"]) == (2, Decimal("3.5"))
    assert row["line_item_usage_start_date"] == datetime(2026, 4, 10)  # noqa: DTZ001 - the export's timestamps have no zone
    assert row["resource_tags"] == [("user_team", "a")]
    content = store.query_of(info)
    assert content
    record = json.loads(content)
    assert (record["engine"], record["query_id"], record["asked_at"]) == ("athena", "q-1", "2026-06-01T12:00:00+00:00")
    assert [one["key"] for one in record["files"]] == [file.key]
    require_sums("aws_cur", tmp_path / "answer.parquet", content, "uri", "key")
    dearer = json.dumps(record | {"sums": record["sums"] | {"line_item_unblended_cost": "3.500000000001"}}).encode()
    with pytest.raises(SourceUnreadableError, match=r"and Athena states 3\.500000000001 of the rows"):
        require_sums("aws_cur", tmp_path / "answer.parquet", dearer, "uri", "key")


def test_what_athena_refuses_is_named_with_a_remedy(athena: tuple[GroupedStore, Stubber]) -> None:
    store, stub = athena
    stub.add_client_error("get_table_metadata", "MetadataException")
    with pytest.raises(SourceUnreadableError) as caught:
        store.engine.open([])
    assert (caught.value.reason, caught.value.remedy) == ("missing_table", "Check catalog, database and table of `engine_url`.")
    stub.add_client_error("start_query_execution", "AccessDeniedException")
    with pytest.raises(SourceUnreadableError) as caught:
        store.engine.ask("SELECT 1")
    assert caught.value.reason == "permission_denied" and "docs/sources/aws_cur.md" in caught.value.remedy
    stub.add_response("start_query_execution", {"QueryExecutionId": "q-1"})
    stub.add_response("get_query_execution", execution("FAILED", StateChangeReason="Bytes scanned limit was exceeded"))
    with pytest.raises(SourceUnreadableError, match="query q-1: Bytes scanned limit was exceeded"):
        store.engine.ask("SELECT 1")
    with pytest.raises(SourceUnreadableError, match="the statement has more than 262144 bytes"):
        store.engine.ask("x" * 262_145)


def test_the_statement_of_a_group_names_its_day_and_columns() -> None:
    import duckdb

    text = rows_of_group("trino", "s3://bucket/cur", '"hive"."bills"."cur"')
    its = dict.fromkeys(("payer_account_id", "service_code", "line_item_type", "usage_type", "billing_currency"), "o'clock")
    row = ", ".join(f"'{value.replace(chr(39), chr(39) * 2)}' as {name}" for name, value in its.items())
    asked = f"select {text} from (select {row}, '' as sub_account_id, date '2026-04-10' as charge_period_start) as its"
    found = duckdb.sql(asked).fetchone()
    assert found
    assert found[0].startswith('SELECT * FROM "hive"."bills"."cur" WHERE date_trunc(')
    assert f"TIMESTAMP '{date(2026, 4, 10)} 00:00:00' AND \"bill_payer_account_id\" = 'o''clock'" in found[0]
    assert "line_item_usage_account_id" not in found[0]
