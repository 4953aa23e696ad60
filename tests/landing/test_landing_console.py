"""Reports of the AWS console as landed: whose month is the book, and which of two files of a month counts."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from dagster_project.commands.status import read_status
from dagster_project.election.units import months_to_build
from tests.landing.kit import PAYER, Organisation, bill_line, carbon_row, set_time

HEADER = "{time},service,region,total_lbm_emissions,model_version"
BOOK = (
    "select _source_name, usage_account_id, month(usage_period_start), line_number, total_lbm_emissions_value__text, "
    "_is_elected_version from raw.aws_carbon where _is_book order by all"
)
MAY = dt.date(2026, 5, 1)


def organisation_of(folder: Path) -> Organisation:
    return Organisation(folder, {"name": "carbon", "kind": "aws_carbon"}, {"name": "console", "kind": "aws_carbon"})


def deliver(organisation: Organisation, name: str, *rows: str, at: str, time: str = "usage_month") -> None:
    path = organisation.folder / "exports/console" / f"payer={PAYER}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([HEADER.format(time=time), *rows]) + "\n")
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


QUARTER = "select month(usage_period_start), total_lbm_emissions_value__text from raw.aws_carbon where _is_book order by all"


def with_bills(folder: Path, *months: int) -> Organisation:
    kinds = {"cur": "aws_cur", "console": "aws_carbon", "other": "aws_carbon", "carbon": "aws_carbon"}
    organisation = Organisation(folder, *({"name": name, "kind": kind} for name, kind in kinds.items()))
    for month in months:
        line = bill_line(1.0, day=f"2026-{month:02d}-01", line_item_resource_id=f"i-{month}")
        organisation.deliver([line], at="2026-08-02", month=f"2026-{month:02d}")
    return organisation


def test_a_quarter_is_the_book_of_all_its_months_once_each_has_a_bill(tmp_path: Path) -> None:
    organisation = with_bills(tmp_path, 4, 5)
    deliver(organisation, "q.csv", row("2026-Q2", "6"), at="2026-08-01", time="usage_quarter")
    organisation.refresh()
    assert organisation.raw(QUARTER) == []
    assert [one for one in read_status(organisation.settings).warnings if "2026-04..2026-06 count in no month" in one]
    with_bills(tmp_path, 6)
    organisation.refresh()
    assert organisation.raw(QUARTER) == [(4, "6"), (5, "6"), (6, "6")]
    status = read_status(organisation.settings)
    [console] = [one for one in status.sources if one.name == "console"]
    assert {(one.month, one.form, one.is_book) for one in console.months if one.rows} == {
        (f"2026-0{month}", "report of 2026-04..2026-06", True) for month in (4, 5, 6)
    }
    assert not [one for one in status.warnings if "count in no month" in one]


def test_a_year_is_behind_a_quarter_and_a_quarter_behind_a_month_of_its_payer_whichever_source_has_it(tmp_path: Path) -> None:
    organisation = with_bills(tmp_path, *range(1, 13))
    deliver(organisation, "y.csv", row("2026", "24"), at="2027-02-01", time="usage_year")
    organisation.refresh()
    assert {text for _, text in organisation.raw(QUARTER)} == {"24"} and len(organisation.raw(QUARTER)) == 12
    deliver(organisation, "account=000000000001/q.csv", row("2026-Q2", "6"), at="2026-08-01", time="usage_quarter")
    organisation.refresh()
    assert organisation.raw(QUARTER) == [(4, "6"), (5, "6"), (6, "6")]
    organisation.deliver_carbon([carbon_row(1.0)], at="2026-05-16")
    organisation.refresh()
    assert [month for month, _ in organisation.raw(QUARTER)] == [4], "an export of April, and no year or quarter beside it"


def test_months_of_a_quarter_are_built_together(tmp_path: Path) -> None:
    organisation = with_bills(tmp_path, *range(3, 8))
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    deliver(organisation, "q.csv", row("2026-Q2", "6"), at="2026-08-01", time="usage_quarter")
    organisation.refresh()
    now = organisation.line.units(organisation.line.elect())
    of_quarter = [dt.date(2026, month, 1) for month in (4, 5, 6)]
    assert months_to_build(now, before) == of_quarter
    changed = bill_line(2.0, day="2026-05-01", line_item_resource_id="i-5")
    organisation.deliver([changed], at="2026-08-03", month="2026-05")
    organisation.refresh()
    assert months_to_build(organisation.line.units(organisation.line.elect()), now) == of_quarter


def test_a_quarter_of_which_a_month_has_other_bytes_waits(tmp_path: Path) -> None:
    """A newer file that has reached one month of its quarter and not yet the others: neither is whole."""
    organisation = with_bills(tmp_path, 4, 5, 6)
    deliver(organisation, "q.csv", row("2026-Q2", "6"), at="2026-08-01", time="usage_quarter")
    organisation.refresh()
    deliver(organisation, "newer.csv", row("2026-Q2", "7"), at="2026-08-02", time="usage_quarter")
    line = organisation.line
    plan = line.plan()
    plan.new = plan.new[:1]
    line.land_all(plan)
    assert organisation.raw(QUARTER) == []
    organisation.refresh()
    assert organisation.raw(QUARTER) == [(4, "7"), (5, "7"), (6, "7")]
