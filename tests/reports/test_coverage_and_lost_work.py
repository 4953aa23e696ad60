"""Coverage of the whole bill, and lost work by team and week, as the report asks them of a publication."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pytest

from reports.door import Row
from reports.pages import answer
from reports.publication import Publication
from reports.quarter import Quarter
from tests.reports.published_file import SCHEMA
from tests.reports.report_models import with_pages

ROWS = """
insert into marts.dim_services values ('AWS', 'AmazonS3', 'Amazon Simple Storage Service');
insert into marts.rpt_coverage values
    ('2026-04-01', 'AWS', 'AmazonEC2', 'USD', 80, 60, 80), ('2026-06-01', 'AWS', 'AmazonS3', 'USD', 20, 0, 10),
    ('2026-06-01', 'AWS', 'Tax', 'USD', 0, 0, 0), ('2026-07-01', 'AWS', 'AmazonEC2', 'USD', 900, 0, 0);
insert into marts.fct_lost_work values
    ('2026-06-01', '2026-06-22', 'failed', 'a', '1', 'USD', 3, 2, 1),
    ('2026-06-01', '2026-06-22', 'failed', 'a', '2', 'USD', 1, 1, 1),
    ('2026-06-01', '2026-06-29', 'failed', 'b', '1', 'USD', 2, null, null),
    ('2026-06-01', '2026-06-29', 'interrupted', 'c', '1', 'USD', 5, 5, 5),
    ('2026-06-01', '2026-06-29', 'idle', '', '', 'USD', 7, 1, 1),
    ('2026-07-01', '2026-06-29', 'idle', '', '', 'USD', 900, 1, 1);
drop table marts.dim_training_runs;
create table marts.dim_training_runs as
select * from (values ('a', 'core'), ('b', 'core'), ('c', null)) as runs (training_run_id, team);
"""


@pytest.fixture
def publication() -> Iterator[Publication]:
    with duckdb.connect() as connection:
        connection.execute(SCHEMA.read_text() + ROWS)
        with_pages(connection)
        yield Publication(connection)


def picked(rows: tuple[Row, ...], *names: str) -> list[tuple[object, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_coverage_is_of_the_whole_bill_of_the_quarter_and_names_services_without(publication: Publication) -> None:
    quarter = Quarter.parse("2026Q2")
    of_bill = answer(publication, quarter, "coverage_of_the_bill").rows
    shares = ("effective_cost", "energy_coverage_ratio", "carbon_coverage_ratio")
    assert picked(of_bill, "provider_name", *shares) == [("AWS", Decimal(100), 0.6, 0.9), (None, Decimal(100), 0.6, 0.9)]
    by_service = answer(publication, quarter, "coverage_by_service").rows
    assert picked(by_service, "service_code", "service_name", *shares) == [
        ("AmazonEC2", None, Decimal(80), 0.75, 1.0),
        ("AmazonS3", "Amazon Simple Storage Service", Decimal(20), 0.0, 0.5),
        ("Tax", None, Decimal(0), None, None),
    ]


def test_lost_work_is_of_the_months_of_the_quarter_and_unknown_energy_stays_unknown(publication: Publication) -> None:
    quarter = Quarter.parse("2026Q2")
    by_team = answer(publication, quarter, "lost_work_by_team").rows
    assert picked(by_team, "cause", "team", "effective_cost", "facility_energy_kwh", "run_count") == [
        ("failed", "core", Decimal(6), None, 2),
        ("idle", "no run", Decimal(7), Decimal(1), None),
        ("interrupted", None, Decimal(5), Decimal(5), 1),
    ]
    by_week = answer(publication, quarter, "lost_work_by_week").rows
    assert picked(by_week, "cause", "effective_cost", "run_count") == [
        ("failed", Decimal(4), 1),
        ("failed", Decimal(2), 1),
        ("idle", Decimal(7), None),
        ("interrupted", Decimal(5), 1),
    ]
    assert [str(row["week_start"]) for row in by_week] == ["2026-06-22", *["2026-06-29"] * 3]
