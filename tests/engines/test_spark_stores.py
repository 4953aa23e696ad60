"""`engine: spark` of a bill where no Spark is needed: what is refused, what is handed on, what the files of a table are."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from connectors.aws import cur
from connectors.aws.cur_columns import SCHEMA
from connectors.aws.grouped_bill import grouped_bill, rows_of_group
from connectors.deliveries import Delivery
from connectors.errors import ConnectorError, SourceUnreadableError
from connectors.stores import StoreOptions, spark_process
from connectors.stores.grouped import GroupedStore
from connectors.stores.iceberg import SparkTable, TableFiles
from dagster_project.base.failures import UsageError
from dagster_project.doctor.engines import check_engine
from dagster_project.settings import SourceSettings, load_settings

PROGRAM = Path(spark_process.__file__).with_name("spark_program.py")
LOCATION = "iceberg://lake/billing/cur"
COLUMNS = [column.name for column in SCHEMA if column.required]


# --- configuration ------------------------------------------------------------------------------------------------------


def refusal_of(folder: Path, **source: Any) -> str:
    """What a configuration with one source is refused with; '' where it is taken."""
    path = folder / "trainledger.yaml"
    path.write_text(json.dumps({"organisation": {"name": "T"}, "sources": [{"name": "cur", **source}]}))
    try:
        load_settings(path)
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ({"kind": "aws_cur", "location": "s3://bucket/cur", "engine": "spark", "endpoint_url": "http://localhost:1"}, ""),
        ({"kind": "aws_cur", "location": LOCATION, "engine": "spark", "maximum_bytes_billed": 20_000_000}, ""),
        ({"kind": "aws_cur", "location": LOCATION}, "iceberg:// is read of an aws_cur bill with `engine: spark`"),
        ({"kind": "aws_carbon", "location": LOCATION, "engine": "spark"}, "iceberg:// is read of an aws_cur bill"),
        ({"kind": "aws_cur", "location": "exports/cur", "engine": "spark"}, "groups an aws_cur export in Parquet that lies in s3://"),
        ({"kind": "aws_focus", "location": "s3://bucket/focus", "engine": "spark"}, "groups an aws_cur export"),
        ({"kind": "aws_cur", "location": LOCATION, "engine": "spark", "role_arn": "arn:x"}, "role_arn changes nothing for iceberg://"),
        ({"kind": "aws_cur", "location": "s3://b/cur", "engine": "spark", "engine_url": "trino://h/a/b/c"}, "engine_url"),
    ],
)  # fmt: skip
def test_spark_groups_a_bill_that_lies_on_s3_or_in_a_table_and_nothing_else(
    source: dict[str, Any], refused: str, tmp_path: Path
) -> None:
    found = refusal_of(tmp_path, **source)
    assert refused in found and bool(found) == bool(refused)


# --- the process --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "java", "what"), [(None, "/usr/bin/java", "there is no Spark here"), ("pyspark", None, "there is no Java here")]
)
def test_without_spark_or_java_a_source_is_unreadable_and_the_remedy_names_what_is_missing(
    found: str | None, java: str | None, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_process, "find_spec", lambda name: found)
    monkeypatch.setattr(shutil, "which", lambda name: java)
    for name in ("SPARK_HOME", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SourceUnreadableError, match=what) as error:
        spark_process.SparkProcess("s3://bucket/cur", StoreOptions()).ask("rows", statement="SELECT 1")
    assert error.value.reason == "missing_engine" and "leave `engine` out" in error.value.remedy


def test_of_a_source_spark_is_given_the_endpoint_of_its_bucket_and_who_pays() -> None:
    options = StoreOptions(endpoint_url="http://localhost:9000", requester_pays=True)
    assert spark_process.settings_of("s3://exports/cur", options) == {
        "fs.s3a.bucket.exports.endpoint": "http://localhost:9000",
        "fs.s3a.bucket.exports.path.style.access": "true",
        "fs.s3a.bucket.exports.connection.ssl.enabled": "false",
        "fs.s3a.bucket.exports.requester.pays.enabled": "true",
    }
    assert spark_process.settings_of("s3://exports/cur", StoreOptions()) == {}


def test_the_pyspark_of_spark_home_goes_before_an_installed_one(tmp_path: Path) -> None:
    archives = tmp_path / "python/lib"
    archives.mkdir(parents=True)
    for name in ("pyspark.zip", "py4j-1-src.zip"):
        (archives / name).touch()
    found = spark_process.environment({"SPARK_HOME": str(tmp_path), "PYTHONPATH": "/mine"})["PYTHONPATH"].split(":")
    assert found == [str(archives / "py4j-1-src.zip"), str(archives / "pyspark.zip"), "/mine"]
    assert "PYTHONPATH" not in spark_process.environment({})


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["Py4JJavaError", "java.nio.file.AccessDeniedException"], "permission_denied"),
        (["AnalysisException", "PATH_NOT_FOUND"], "missing_object"),
        (["AnalysisException", "TABLE_OR_VIEW_NOT_FOUND"], "missing_table"),
        (["Py4JJavaError", "java.lang.RuntimeException", "java.lang.ClassNotFoundException"], "missing_engine"),
        (["java.lang.OutOfMemoryError"], "engine_failed"),
    ],
)
def test_what_failed_in_spark_has_a_reason_and_a_remedy(
    names: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that answers as Spark's does, with the names of what failed."""
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys\nsys.stdin.readline()\nprint({json.dumps({'failed': names})!r}, flush=True)\nsys.stdin.read()"
    )
    monkeypatch.setattr(spark_process, "_PROGRAM", program)
    monkeypatch.setattr(spark_process, "require_spark", lambda uri: None)
    process = spark_process.SparkProcess("s3://bucket/cur", StoreOptions())
    with pytest.raises(SourceUnreadableError) as error:
        process.ask("rows", statement="SELECT 1")
    assert (error.value.reason, names[-1] in error.value.message) == (reason, True)
    other = spark_process.SparkProcess("s3://bucket/other", StoreOptions())
    assert process.pid is not None and other.pid == process.pid, "two would wait for each other's cores"
    process.close()
    assert process.pid is None


