"""A bill of AWS whose lines Trino makes into groups publishes what its rows publish, to the last digit.

Real: a Trino server (tests/engines/trino_server.py), the S3 server of the tests, and whole refreshes. Drawn: the bills of
tests/oracle/any_bill.py, and rows about which no rule decides by itself, with doubles of 1 to 17 digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import boto3
import duckdb
import jinja2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

pytest.importorskip("trino.dbapi", reason="the extra `trino` is not installed")

from connectors.aws import cur
from connectors.aws.cur_columns import SCHEMA
from connectors.deliveries import Delivery
from connectors.errors import ExportChangedError, SourceUnreadableError
from connectors.layouts.accounting import look
from dagster_project.base.dbt_project import project_folder
from dagster_project.commands.query import digests
from dagster_project.commands.verifying import verify_landing
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.landing.sources import open_source
from dagster_project.settings import SourceSettings
from tests.conftest import Command
from tests.engines.drawn_bill import DIFFERING, drawn_rows
from tests.engines.trino_server import ELSEWHERE, Trino, types_in
from tests.evidence.walked import faults, opened
from tests.landing.kit import Organisation
from tests.line.kit import query
from tests.oracle import any_bill
from tests.oracle.builders import Exports

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.usefixtures("made_up_credentials")]

NOW = "2026-06-20T00:00:00Z"
RUN_TAG = ["training_run_id"]
IN_MAY = {
    "line_item_usage_start_date": datetime(2026, 5, 2),  # noqa: DTZ001 - the export's timestamps have no zone
    "line_item_usage_end_date": datetime(2026, 5, 2, 1),  # noqa: DTZ001
}


class Bills:
    """A folder of exports whose bills lie in a bucket, with a table of Trino over each."""

    def __init__(self, folder: Path, trino: Trino, bucket: str) -> None:
        self.exports, self.trino, self.bucket = Exports(folder), trino, bucket
        self.s3 = boto3.client("s3", endpoint_url=trino.s3)
        self.s3.create_bucket(Bucket=bucket)

    @property
    def names(self) -> list[str]:
        return [source["name"] for source in self.exports.sources if source["kind"] == "aws_cur"]

    def upload(self, month: str = "") -> None:
        for name in self.names:
            folder = self.exports.folder / "exports" / name
            for path in sorted(folder.rglob("*")):
                if path.is_file() and month in str(path):
                    self.s3.upload_file(str(path), self.bucket, f"{name}/{path.relative_to(folder)}")

    def make_tables(self) -> None:
        for name in self.names:
            if files := self.parquet(name):
                self.trino.table(self.table(name), f"s3://{self.bucket}/{name}/data/", types_in(files))

    def parquet(self, name: str) -> list[Path]:
        return sorted((self.exports.folder / "exports" / name).rglob("*.parquet"))

    def table(self, name: str) -> str:
        return f"{self.bucket}_{name}".replace("-", "_")

    def source(self, name: str, **more: Any) -> dict[str, Any]:
        where = {"location": f"s3://{self.bucket}/{name}", "endpoint_url": self.trino.s3}
        return {"name": name, "kind": "aws_cur", **where, **more}

    def grouped(self, name: str, **more: Any) -> dict[str, Any]:
        return self.source(name, **{"engine": "trino", "engine_url": self.trino.url(self.table(name)), **more})

    def config(self, folder: Path, *, is_grouped: bool) -> Path:
        """The same organisation, its bills as rows or as groups."""
        document = yaml.safe_load(self.exports.config().read_text())
        bills = [self.grouped(name) if is_grouped and self.parquet(name) else self.source(name) for name in self.names]
        others = [
            one | {"location": str(self.exports.folder / one["location"])}
            for one in document["sources"]
            if one["kind"] != "aws_cur"
        ]
        document["sources"] = [*bills, *others]
        folder.mkdir()
        path = folder / "trainledger.yaml"
        path.write_text(yaml.safe_dump(document))
        return path


@pytest.fixture
def bills(tmp_path: Path, trino: Trino, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bills]:
    # of a machine without accelerators the rows of a record are not found under an engine: docs/sources/aws_cur.md
    monkeypatch.setitem(any_bill.NODES, "i-0e", "p5.48xlarge")
    yield Bills(tmp_path / "company", trino, f"bills{abs(hash(str(tmp_path))) % 10**9}")


def published(folder: Path, trainledger: Command, config: Path) -> dict[str, tuple[int, str]]:
    done = trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {one.table: (one.rows, one.digest) for one in digests(folder / "home/published/trainledger.duckdb")}


def test_a_bill_in_groups_publishes_what_its_rows_publish(bills: Bills, tmp_path: Path, trainledger: Command) -> None:
    any_bill.write_any_exports(bills.exports, 3)
    bills.exports.bill(drawn_rows(3, 3000), "2026-04", "cur-c")
    bills.upload()
    bills.make_tables()
    rows = published(tmp_path / "rows", trainledger, bills.config(tmp_path / "rows", is_grouped=False))
    config = bills.config(tmp_path / "groups", is_grouped=True)
    groups = published(tmp_path / "groups", trainledger, config)
    assert {name for name in rows if rows[name] != groups[name]} <= DIFFERING
    home = tmp_path / "groups/home"
    assert held_back(tmp_path / "rows/home") == held_back(home)
    records = {path: json.loads(path.read_text()) for path in (home / "landing").rglob("*query.json")}
    [ordinary_bill] = [one for path, one in records.items() if "cur-c" in path.parts]
    assert ordinary_bill["row_count"] == 3000 > 1.5 * ordinary_bill["answer_row_count"]
    assert {one["engine"] for one in records.values()} == {"trino"}
    verified = trainledger("verify", "--landing", "--config", config)
    assert verified.returncode == 0, verified.stdout
    assert "cur-c: 1 deliveries are groups, not the provider's rows" in verified.stdout
    assert not faults(home, config), "a number whose rows do not add up to it"
    with opened(home, config) as (of_home, connection):
        landed = Landed(connection, of_home)
        wanted = "select *, billed_cost as amount_ from attributed where source_name = 'cur-c' and row_count > 3"
        connection.execute(f"insert into groups {wanted}")
        landed.add_bill_rows("bill", "fct_charge_attributions", "billed_cost")
        details = {row["detail"] for row in landed.rows("select detail from origins where detail like 'a group that Trino%'")}
    assert details
    stated = [detail.partition("; they are among: ")[2] for detail in sorted(details)]
    assert all(bills.trino.run(statement) for statement in stated[:3]), "a statement of a group lists no row"


def held_back(home: Path) -> list[Any]:
    """The quarantine without the names of objects and rows."""
    sql = "select source_name, reason, column_name, value, remedy from marts.fct_quarantine order by all"
    return query(home, sql)


def test_each_amount_becomes_the_figure_that_it_becomes_here(bills: Bills, tmp_path: Path) -> None:
    """10,000 drawn rows of doubles of 1 to 17 digits, and of ties: each sum is that of DuckDB's exact figures."""
    bills.exports.bill(drawn_rows(2026, 10_000), "2026-04", "cur-c")
    bills.upload()
    bills.make_tables()
    [path] = bills.parquet("cur-c")
    answer, record = asked(bills, tmp_path)
    assert record["row_count"] == 10_000 == sum(answer["line_count"].to_pylist())
    macros = (
        project_folder() / "macros/exact.sql"
    ).read_text() + "{% macro figure(x) %}{{ double_to_decimal(x, 12) }}{% endmacro %}"
    module: Any = jinja2.Environment(autoescape=False).from_string(macros).module
    pq.write_table(answer, groups := tmp_path / "groups.parquet")
    by = "line_item_product_code, line_item_line_item_type, line_item_usage_account_id"
    with duckdb.connect() as connection:
        for name in (one for one in SCHEMA.measures if one in answer.column_names):
            figure = module.figure(name)
            here = f"select {by}, coalesce(sum({figure}), 0), count({name}) > 0 from '{path}' group by all order by all"
            least = f"case when abs({name}) >= 1e-12 then {name} end"
            there = f"select {by}, coalesce(sum({least}), 0), count({name}) > 0 from '{groups}' group by all order by all"
            assert connection.execute(here).fetchall() == connection.execute(there).fetchall(), name
            total = connection.execute(f"select coalesce(sum({figure}), 0) from '{path}'").fetchone()
            assert total and total[0] == Decimal(record["sums"][name]), name


