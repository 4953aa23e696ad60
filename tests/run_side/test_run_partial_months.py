"""A month of Google's bill that is only half exported: stated by `status` and `doctor`, of folders as they are copied."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from doctor_kit import CLOCK, answer, doctor, text

from dagster_project.commands.status import read_status
from dagster_project.landing.partial_months import PartialMonth, in_words, partial_months
from dagster_project.settings import SourceSettings
from tests.connectors.gcp import LINE, write_lines, write_partition
from tests.landing.kit import Organisation, set_time

SOURCE = SourceSettings(name="google", kind="gcp_billing", location="./exports/google")
NOW = dt.datetime(2026, 6, 30, tzinfo=dt.UTC)


def days(first: str, last: str) -> list[dt.date]:
    start, end = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
    return [start + dt.timedelta(days=number) for number in range((end - start).days + 1)]


def next_noon(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(12), dt.UTC) + dt.timedelta(days=1)


def found(exported: Iterable[dt.date], source: SourceSettings = SOURCE, now: dt.datetime = NOW) -> list[PartialMonth]:
    return partial_months(source, {f"{day}": next_noon(day) for day in exported}, now)


def test_a_month_with_every_day_and_an_export_that_went_on_is_whole() -> None:
    assert found(days("2026-04-01", "2026-06-02")) == []


def test_an_export_that_began_or_goes_on_within_a_month_lacks_nothing() -> None:
    assert found(days("2026-04-11", "2026-06-29")) == []
    assert found([*days("2026-05-01", "2026-06-10"), *days("2026-06-15", "2026-06-29")]) == []


def test_days_that_lack_are_named_also_at_the_end_of_a_month_that_others_follow() -> None:
    one_gap = [*days("2026-04-01", "2026-04-02"), dt.date(2026, 4, 4), *days("2026-04-09", "2026-06-29")]
    [month] = found(one_gap)
    assert str(month) == "2026-04 has no partition of 2026-04-03, 2026-04-05..2026-04-08"
    off = [*days("2026-04-01", "2026-04-20"), *days("2026-05-05", "2026-06-29")]
    assert [str(month) for month in found(off)] == [
        "2026-04 has no partition of 2026-04-21..2026-04-30",
        "2026-05 has no partition of 2026-05-01..2026-05-04",
    ]


def test_an_export_that_ended_with_the_month_is_reported_from_two_days_after_its_end() -> None:
    april = days("2026-04-01", "2026-04-30")
    [month] = found(april)
    assert str(month) == "nothing was exported after 2026-05-01 12:00 UTC, but the last rows of 2026-04 come until 2026-05-03"
    assert found(april, now=dt.datetime(2026, 5, 2, 23, tzinfo=dt.UTC)) == []
    assert found([*april, dt.date(2026, 5, 2)], now=dt.datetime(2026, 5, 10, tzinfo=dt.UTC)) == []


def test_months_that_the_configuration_leaves_out_and_bills_by_months_are_not_asked() -> None:
    assert found(days("2026-04-01", "2026-04-20"), SOURCE.model_copy(update={"months": "2026-05.."})) == []
    monthly = SourceSettings(name="cur", kind="aws_cur", location="./exports/cur")
    assert partial_months(monthly, {"2026-04": NOW}, NOW) == []


def test_of_many_months_the_first_are_reported() -> None:
    months = [PartialMonth(f"2026-{number:02d}", (dt.date(2026, number, 2),)) for number in range(1, 8)]
    assert in_words(months).endswith("2026-05 has no partition of 2026-05-02; and 2 more months")
    assert in_words(months[:5]).endswith("2026-05 has no partition of 2026-05-02")


@pytest.mark.parametrize("way", ["Parquet", "JSON lines"])
def test_status_and_doctor_warn_of_a_half_exported_month(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", CLOCK["TRAINLEDGER_NOW"])
    organisation = Organisation(tmp_path, {"name": "google", "kind": "gcp_billing"})
    for day in ("2026-04-08", "2026-04-09", "2026-04-12"):
        row: dict[str, Any] = {**LINE, "usage_start_time": dt.datetime.fromisoformat(f"{day}T10:00:00+00:00")}
        row["usage_end_time"] = row["usage_start_time"] + dt.timedelta(hours=1)
        write = write_partition if way == "Parquet" else write_lines
        set_time(write(tmp_path / "exports/google", day, row), "2026-04-13")
    shown = (
        "2026-04 has no partition of 2026-04-10..2026-04-11;"
        " nothing was exported after 2026-04-13 00:00 UTC, but the last rows of 2026-04 come until 2026-05-03"
    )
    config = tmp_path / "trainledger.yaml"
    sources = "[{name: google, kind: gcp_billing, location: ./exports/google}]"
    config.write_text(f"organisation: {{name: Example AG}}\nhome: ./home\nsources: {sources}\n")
    code, checks = doctor(config)
    warning = answer(checks, "partial_month", "google")
    assert (code, warning["outcome"], warning["message"]) == (0, "warning", f"half exported: {shown}")
    assert warning["facts"] == {
        "reason": "partial_month",
        "months": [
            {
                "month": "2026-04",
                "missing_days": ["2026-04-10", "2026-04-11"],
                "newest_export": "2026-04-13T00:00:00+00:00",
            }
        ],
    }
    assert "switched off (Billing, Billing export)" in " ".join(text(config).split())
    organisation.refresh()
    [sentence] = read_status(organisation.settings).warnings
    assert sentence.startswith(f"google is half exported (partial_month): {shown}. Wait a day or two")
