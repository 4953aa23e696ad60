"""A table's partitions through the whole landing: found, fetched, landed, and not asked for again while nothing is new."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from connectors.layouts.accounting import nothing_there
from dagster_project.commands import refreshing
from dagster_project.landing.planning import make_plan
from dagster_project.landing.records import Generation
from tests.bigquery.described import described
from tests.bigquery.exported import TABLE, Exported
from tests.bigquery.rest_fake import Failure
from tests.connectors.gcp import line
from tests.landing.kit import Organisation, hour, instant

LOCATION = {"name": "google", "kind": "gcp_billing", "location": f"bq://{TABLE}"}


def day_of(day: str, count: int = 1, *, exported: str | None = None) -> list[dict[str, Any]]:
    """Rows of one day's partition."""
    at = instant(exported or day)
    return [line(**hour(f"{day}T{number:02}:00", export_time=at + dt.timedelta(hours=number))) for number in range(count)]


@pytest.fixture
def bill() -> Exported:
    return Exported({day: day_of(day, 3) for day in ("2025-11-03", "2026-04-01", "2026-04-02")})


@pytest.fixture
def organisation(bill: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Organisation]:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-01T00:00:00Z")
    bill.rest.bytes = lambda _: 0
    with bill.serving(monkeypatch) as url:
        yield Organisation(tmp_path, {**LOCATION, "endpoint_url": url})


def landed(organisation: Organisation) -> list[Generation]:
    return sorted(organisation.line.landing.read("google").generations, key=lambda one: one.partition)


def test_partitions_are_landed_once_and_a_look_without_news_asks_which_were_written_and_reads_no_row(
    organisation: Organisation, bill: Exported
) -> None:
    assert organisation.outcomes() == {"landed": 3}
    assert bill.reads == ["2025-11-03", "2026-04-01", "2026-04-02"]
    bill.rest.asked.clear()
    assert organisation.refresh() == []
    assert len(bill.looks) == 1 and bill.reads == []
    assert "INFORMATION_SCHEMA.PARTITIONS" in bill.statements[0] and len(bill.statements) == 2
    assert organisation.raw("select count(*) from raw.gcp_billing where part = 'line'") == [(9,)]


def test_a_partition_that_grew_is_read_whole_as_a_new_generation_and_no_other(organisation: Organisation, bill: Exported) -> None:
    organisation.refresh()
    bill.rest.asked.clear()
    bill.days["2026-04-02"] = [*bill.days["2026-04-02"], *day_of("2026-04-02", exported="2026-04-30")]
    assert organisation.outcomes() == {"landed": 1}
    assert bill.reads == ["2026-04-02"]
    assert [one.partition for one in landed(organisation)] == ["2025-11-03", "2026-04-01", "2026-04-02", "2026-04-02"]
    assert organisation.raw("select count(*) from raw.gcp_billing where part = 'line'") == [(10,)]


def test_a_generation_is_published_when_its_newest_row_was_exported_and_has_the_size_of_its_file(
    organisation: Organisation, bill: Exported
) -> None:
    organisation.refresh()
    generation = landed(organisation)[1]
    assert generation.published_at == instant("2026-04-01T02:00")
    [landed_object] = generation.objects
    path = organisation.landing / generation.path / landed_object.file
    assert landed_object.size == path.stat().st_size > 0


def test_a_month_that_is_landed_again_asks_for_its_days_alone(organisation: Organisation, bill: Exported) -> None:
    organisation.refresh()
    [source] = organisation.settings.sources
    plan = make_plan([source], organisation.settings.base, organisation.line.landing, month="2026-04")
    assert [delivery.partition for _, delivery in plan.new] == ["2026-04-01", "2026-04-02"] and plan.whole == []
    assert "TIMESTAMP '2026-04-01" in bill.looks[-1] and "TIMESTAMP '2026-05-01" in bill.looks[-1]