def asked(bills: Bills, folder: Path, **more: Any) -> tuple[pa.Table, dict[str, Any]]:
    """The answer about the one delivery of cur-c, and its record."""
    store: Any = open_source(folder, SourceSettings.model_validate(bills.grouped("cur-c", **more)), run_tag_keys=RUN_TAG)
    [delivery], _ = look("aws_cur", cur.find_deliveries, cur.LAYOUTS, store)
    assert isinstance(delivery, Delivery)
    store.fetch(delivery.objects[0], folder / "answer.parquet")
    return pq.read_table(folder / "answer.parquet"), json.loads(store.query_of(delivery.objects[0]))


def test_the_same_files_are_the_same_answer(bills: Bills, tmp_path: Path) -> None:
    bills.exports.bill(drawn_rows(5, 500), "2026-04", "cur-c")
    bills.upload()
    bills.make_tables()
    answers = [asked(bills, tmp_path)[0] for _ in range(2)]
    assert answers[0].equals(answers[1])


def test_files_that_change_while_they_are_asked_give_no_delivery(bills: Bills, tmp_path: Path) -> None:
    bills.exports.bill(drawn_rows(5, 50), "2026-04", "cur-c")
    bills.upload()
    bills.make_tables()
    store: Any = open_source(tmp_path, SourceSettings.model_validate(bills.grouped("cur-c")), run_tag_keys=RUN_TAG)
    [delivery], _ = look("aws_cur", cur.find_deliveries, cur.LAYOUTS, store)
    ask = store.engine.ask

    def rewritten(sql: str) -> Any:
        answer = ask(sql)
        if "GROUPING" in sql:
            bills.exports.bill(drawn_rows(6, 50), "2026-04", "cur-c")
            bills.upload()
        return answer

    store.engine.ask = rewritten
    with pytest.raises(ExportChangedError):
        store.fetch(delivery.objects[0], tmp_path / "answer.parquet")
    assert not (tmp_path / "answer.parquet").exists()


