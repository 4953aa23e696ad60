"""Carbon in a table: a delivery is a month, stated by the fingerprints of its rows, published when its partition was written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from tests.bigquery.exported import TABLE, Exported, store_of
from tests.connectors.gcp import CARBON, EMISSION
from tests.landing.kit import Organisation, instant

BY_MONTH = {"timePartitioning": {"type": "MONTH", "field": "usage_month"}, "lastModifiedTime": "1781524800000"}  # 15 June 2026


def month_of(month: str, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**EMISSION, "usage_month": dt.date.fromisoformat(f"{month}-01"), **row} for row in rows]


@pytest.fixture
def carbon() -> Exported:
    days = {
        "2022-03-01": month_of("2022-03", {"carbon_footprint_total_kgCO2e": {"location_based": 1.5}}),
        "2026-04-01": month_of("2026-04", {}, {"project": {"number": "", "id": None}}, {"project": {"number": "7", "id": None}}),
    }
    written = {"202203": instant("2026-05-01"), "202604": instant("2026-05-15"), "__NULL__": instant("2026-06-15")}
    return Exported(days, CARBON, BY_MONTH, written)


@pytest.fixture
def url(carbon: Exported, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    with carbon.serving(monkeypatch) as url:
        yield url


@pytest.fixture
def organisation(url: str, tmp_path: Path) -> Organisation:
    return Organisation(tmp_path, {"name": "carbon", "kind": "gcp_carbon", "location": f"bq://{TABLE}", "endpoint_url": url})


def test_a_month_is_identified_by_its_fingerprint_and_dated_by_its_partition(carbon: Exported, url: str) -> None:
    infos = list(store_of(url, "gcp_carbon").list_objects())
    assert [(info.key, info.last_modified) for info in infos] == [
        ("_PARTITIONTIME=2022-03-01/rows.parquet", instant("2026-05-01")),
        ("_PARTITIONTIME=2026-04-01/rows.parquet", instant("2026-05-15")),
    ]
    assert "FARM_FINGERPRINT" in carbon.looks[0] and infos[1].etag.startswith("3-")
    assert [asked["labels"]["step"] for asked in (one.get("configuration", one) for one in carbon.rest.asked)] == ["look", "look"]


@pytest.mark.parametrize("divided", [{}, {"timePartitioning": {"type": "DAY"}}])
def test_where_the_table_is_divided_otherwise_a_month_is_dated_by_the_whole_table(
    carbon: Exported, url: str, divided: dict[str, Any]
) -> None:
    carbon.more = {**divided, "lastModifiedTime": BY_MONTH["lastModifiedTime"]}
    carbon.__post_init__()
    assert {info.last_modified for info in store_of(url, "gcp_carbon").list_objects()} == {instant("2026-06-15T12:00")}
    assert len(carbon.rest.asked) == 1


def test_months_of_a_table_that_nothing_divides_are_read_by_one_query_and_cut_here(
    carbon: Exported, url: str, tmp_path: Path
) -> None:
    carbon.more = {"lastModifiedTime": BY_MONTH["lastModifiedTime"]}
    carbon.__post_init__()
    carbon.rest.bytes = lambda _: 1
    store = store_of(url, "gcp_carbon")
    infos = list(store.list_objects())
    assert [len(read.infos) for read in store.price(infos)] == [2]
    for number, info in enumerate(infos):
        (tmp_path / str(number)).mkdir()
        store.fetch(info, tmp_path / str(number) / "rows.parquet")
    found = [pq.read_table(tmp_path / str(number) / "rows.parquet").column("usage_month").to_pylist() for number in (0, 1)]
    assert found == [[dt.date(2022, 3, 1)], [dt.date(2026, 4, 1)] * 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"], "nothing is left behind"


def test_a_month_that_a_backfill_rewrote_is_read_again_and_no_other(organisation: Organisation, carbon: Exported) -> None:
    assert organisation.outcomes() == {"landed": 2}
    assert organisation.refresh() == []
    carbon.days["2026-04-01"] = month_of("2026-04", {"carbon_model_version": 15})
    carbon.written["202604"] = instant("2026-06-16")
    assert organisation.outcomes() == {"landed": 1}
    assert carbon.reads == ["2022-03-01", "2026-04-01", "2026-04-01"]
    elected = "select usage_month, model_version from raw.gcp_carbon where _is_elected_version order by all"
    assert organisation.raw(elected) == [(dt.date(2022, 3, 1), "14"), (dt.date(2026, 4, 1), "15")]


def test_months_without_market_based_figures_and_rows_without_a_project_stay_as_they_are(organisation: Organisation) -> None:
    organisation.refresh()
    rows = organisation.raw(
        "select usage_month, project_number, project_id, total_market_based from raw.gcp_carbon order by usage_month, line_number"
    )
    assert rows == [
        (dt.date(2022, 3, 1), "000123456789", "research", None),
        (dt.date(2026, 4, 1), "000123456789", "research", 7.375),
        (dt.date(2026, 4, 1), "", None, 7.375),
        (dt.date(2026, 4, 1), "7", None, 7.375),
    ]


def test_repeats_of_a_backfill_are_there_once_and_reported(organisation: Organisation, carbon: Exported) -> None:
    carbon.days["2022-03-01"] *= 2
    landed = organisation.refresh()
    assert organisation.raw("select count(*) from raw.gcp_carbon where usage_month = date '2022-03-01'") == [(1,)]
    assert [one.reason for one in landed[0].contents.refusals if landed[0].contents] == ["repeated_row"]


def test_a_backfill_of_an_old_month_is_found_without_a_look_back(organisation: Organisation, carbon: Exported) -> None:
    organisation.refresh()
    carbon.days["2022-03-01"] = month_of("2022-03", {"carbon_model_version": 15})
    carbon.days["2021-01-01"] = month_of("2021-01", {})
    assert organisation.outcomes() == {"landed": 2}


def test_a_look_back_that_is_set_takes_months_whole_and_months_bounds_both_ends(
    url: str, carbon: Exported, tmp_path: Path
) -> None:
    source = {
        "name": "carbon",
        "kind": "gcp_carbon",
        "location": f"bq://{TABLE}",
        "endpoint_url": url,
        "months": "2026-03..2026-05",
    }
    organisation = Organisation(tmp_path, {**source, "look_back_days": 40})
    assert organisation.outcomes() == {"landed": 1}
    organisation.refresh()
    first, second = carbon.looks
    assert ">= DATE '2026-03-01'" in first and "< DATE '2026-06-01'" in first
    assert ">= DATE '2026-05-01'" in second, "40 days before 20 June, from the beginning of the month"