def test_the_look_back_holds_after_one_whole_load(organisation: Organisation, bill: Exported) -> None:
    organisation.refresh()
    organisation.refresh()
    first, second = bill.looks
    assert "'2006-01-01 00:00:00+00'" in first, "a first look asks for every day"
    assert "'2026-01-26 00:00:00+00'" in second, "95 days before 1 May"


def test_a_first_load_that_leaves_a_day_behind_is_whole_only_when_that_day_came(
    organisation: Organisation, bill: Exported
) -> None:
    look = bill.answer(f"COUNT(*) MAX( >= TIMESTAMP '2006-01-01' < TIMESTAMP '2100-01-01' `{TABLE}`")
    bill.rest.answers += [look, Failure(403, "quotaExceeded")]
    assert organisation.outcomes() == {"unreadable": 1, "landed": 2}
    assert organisation.outcomes() == {"landed": 1}, "the oldest day, which the look-back would leave out"
    organisation.refresh()
    assert ["2006-01-01" in look for look in bill.looks] == [True, True, False]


def test_all_days_are_asked_for_again_by_a_full_refresh_and_for_other_months(organisation: Organisation, bill: Exported) -> None:
    organisation.refresh()
    [source] = organisation.settings.sources
    for one, full in ((source, True), (source.model_copy(update={"months": "2025-01.."}), False), (source, False)):
        assert make_plan([one], organisation.settings.base, organisation.line.landing, full=full).is_empty
    starts = [look.partition(">= TIMESTAMP '")[2][:10] for look in bill.looks[1:]]
    assert starts == ["2006-01-01", "2024-12-31", "2026-01-26"]


