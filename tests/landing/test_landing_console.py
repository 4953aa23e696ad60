"""Reports of the AWS console as landed: whose month is the book, and which of two files of a month counts."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from dagster_project.election.units import months_to_build
from tests.landing.kit import PAYER, Organisation, carbon_row, set_time

HEADER = "usage_month,service,region,total_lbm_emissions,model_version"
BOOK = (
    "select _source_name, usage_account_id, month(usage_period_start), line_number, total_lbm_emissions_value__text, "
    "_is_elected_version from raw.aws_carbon where _is_book order by all"
)
MAY = dt.date(2026, 5, 1)


def organisation_of(folder: Path) -> Organisation:
    return Organisation(folder, {"name": "carbon", "kind": "aws_carbon"}, {"name": "console", "kind": "aws_carbon"})


def deliver(organisation: Organisation, name: str, *rows: str, at: str) -> None:
    path = organisation.folder / "exports/console" / f"payer={PAYER}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    set_time(path, at)


def row(month: str, total: str, version: str = "v3.0.1") -> str:
    return f"{month},AmazonEC2,US East (Ohio),{total},{version}"


def test_an_export_is_the_book_of_its_months_and_a_report_of_the_others(tmp_path: Path) -> None:
    organisation = organisation_of(tmp_path)
    organisation.deliver_carbon([carbon_row(1.0)], at="2026-05-16")
    deliver(organisation, "a.csv", row("2026-04", "7"), row("2026-05", "2"), at="2026-06-20")
    assert organisation.outcomes() == {"landed": 3}
    assert organisation.outcomes() == {}, "landing again adds nothing"
    assert organisation.raw(BOOK) == [
        ("carbon", "012345678901", 4, None, None, True),
        ("console", PAYER, 5, 2, "2", True),
    ]


def test_a_newer_file_replaces_the_months_that_it_has_and_accounts_count_beside_each_other(tmp_path: Path) -> None:
    organisation = organisation_of(tmp_path)
    deliver(organisation, "account=000000000001/old.csv", row("2026-04", "1"), row("2026-05", "2"), at="2026-06-20")
    deliver(organisation, "account=000000000002/other.csv", row("2026-04", "4"), at="2026-06-20")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    deliver(organisation, "account=000000000001/new.csv", row("2026-05", "3"), at="2026-07-20")
    organisation.refresh()
    assert organisation.raw(BOOK) == [
        ("console", "000000000001", 4, 1, "1", True),
        ("console", "000000000001", 5, 1, "3", True),
        ("console", "000000000002", 4, 1, "4", True),
    ]
    assert months_to_build(organisation.line.units(organisation.line.elect()), before) == [MAY]


def test_of_two_model_versions_in_a_report_the_higher_is_elected(tmp_path: Path) -> None:
    organisation = organisation_of(tmp_path)
    deliver(organisation, "a.csv", row("2026-04", "1", "v2.0.0"), row("2026-04", "2", "v3.0.10"), at="2026-06-20")
    organisation.refresh()
    assert organisation.raw(BOOK) == [("console", PAYER, 4, 1, "1", False), ("console", PAYER, 4, 2, "2", True)]
