"""The comparison of the demo: real statements about a published window and another, and claims that rest on its bills."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from reports.comparison import render
from reports.publication import Publication, open_publication
from reports.quarter import Window
from reports.statements import report_statements, standing_alone

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(demo_home: Path) -> Path:
    return demo_home / "trainledger-home" / "published" / "trainledger.duckdb"


@pytest.fixture(scope="module")
def published(file: Path) -> Iterator[Publication]:
    with open_publication(file) as publication:
        yield publication


@pytest.mark.parametrize("table", ["rpt_trainium_vs_tpu", "rpt_comparison_pairs"])
def test_a_statement_asked_about_a_published_window_gives_the_rows_of_that_window(published: Publication, table: str) -> None:
    window = Window(date(2026, 7, 1), date(2026, 10, 1))
    dates = f"window_start = date '{window.start}' and window_end = date '{window.end}'"
    sql = f"select * from marts.{table} where {dates} order by all"
    rows = published.rows(standing_alone(sql, report_statements(published), window))
    assert rows == published.rows(sql) != []


def test_any_dates_can_be_asked_and_the_bytes_are_the_same_again(file: Path, tmp_path: Path) -> None:
    days = (date(2026, 5, 3), date(2026, 8, 20))
    one, other = (render(file, *days, tmp_path / name, organisation="Example AG") for name in ("one", "other"))
    assert sum(one.verdicts.values()) > 0 and sum(one.claims.values()) == 27
    assert one.html.read_bytes() == other.html.read_bytes() and one.json.read_bytes() == other.json.read_bytes()


def test_how_hours_were_bought_adds_up_to_the_accelerator_cost_of_runs(published: Publication) -> None:
    by_month = "select training_run_id, usage_month, billing_currency, sum(effective_cost) as cost from marts.{} {} group by all"
    bought = by_month.format("fct_purchase_costs", "")
    asked = by_month.format("fct_training_run_costs", "where cost_component = 'accelerator'") + " having cost <> 0"
    assert published.rows(f"({bought} except {asked}) union all ({asked} except {bought})") == []
    options = published.rows("select distinct purchase_option from marts.fct_purchase_costs")
    assert {"on_demand", "spot", "commitment", "capacity_block"} <= {row["purchase_option"] for row in options}


def test_what_spot_saves_is_measured_on_the_bills_with_lost_attempts(published: Publication) -> None:
    [spot] = published.rows("select verdict, measured_value from marts.rpt_vendor_claims where claim_id = 'C7'")
    assert spot["verdict"] == "supported" and 0.5 < spot["measured_value"] < 0.6
    [plain] = published.rows(
        "select 1 - sum(effective_cost) / sum(list_cost) as saving from marts.fct_purchase_costs"
        " where provider_name = 'AWS' and purchase_option = 'spot'"
    )
    assert spot["measured_value"] < plain["saving"]  # what was lost was paid for