def test_a_month_that_the_table_lacks_is_not_an_empty_month(bills: Bills, tmp_path: Path) -> None:
    bills.exports.bill(drawn_rows(5, 50), "2026-04", "cur-c")
    bills.upload()
    bills.make_tables()
    organisation = Organisation(tmp_path / "organisation", bills.grouped("cur-c"))
    assert organisation.outcomes() == {"landed": 1}
    bills.exports.bill([row | IN_MAY for row in drawn_rows(6, 50)], "2026-05", "cur-c")
    bills.upload("2026-05")
    assert organisation.outcomes() == {"unreadable": 1}
    folder = f"s3://{bills.bucket}/cur-c/data/BILLING_PERIOD=2026-05"
    bills.trino.add_month(bills.table("cur-c"), "2026-05", folder)
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.outcomes() == {}


def test_kept_files_give_the_same_groups_and_a_forged_row_of_them_others(bills: Bills, tmp_path: Path) -> None:
    bills.exports.bill(drawn_rows(5, 500), "2026-04", "cur-c")
    bills.upload()
    bills.make_tables()
    organisation = Organisation(tmp_path / "organisation", bills.grouped("cur-c", keep="raw"))
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.outcomes() == {}
    told: list[str] = []
    assert verify_landing(organisation.settings, told.append) == 0, told
    assert "and 1 of these give the same groups here" in told[-1]
    [kept] = [path for path in organisation.landing.rglob("*.parquet") if path.name.startswith("raw~")]
    assert kept.read_bytes() == bills.parquet("cur-c")[0].read_bytes()
    rows = pq.read_table(kept)
    first = rows.slice(0, 1).to_pylist()[0] | {"line_item_unblended_cost": 0.25}
    pq.write_table(pa.concat_tables([pa.Table.from_pylist([first], schema=rows.schema), rows.slice(1)]), kept)
    record = kept.parent / "_generation.json"
    document = json.loads(record.read_text())
    [its] = [one for one in document["objects"] if one["file"] == kept.name]
    its |= {"sha256": sha256(kept.read_bytes()).hexdigest(), "size": kept.stat().st_size}
    record.write_text(json.dumps(document))
    assert verify_landing(organisation.settings, told.append) == 1
    assert any("of line_item_unblended_cost, and" in line for line in told), told