def test_a_spark_that_ends_by_itself_is_an_error_with_the_class_of_what_it_printed_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text("raise MemoryError('a secret')")
    monkeypatch.setattr(spark_process, "_PROGRAM", program)
    monkeypatch.setattr(spark_process, "require_spark", lambda uri: None)
    with pytest.raises(SourceUnreadableError, match=r"its process ended, MemoryError") as error:
        spark_process.SparkProcess("s3://bucket/cur", StoreOptions()).ask("rows", statement="SELECT 1")
    assert "secret" not in error.value.message


@pytest.mark.parametrize(("sent", "code"), [("", 1), ('{"do": "end"}\n', 0)])
def test_the_program_ends_with_the_one_who_started_it(sent: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-P", str(PROGRAM)], input=sent, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (code, ""), done.stderr


# --- a table of Iceberg -------------------------------------------------------------------------------------------------


@dataclass
class Metadata:
    """What Spark states of a table: its snapshot, and the entries of it."""

    snapshot: int = 7
    catalogue: str = "hadoop"
    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, path: str, month: str = "2026-04", **more: Any) -> None:
        times = {"least": f"{month}-01 00:00:00", "most": f"{month}-01 00:00:00", "written_at": "2026-05-03T04:05:06.789"}
        self.entries.append({"content": 0, "path": f"s3a://lake/{path}", "size": 900, "row_count": 5, **times, **more})

    def table(self) -> SparkTable:
        """A table whose process answers with these."""
        table = SparkTable(LOCATION, StoreOptions(groups=grouped_bill("spark", ["training_run_id"])))
        answers = {"refs": [{"snapshot_id": self.snapshot}], "entries": self.entries, "SET": [{"value": self.catalogue}]}
        table.process.ask = self.asked(answers)  # type: ignore[method-assign]
        return table

    @staticmethod
    def asked(answers: dict[str, list[dict[str, Any]]]) -> Any:
        types = {**dict.fromkeys(COLUMNS, "string"), "bill_billing_period_start_date": "timestamp_ntz"}
        types |= {"line_item_unblended_cost": "double", "line_item_usage_start_date": "date", "line_item_usage_end_date": "date"}

        def ask(do: str, **request: Any) -> dict[str, Any]:
            kind = next(iter(name for name in answers if name in request.get("statement", "")), "")
            return {"types": types} if do == "describe" else {"rows": answers[kind]}

        return ask


def deliveries(metadata: Metadata) -> dict[str, Delivery]:
    found = list(cur.find_deliveries(TableFiles(metadata.table())))
    return {one.partition: one for one in found if isinstance(one, Delivery)}


def test_a_month_of_a_table_is_a_delivery_that_is_the_same_while_its_files_are() -> None:
    metadata = Metadata()
    metadata.add("a/00000-1.parquet")
    metadata.add("b/00000-1.parquet", written_at="2026-05-02T00:00:00.000")
    metadata.add("c/00000-1.parquet", "2026-05", written_at=None)
    before = deliveries(metadata)
    assert {month: len(one.objects) for month, one in before.items()} == {"2026-04": 2, "2026-05": 1}
    assert before["2026-04"].published_at == datetime(2026, 5, 3, 4, 5, 6, 789_000, UTC)
    assert before["2026-05"].published_at == datetime(2026, 6, 1, tzinfo=UTC), "whose snapshot is expired"
    metadata.snapshot = 8
    metadata.add("d/00000-1.parquet", "2026-05", written_at="2026-06-03T00:00:00.000")
    after = deliveries(metadata)
    assert after["2026-04"].identity == before["2026-04"].identity
    assert after["2026-05"].identity != before["2026-05"].identity
    metadata.add("e/deletes.parquet", content=1)
    assert deliveries(metadata)["2026-04"].identity != before["2026-04"].identity, "rows may be gone from it"