def test_a_full_refresh_plans_with_all_days(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    class Planned(Exception):
        """The plan is all that is looked at here."""

    def plan(*_: Any, full: bool) -> None:
        raise Planned(full)

    monkeypatch.setattr(refreshing, "make_plan", plan)
    for full in (True, False):
        with pytest.raises(Planned, match=str(full)):
            refreshing.refresh(organisation.settings, full=full, say=lambda _: None)


def test_a_table_without_partitions_is_reported_as_empty(organisation: Organisation, bill: Exported) -> None:
    bill.days.clear()
    assert organisation.refresh() == []
    counts = organisation.line.landing.listed.counts("google")
    stated = counts and nothing_there(f"bq://{TABLE}", counts)
    assert stated and stated[0].endswith("no partition in the days that were asked for")


def test_a_refused_day_that_the_look_back_leaves_out_stays_refused(
    organisation: Organisation, bill: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill.days["2026-04-01"][0]["cost"] = None
    assert organisation.outcomes() == {"landed": 2, "refused": 1}
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-12-01T00:00:00Z")
    organisation.refresh()
    assert [record.withdrawn_at for record in organisation.line.landing.read("google").refusals] == [None]


@pytest.mark.parametrize("refused", [Failure(403, "accessDenied"), Failure(404, "notFound"), Failure(403, "quotaExceeded")])
def test_a_table_that_refuses_later_keeps_its_last_generations_elected(
    organisation: Organisation, bill: Exported, refused: Failure
) -> None:
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    bill.rest.answers += [refused, refused]  # when its partitions were written, and the look
    plan = organisation.line.plan()
    assert len(plan.unreadable) == 1 and plan.is_empty
    assert organisation.line.units(organisation.line.elect()) == before


def test_a_source_that_is_read_by_other_days_than_before_is_refused_and_under_another_name_it_is_landed(
    organisation: Organisation, bill: Exported
) -> None:
    """A row used on 30 April and loaded on 2 May would stand in both days."""
    organisation.refresh()
    bill.rest.tables = {TABLE: described(bill.schema, location="EU")}  # a copy that nothing divides
    [source] = organisation.settings.sources
    settings, landing = organisation.settings, organisation.line.landing
    plan = make_plan([source], settings.base, landing)
    [problem] = plan.unreadable
    assert "read by the day of usage_start_time, and what was landed of google by the day of loading" in problem.text
    assert "another name" in problem.text and plan.is_empty
    plan = make_plan([source.model_copy(update={"name": "google-by-use"})], settings.base, landing)
    assert not plan.unreadable and len(plan.new) == 3
    assert {info.key.rpartition("/")[2] for _, one in plan.new for info in one.objects} == {"by-usage_start_time.parquet"}


def test_a_correction_to_a_day_before_the_look_back_comes_in_with_the_next_look(
    organisation: Organisation, bill: Exported
) -> None:
    """Google corrects what was used half a year ago; the day is read again because its partition was written since."""
    organisation.refresh()
    assert organisation.refresh() == []
    bill.days["2025-11-03"] = day_of("2025-11-03", 4, exported="2026-04-30")
    bill.written = {"20251103": instant("2026-04-30T12:00"), "20260401": instant("2026-04-02"), "__NULL__": instant("2026-04-30")}
    bill.rest.asked.clear()
    assert organisation.outcomes() == {"landed": 1}
    assert bill.reads == ["2025-11-03"]
    assert "(`_PARTITIONTIME` >= TIMESTAMP '2026-01-26" in bill.looks[0]
    assert "OR `_PARTITIONTIME` >= TIMESTAMP '2025-11-03 00:00:00+00'" in bill.looks[0]


@pytest.mark.parametrize(
    ("divided", "of_months", "first"),
    [
        ({"timePartitioning": {"type": "DAY"}}, {}, "2006-01-01"),
        ({}, {}, "2006-01-01"),
        ({}, {"months": "2025-01.."}, "2024-12-31"),
    ],
    ids=["denied", "undivided", "undivided and of some months"],
)
def test_where_nothing_shows_which_day_was_written_all_are_asked_for_each_week(
    organisation: Organisation,
    bill: Exported,
    monkeypatch: pytest.MonkeyPatch,
    divided: dict[str, Any],
    of_months: dict[str, str],
    first: str,
) -> None:
    bill.denied = Failure(403, "accessDenied")
    bill.rest.tables = {TABLE: described(bill.schema, location="EU", **divided)}
    [source] = organisation.settings.sources
    sources = [source.model_copy(update=of_months)]
    organisation.settings = organisation.settings.model_copy(update={"sources": sources})
    organisation.refresh()
    for day in ("02", "07", "08", "09"):
        monkeypatch.setenv("TRAINLEDGER_NOW", f"2026-05-{day}T00:00:00Z")
        organisation.refresh()
    assert [f"'{first}" in look for look in bill.looks] == [True, False, False, True, False]
    asked = organisation.line.landing.listed.asked("google")
    assert asked and (asked.at, asked.complete_at) == (instant("2026-05-09"), instant("2026-05-08"))


def test_what_a_refresh_may_read_of_bigquery_is_set_aside_before_it_is_read_and_the_next_one_goes_on(
    tmp_path: Path, bill: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-01T00:00:00Z")
    bill.rest.bytes = lambda text: 40_000_000 if "COUNT(*)" in text else 50_000_000
    with bill.serving(monkeypatch) as url:
        organisation = Organisation(tmp_path, {**LOCATION, "endpoint_url": url}, maximum_bytes_per_refresh=100_000_000)
        plan = organisation.line.plan()
        [problem] = plan.unreadable
        assert (problem.source, problem.partition, problem.reason) == ("google", "2026-04-01", "above_refresh_budget")
        assert "would read 50000000 bytes, and of the 100000000 that one refresh may read 10000000 are left" in problem.message
        assert [one.partition for _, one in plan.new] == ["2025-11-03"]
        assert bill.reads == [], "the rows are priced before any is read"
        assert organisation.outcomes() == {"landed": 1}
        assert organisation.outcomes() == {"landed": 2}
        assert organisation.line.plan().unreadable == []