def test_a_catalogue_that_reads_times_in_its_own_zone_is_refused(bills: Bills, tmp_path: Path) -> None:
    """Of times as AWS writes them, INT96: hours of use would move by nine, and their days with them."""
    bills.exports.bill(drawn_rows(5, 50), "2026-04", "cur-c")
    [path] = bills.parquet("cur-c")
    pq.write_table(pq.read_table(path), path, use_deprecated_int96_timestamps=True)
    bills.upload()
    bills.make_tables()
    answer, _ = asked(bills, tmp_path)
    assert {at.hour for at in answer["bill_billing_period_start_date"].to_pylist()} == {0}
    with pytest.raises(SourceUnreadableError, match="reads a billing period that begins at 2026-") as caught:
        asked(bills, tmp_path, engine_url=bills.trino.url(bills.table("cur-c"), ELSEWHERE))
    assert caught.value.reason == "other_time_zone"


def test_a_statement_above_the_cap_is_not_asked(bills: Bills, tmp_path: Path) -> None:
    bills.exports.bill(drawn_rows(5, 50), "2026-04", "cur-c")
    bills.upload()
    bills.make_tables()
    source = SourceSettings.model_validate(bills.grouped("cur-c", maximum_bytes_billed=10 << 20))
    store: Any = open_source(tmp_path, source, run_tag_keys=RUN_TAG)
    [delivery], _ = look("aws_cur", cur.find_deliveries, cur.LAYOUTS, store)
    [info] = delivery.objects
    [file] = store._files(info)
    store._known[info.key] = (info, (replace(file, size=6 << 20),))
    [read] = store.price([info])
    assert read.bytes == 12 << 20, "the rows, and three columns of them once more"
    store.engine.ask = None
    with pytest.raises(SourceUnreadableError, match=r"up to 12582912 bytes, and may read 10485760. It was not run"):
        store.fetch(info, tmp_path / "answer.parquet")


def test_doctor_states_table_and_bytes_and_asks_for_no_row(bills: Bills, tmp_path: Path, trainledger: Command) -> None:
    bills.exports.bill(drawn_rows(5, 50), "2026-04", "cur-c")
    bills.upload()
    path = tmp_path / "trainledger.yaml"
    document = {"organisation": {"name": "Test"}, "home": "./home", "sources": [bills.grouped("cur-c")]}
    path.write_text(yaml.safe_dump(document))

    def checks() -> list[dict[str, Any]]:
        done = trainledger("doctor", "--json", "--config", path, now=NOW)
        return [
            one for one in json.loads(done.stdout)["checks"] if one["about"] == "cur-c" and one["question"] in ("engine", "bytes")
        ]

    [missing] = checks()
    assert (missing["outcome"], missing["facts"]["reason"]) == ("problem", "missing_table")
    bills.make_tables()
    asked_until_now = "SELECT count(*) FROM system.runtime.queries WHERE query LIKE 'WITH source%'"
    before = bills.trino.run(asked_until_now)
    found = checks()
    assert [one["outcome"] for one in found] == ["ok", "ok", "warning"]
    assert found[1]["facts"]["bytes"] == 10 << 20
    assert bills.trino.run(asked_until_now) == before


def test_of_rows_and_groups_of_one_bill_what_is_configured_counts(bills: Bills, tmp_path: Path, trainledger: Command) -> None:
    bills.exports.bill(drawn_rows(5, 200), "2026-04", "cur-c")
    bills.upload()
    bills.make_tables()
    document = {"organisation": {"name": "Test"}, "home": "./home"}
    path, found = tmp_path / "trainledger.yaml", []
    for source in (bills.source("cur-c"), bills.grouped("cur-c")) * 2:
        path.write_text(yaml.safe_dump(document | {"sources": [source]}))
        published(tmp_path, trainledger, path)
        total = "select sum(provider_total) from marts.fct_reconciliation where measure = 'billed_cost'"
        elected = "select content_hash from ops.dim_deliveries where source_name = 'cur-c' and is_elected"
        found.append((query(tmp_path / "home", total), query(tmp_path / "home", elected)))
    totals, hashes = zip(*found, strict=True)
    assert totals[0] == totals[1] == totals[2] == totals[3]
    assert hashes[0] == hashes[2] != hashes[1] == hashes[3]
    assert [len(one) for one in hashes] == [1] * 4