def test_a_statement_reads_a_month_of_one_snapshot() -> None:
    metadata = Metadata(snapshot=41)
    metadata.add("a.parquet", "2026-12")
    opened = metadata.table().open(["s3a://lake/a.parquet"])
    assert " ".join(opened.relation.split()) == (
        "( SELECT *, _file FROM `lake`.`billing`.`cur` VERSION AS OF 41"
        " WHERE `bill_billing_period_start_date` >= TIMESTAMP_NTZ '2026-12-01'"
        " AND `bill_billing_period_start_date` < TIMESTAMP_NTZ '2027-01-01' )"
    )
    assert opened.among == ()


@pytest.mark.parametrize(
    ("more", "reason", "remedy"),
    [
        ({"most": "2026-05-01 00:00:00"}, "bad_partition", "Partition the table by months("),
        ({"least": None, "most": None}, "no_metrics", "Set write.metadata.metrics.column."),
    ],
)
def test_a_file_that_is_of_no_month_is_named_with_its_remedy(more: dict[str, Any], reason: str, remedy: str) -> None:
    metadata = Metadata()
    metadata.add("a.parquet", **more)
    with pytest.raises(ConnectorError, match=r"s3a://lake/a\.parquet") as error:
        deliveries(metadata)
    assert error.value.reason == reason and error.value.remedy.startswith(remedy)


def test_an_answer_is_priced_by_the_bytes_of_the_months_files() -> None:
    metadata = Metadata()
    for number in range(3):
        metadata.add(f"{number}.parquet", size=30_000_000)
    groups = grouped_bill("spark", ["training_run_id"])
    table = metadata.table()
    store = GroupedStore(TableFiles(table), table, StoreOptions(groups=groups, maximum_bytes_billed=100_000_000))
    [delivery] = [store.answer_of(one) for one in cur.find_deliveries(store)]
    [read] = store.price(delivery.objects)
    assert read.bytes == 90_000_000 * groups.reads
    with pytest.raises(SourceUnreadableError, match="would read up to 180000000 bytes"):
        store.fetch(delivery.objects[0], Path("unwritten.parquet"))


@pytest.mark.parametrize(("catalogue", "before"), [("hadoop", []), ("glue", ["warning"])])
def test_doctor_states_table_and_bytes_and_warns_of_a_catalogue_that_was_not_tried(catalogue: str, before: list[str]) -> None:
    metadata = Metadata(catalogue=catalogue)
    metadata.add("a.parquet", size=30_000_000)
    table = metadata.table()
    store = GroupedStore(TableFiles(table), table, StoreOptions(groups=grouped_bill("spark", ["training_run_id"])))
    deliveries = [store.answer_of(one) for one in cur.find_deliveries(store)]
    source = SourceSettings(name="cur", kind="aws_cur", location=LOCATION, engine="spark")  # type: ignore[arg-type]
    checks = list(check_engine(source, store, deliveries))
    assert [check.outcome for check in checks] == [*before, "ok", "ok", "warning"]
    assert f"Apache Spark has `lake`.`billing`.`cur` with {len(COLUMNS)} columns" in checks[-3].message
    assert (catalogue == "glue") == ("Glue, Hive, REST were not" in checks[0].message)


# --- the statement ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "table", "relation"),
    [
        ("s3://bucket/it's", "", "parquet.`s3a://bucket/it's/data/BILLING_PERIOD=2026-04/`"),
        (LOCATION, "`lake`.`billing`.`cur`", "`lake`.`billing`.`cur`"),
    ],
)
def test_the_statement_that_lists_a_groups_rows_is_one_of_spark(location: str, table: str, relation: str) -> None:
    key = "data/BILLING_PERIOD=2026-04/groups.parquet"
    row = f"""select '{key}' as source_object, timestamp '2026-04-03' as charge_period_start, 'O''Br\\ien' as payer_account_id,
        '' as sub_account_id, 'AmazonS3' as service_code, '' as line_item_type, '' as usage_type, '' as billing_currency"""
    [(statement,)] = duckdb.sql(f"select {rows_of_group('spark', location, table)} from ({row}) as its").fetchall()
    assert statement == (
        f"SELECT * FROM {relation} WHERE date_trunc('DAY', `line_item_usage_start_date`) = TIMESTAMP '2026-04-03 00:00:00'"
        r" AND `bill_payer_account_id` = 'O\'Br\\ien' AND `line_item_product_code` = 'AmazonS3'"
    )
