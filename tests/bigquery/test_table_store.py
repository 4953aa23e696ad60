"""A table as a store: its partitions are listed by one capped query and fetched as Parquet, by the unmodified clients."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from connectors.errors import ExportChangedError
from connectors.gcp.tables import grouped_bill
from connectors.stores import ObjectInfo, StoreOptions, bigquery
from connectors.stores.bigquery import TableStore
from connectors.stores.opening import open_store
from tests.bigquery.described import described
from tests.bigquery.exported import TABLE, Exported, store_of
from tests.connectors.gcp import BILLING, BILLING_2019, START, line

DAY = dt.timedelta(days=1)
ROWS = [line(cost=float(number), export_time=START + dt.timedelta(microseconds=number)) for number in range(5)]


@pytest.fixture
def bill() -> Exported:
    return Exported({"2026-04-01": ROWS, "2026-04-02": [line(export_time=START + DAY)]})


@pytest.fixture
def url(bill: Exported, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with bill.serving(monkeypatch) as url:
        yield url


def first_of(url: str, **options: Any) -> ObjectInfo:
    return next(iter(store_of(url, **options).list_objects()))


def test_a_listing_is_one_capped_and_labelled_query_and_reads_no_row(bill: Exported, url: str) -> None:
    infos = list(store_of(url, maximum_bytes_billed=20_000_000_000, first_day=dt.date(2026, 3, 1)).list_objects())
    assert infos == [
        ObjectInfo("_PARTITIONTIME=2026-04-01/rows.parquet", 0, "5-1775023200000004", ROWS[-1]["export_time"]),
        ObjectInfo("_PARTITIONTIME=2026-04-02/rows.parquet", 0, "1-1775109600000000", START + DAY),
    ]
    [asked] = bill.rest.asked
    settings = asked.get("configuration", {}).get("query", asked)
    labels = asked.get("configuration", asked)["labels"]
    assert settings["maximumBytesBilled"] == "20000000000"
    assert labels == {"product": "trainledger", "source": "bill", "step": "look"}
    assert "TIMESTAMP '2026-03-01 00:00:00+00'" in bill.looks[0]
    assert bill.storage.sessions == []


def test_nothing_is_asked_before_the_first_call(bill: Exported, url: str) -> None:
    store_of(url)
    assert bill.rest.asked == []


def test_a_partition_is_fetched_as_parquet_with_the_types_of_the_table(bill: Exported, url: str, tmp_path: Path) -> None:
    sha256 = store_of(url).fetch(first_of(url), tmp_path / "rows.parquet")
    assert sha256 == hashlib.sha256((tmp_path / "rows.parquet").read_bytes()).hexdigest()
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table.schema.equals(BILLING)
    assert table.column("cost").to_pylist() == [0, 1, 2, 3, 4]
    read = bill.rest.asked[-1]["configuration"]
    assert read["query"]["maximumBytesBilled"] == "100000000000" and read["labels"]["step"] == "read"
    assert "`billing_account_id`" in bill.statements[-1] and "*" not in bill.statements[-1]


def test_rows_are_written_as_they_come(bill: Exported, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_of(url).fetch(first_of(url), tmp_path / "whole.parquet")
    monkeypatch.setattr(bigquery, "_ROW_GROUP", 1)
    store_of(url).fetch(first_of(url), tmp_path / "pieces.parquet")
    files = [pq.ParquetFile(tmp_path / name) for name in ("whole.parquet", "pieces.parquet")]
    assert [file.metadata.num_row_groups for file in files] == [1, 3], "messages of two rows"
    assert files[0].read() == files[1].read()


def test_an_older_table_is_read_in_the_columns_it_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [{name: value for name, value in line().items() if name in BILLING_2019.names}]
    old = Exported({"2019-04-01": rows}, BILLING_2019)
    with old.serving(monkeypatch) as url:
        store_of(url).fetch(first_of(url), tmp_path / "rows.parquet")
    assert pq.read_schema(tmp_path / "rows.parquet").names == BILLING_2019.names
    assert "`resource`" not in old.statements[-1] and "`tags`" not in old.statements[-1]


def test_a_cut_stream_goes_on_where_it_was_cut(bill: Exported, url: str, tmp_path: Path) -> None:
    bill.storage.cuts += [1, 1]
    store_of(url).fetch(first_of(url), tmp_path / "rows.parquet")
    assert bill.storage.offsets == [0, 2, 4]
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 5


@pytest.mark.parametrize("rows", [ROWS[:4], [*ROWS[:4], line(export_time=START + 2 * DAY)], []])
def test_rows_that_are_not_those_listed_are_not_taken(
    bill: Exported, url: str, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    listed = first_of(url)
    bill.days["2026-04-01"] = rows
    with pytest.raises(ExportChangedError) as caught:
        store_of(url).fetch(listed, tmp_path / "rows.parquet")
    assert caught.value.reason == "changed_while_reading"
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_opened_by_its_location(url: str) -> None:
    store = open_store("bq://acme-billing.exports.bill", base=Path())
    assert store.uri_of("_PARTITIONTIME=2026-04-01/rows.parquet").startswith("bq://acme-billing.exports.bill/_PART")


def test_of_what_no_time_divides_one_query_reads_many_days_and_they_are_cut_here(
    bill: Exported, url: str, tmp_path: Path
) -> None:
    """A query for one day of a view is billed for all of them: day by day a view of 50 GB would be read 700 times."""
    bill.rest.tables = {TABLE: described(bill.schema, location="EU")}
    bill.rest.bytes = lambda _: 50_000_000_000
    days = {f"2026-04-{day:02}": dt.datetime(2026, 4, day, tzinfo=dt.UTC) for day in (1, 2, 4)}
    bill.days = {
        day: [line(cost=float(hour), usage_start_time=at + dt.timedelta(hours=hour), export_time=at) for hour in (0, 23)]
        for day, at in days.items()
    }
    store = store_of(url)
    infos = list(store.list_objects())
    [read] = store.price(infos)
    assert (read.bytes, read.infos) == (50_000_000_000, tuple(infos))
    for info in infos:
        (tmp_path / info.key[15:25]).mkdir()
        store.fetch(info, tmp_path / info.key[15:25] / "rows.parquet")
    assert len(bill.statements) == 2, "a look and a read"
    found = {day: pq.read_table(tmp_path / day / "rows.parquet") for day in days}
    assert {day: table.column("usage_start_time").to_pylist() for day, table in found.items()} == {
        day: [at, at + dt.timedelta(hours=23)] for day, at in days.items()
    }
    assert all(table.schema.equals(BILLING) for table in found.values())


def test_a_day_of_a_span_that_is_not_as_listed_is_not_taken_and_the_others_are(bill: Exported, url: str, tmp_path: Path) -> None:
    bill.rest.tables = {TABLE: described(bill.schema, location="EU")}
    bill.days = {f"2026-04-{day:02}": [line(usage_start_time=START + (day - 1) * DAY, export_time=START)] for day in (1, 2, 3)}
    store = store_of(url)
    infos = list(store.list_objects())
    store.price(infos)
    bill.days["2026-04-02"] *= 2
    bill.days["2026-04-03"] = []
    paths = [tmp_path / str(number) / "rows.parquet" for number in range(3)]
    for path in paths:
        path.parent.mkdir()
    store.fetch(infos[0], paths[0])
    for info, path in zip(infos[1:], paths[1:], strict=True):
        with pytest.raises(ExportChangedError):
            store.fetch(info, path)
    assert [path.exists() for path in paths] == [True, False, False]


def test_what_is_read_together_is_priced_by_month_or_by_what_one_answer_holds(
    bill: Exported, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill.days = dict.fromkeys(("2026-03-30", "2026-03-31", "2026-04-02", "2026-04-03", "2026-04-05"), ROWS[:2])
    bill.rest.bytes = lambda text: 20_000_000 * text.count(">=")
    store = store_of(url)
    reads = store.price(list(store.list_objects()))
    assert [(len(read.infos), read.bytes) for read in reads] == [(2, 20_971_520), (3, 40_000_000)], "10 MiB a query at least"
    bill.rest.tables = {TABLE: described(bill.schema, location="EU")}
    monkeypatch.setattr(bigquery, "_SPAN_ROWS", 6)
    monkeypatch.setattr(bigquery, "_SPAN_DAYS", 2)
    store = store_of(url)
    assert [len(read.infos) for read in store.price(list(store.list_objects()))] == [2, 2, 1]


def test_rows_that_are_kept_beside_groups_are_priced_and_cut_as_rows_are(
    bill: Exported, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill.days = dict.fromkeys(("2026-03-30", "2026-03-31", "2026-04-02"), ROWS[:2])
    bill.rest.tables = {TABLE: described(bill.schema, location="EU")}  # no time divides it, so that one query reads many days
    bill.rest.bytes = lambda text: 40_000_000 if "WITH source AS" in text else 60_000_000
    monkeypatch.setattr(bigquery, "_SPAN_DAYS", 2)
    options = StoreOptions(source="bill", endpoint_url=url, table=grouped_bill(["run"]))
    store = TableStore(f"bq://{TABLE}", replace(options, keep="raw"))
    infos = list(store.list_objects())
    reads = store.price(infos)
    assert [(len(read.infos), read.bytes) for read in reads] == [
        (2, 40_000_000),
        (1, 40_000_000),
        (2, 60_000_000),
        (1, 60_000_000),
    ]
    without = [*TableStore(f"bq://{TABLE}", options).list_objects()]
    assert [info.etag for info in infos] == [f"{info.etag}-raw" for info in without], "other deliveries of the same partitions"
    read_by, [first] = store.raw_of(infos[0])
    assert (read_by.uri, read_by) == (store.uri, store.raw_of(infos[1])[0]), "one store, which knows the spans"
    assert first == next(store_of(url).list_objects()), "what is read where no groups are made"
    assert sum(read.infos[0].key == first.key for read in reads) == 2
