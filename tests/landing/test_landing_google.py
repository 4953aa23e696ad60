"""Google's bill and carbon: days that hold any month's use, credits in the totals, and rows that name their own version."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dagster_project.commands.status import read_status
from dagster_project.election.units import months_to_build, turned_months
from dagster_project.landing.retention import prune
from tests.connectors.gcp import BILLING, LINE, write_lines, write_partition
from tests.landing.kit import Organisation, hour, set_time, write_run

PAYER = "0123AB-4567CD-89EF01"
OTHER = "AAAAAA-BBBBBB-CCCCCC"
SOURCES = (
    {"name": "google", "kind": "gcp_billing"},
    {"name": "google-carbon", "kind": "gcp_carbon"},
    {"name": "runs", "kind": "training_runs"},
)
APRIL, MAY = dt.date(2026, 4, 1), dt.date(2026, 5, 1)


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    return Organisation(tmp_path, *SOURCES)


def flags(organisation: Organisation, **election: Any) -> dict[str, tuple[bool, bool, bool, bool]]:
    """What is known of each month: landed, closed, carbon published, carbon final."""
    rows = organisation.raw(
        "select strftime(usage_month, '%Y-%m'), is_bill_landed, is_bill_closed, is_carbon_published, is_carbon_final "
        "from raw.months order by 1",
        **election,
    )
    return {month: found for month, *found in ((row[0], *row[1:]) for row in rows)}  # type: ignore[misc]


def changed(organisation: Organisation, before: dict[str, str]) -> list[dt.date]:
    organisation.refresh()
    return months_to_build(organisation.line.units(organisation.line.elect()), before)


def test_the_total_of_a_day_is_cost_and_every_credit_of_each_month_it_holds(organisation: Organisation) -> None:
    credit = [{"name": "c", "amount": -0.1, "full_name": "c", "id": "c", "type": "COMMITTED_USAGE_DISCOUNT"}] * 2
    organisation.deliver_google(
        "2026-05-01",
        hour("2026-04-30T23:00", cost=0.3, credits=credit),
        hour("2026-05-01T00:00", cost=9.6, credits=[], currency="EUR"),
        hour("2026-05-01T01:00", cost=1.0, credits=None, billing_account_id=OTHER),
        at="2026-05-02",
    )
    organisation.refresh()
    totals = "select payer_account_id, usage_month, currency, line_count, billed_cost from raw.delivery_totals order by all"
    assert organisation.raw(totals) == [
        (PAYER, APRIL, "USD", 1, Decimal("0.100000000000")),
        (PAYER, MAY, "EUR", 1, Decimal("9.600000000000")),
        (OTHER, MAY, "USD", 1, Decimal("1.000000000000")),
    ]


def test_a_day_that_grew_replaces_itself_and_a_late_row_rebuilds_its_month_of_use(organisation: Organisation) -> None:
    organisation.deliver_google("2026-04-10", hour("2026-04-10T06:00"), at="2026-04-11")
    organisation.deliver_google("2026-05-10", hour("2026-05-10T06:00"), at="2026-05-11")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    assert sorted(before)[:2] == ["Google Cloud/2026-04", "Google Cloud/2026-05"]
    organisation.deliver_google("2026-05-11", hour("2026-04-10T07:00"), at="2026-05-12")
    assert changed(organisation, before) == [APRIL]
    before = organisation.line.units(organisation.line.elect())
    organisation.deliver_google("2026-05-10", hour("2026-05-10T06:00"), hour("2026-05-10T07:00"), at="2026-05-12")
    assert changed(organisation, before) == [MAY]
    assert organisation.raw("select count(*) from raw.gcp_billing where part = 'line'") == [(4,)]
    assert changed(organisation, organisation.line.units(organisation.line.elect())) == []


def test_the_book_of_two_exports_is_chosen_by_month_of_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    first = {"name": "first", "kind": "gcp_billing", "book": True, "months": "2026-04"}
    organisation = Organisation(tmp_path, first, {"name": "second", "kind": "gcp_billing"})
    both = [hour("2026-04-30T23:00"), hour("2026-05-01T00:00")]
    organisation.deliver_google("2026-05-01", *both, at="2026-05-02", source="first")
    organisation.deliver_google("2026-05-01", *both, at="2026-05-03", source="second")
    organisation.refresh()
    book = "select _source_name, month(usage_start_time), count(*) from raw.gcp_billing where _is_book group by all order by all"
    assert organisation.raw(book) == [("first", 4, 2), ("second", 5, 2)], "line and credit alike"
    totals = "select source_name, usage_month from raw.delivery_totals order by all"
    assert organisation.raw(totals) == [("first", APRIL), ("second", MAY)]


def test_the_detailed_export_is_the_book_before_the_standard_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    organisation = Organisation(tmp_path, *({"name": name, "kind": "gcp_billing"} for name in ("a-standard", "detailed")))
    standard = pa.schema([field for field in BILLING if field.name not in ("resource", "subscription")])
    for day in ("2026-04-10", "2026-05-10"):
        write_partition(tmp_path / "exports" / "a-standard", day, {**LINE, **hour(f"{day}T06:00")}, schema=standard)
    organisation.deliver_google("2026-04-10", hour("2026-04-10T06:00"), at="2026-04-11", source="detailed")
    organisation.refresh()
    book = "select _source_name, month(usage_start_time) from raw.gcp_billing where _is_book and part = 'line' order by all"
    assert organisation.raw(book) == [("a-standard", 5), ("detailed", 4)], "the standard one where there is no other"


def test_a_run_label_is_read_in_each_spelling_a_pods_first_and_in_the_order_of_the_settings(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "google", "kind": "gcp_billing"}, run_tag_keys=["Training_Run", "job"])

    def labelled(**labels: str) -> dict[str, Any]:
        return {"labels": [{"key": key.replace("__", "-"), "value": value} for key, value in labels.items()], "credits": []}

    lines = [
        labelled(Training_Run="as-written", training_run="lower"),
        labelled(training_run="lower", training__run="hyphen"),
        labelled(training__run="hyphen", job="other"),
        labelled(training_run="", job="other"),
        labelled(training_run_id="x"),
        labelled(Training_Run="machine", **{"k8s__label/training__run": "pod"}),
        labelled(job="machine", **{"k8s__label/Training_Run": "pod"}),
    ]
    organisation.deliver_google("2026-04-01", *lines, at="2026-04-02")
    organisation.refresh()
    tags = organisation.raw("select _run_tag from raw.gcp_billing order by line_number")
    assert [tag for (tag,) in tags] == ["as-written", "lower", "hyphen", "other", None, "pod", "pod"]


@pytest.mark.parametrize(("now", "closed"), [("2026-07-31", [False, True]), ("2026-08-01", [True, True])])
def test_a_late_correction_opens_its_month_until_its_invoice_is_over(
    organisation: Organisation, monkeypatch: pytest.MonkeyPatch, now: str, closed: list[bool]
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", f"{now}T00:00:00Z")
    organisation.deliver_google("2026-05-10", hour("2026-05-10T06:00", invoice={"month": "202605"}), at="2026-05-11")
    organisation.deliver_google("2026-07-03", hour("2026-04-10T06:00", invoice={"month": "202607"}), at="2026-07-04")
    organisation.refresh()
    assert [found[1] for found in flags(organisation).values()] == closed
    cells = read_status(organisation.settings).sources[0].months
    assert [(cell.month, cell.state) for cell in cells[:2]] == [
        ("2026-04", "final" if closed[0] else "preliminary"),
        ("2026-05", "final"),
    ]


def test_the_elected_carbon_is_the_highest_version_of_each_account_in_a_months_newest_delivery(
    organisation: Organisation,
) -> None:
    organisation.deliver_google_carbon("2026-04", {"carbon_model_version": 14}, at="2026-05-15")
    organisation.refresh()
    organisation.deliver_google_carbon(
        "2026-04",
        {"carbon_model_version": 9},
        {"carbon_model_version": 15},
        {"carbon_model_version": 14, "billing_account_id": OTHER},
        {"carbon_model_version": None, "billing_account_id": OTHER},
        at="2026-06-15",
    )
    organisation.refresh()
    elected = "select billing_account_id, model_version from raw.gcp_carbon where _is_elected_version and _is_book order by all"
    assert organisation.raw(elected) == [(PAYER, "15"), (OTHER, "14")]
    assert organisation.raw("select count(*) from raw.gcp_carbon") == [(4,)], "the other versions are there to be compared"


def test_carbon_is_final_when_it_has_stood_for_21_days(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    organisation.deliver_google("2026-04-10", hour("2026-04-10T06:00"), at="2026-04-11")
    organisation.deliver_google_carbon("2026-04", {}, at="2026-07-12")
    organisation.refresh()
    assert flags(organisation) == {"2026-04": [True, True, True, False]}
    before = organisation.line.units(organisation.line.elect())
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-02T00:00:00Z")
    assert flags(organisation) == {"2026-04": [True, True, True, True]}
    assert changed(organisation, before) == []
    assert turned_months(organisation.line.units(organisation.line.elect()), before) == [APRIL]
    organisation.deliver_google_carbon("2026-04", {"carbon_model_version": 15}, at="2026-08-01")
    organisation.refresh()
    assert flags(organisation) == {"2026-04": [True, True, True, False]}, "a backfill is to be waited for again"


def test_a_record_rebuilds_the_month_that_bills_its_job_and_none_that_bills_a_machine_of_its_name(
    organisation: Organisation,
) -> None:
    job = "projects/7/locations/us-west4/customJobs/42"
    managed = {"resource": {"name": None, "global_name": f"//aiplatform.googleapis.com/{job}"}, "sku": {"description": "Fee"}}
    organisation.deliver_google("2026-04-10", hour("2026-04-10T06:00"), at="2026-04-11")
    organisation.deliver_google("2026-05-10", hour("2026-05-10T06:00", **managed), at="2026-05-11")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    june = {"started_at": "2026-06-01T00:00:00Z", "ended_at": "2026-06-02T00:00:00Z"}
    write_run(organisation.folder / "exports/runs/a.run.json", "a", at="2026-06-03", nodes=[{"resource_id": "node-1", **june}])
    assert changed(organisation, before) == [dt.date(2026, 6, 1)]
    before = organisation.line.units(organisation.line.elect())
    alias = {"aliases": [{"system": "vertex", "id": job}]}
    write_run(organisation.folder / "exports/runs/b.run.json", "b", at="2026-06-03", nodes=[], **alias)
    assert changed(organisation, before) == [MAY]


def test_status_lays_days_out_by_month_of_use(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-05T00:00:00Z")
    organisation.deliver_google("2026-04-10", hour("2026-04-10T06:00"), at="2026-04-11")
    organisation.deliver_google("2026-05-01", hour("2026-04-30T23:00"), hour("2026-05-01T00:00"), at="2026-05-02")
    organisation.deliver_google_carbon("2026-04", {}, at="2026-05-15")
    organisation.refresh()
    bill, carbon, _ = read_status(organisation.settings).sources
    assert [(cell.month, cell.state, cell.landed, cell.rows, cell.is_book) for cell in bill.months] == [
        ("2026-04", "final", 2, 2, True),
        ("2026-05", "preliminary", 1, 1, True),
        ("2026-06", "not_published", 0, None, None),
    ]
    assert [(cell.month, cell.state, cell.model_version) for cell in carbon.months] == [
        ("2026-04", "final", "14"),
        ("2026-05", "not_published", None),
        ("2026-06", "not_published", None),
    ]


def test_retention_thins_the_days_of_an_open_month_and_keeps_carbon_that_stood(
    organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, day in enumerate(("2026-04-11", "2026-04-12", "2026-05-02"), start=1):
        monkeypatch.setenv("TRAINLEDGER_NOW", f"{day}T12:00:00Z")
        organisation.deliver_google("2026-04-10", *[hour("2026-04-10T06:00")] * number, at=day)
        organisation.refresh()
    for version, day in ((14, "2026-05-15"), (15, "2026-06-20"), (16, "2026-06-25")):
        monkeypatch.setenv("TRAINLEDGER_NOW", f"{day}T12:00:00Z")
        organisation.deliver_google_carbon("2026-04", {"carbon_model_version": version}, at=day)
        organisation.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    removals = prune(organisation.settings.sources, organisation.line.landing, organisation.issued)
    # 12 April counted at the month's end; version 14 stood for 21 days, 15 did not
    assert [(one.generation.source, f"{one.generation.published_at:%m-%d}") for one in removals] == [
        ("google", "04-11"),
        ("google-carbon", "06-20"),
    ]


def test_a_company_with_only_google_has_every_raw_view(organisation: Organisation) -> None:
    organisation.deliver_google("2026-04-10", hour("2026-04-10T06:00"), at="2026-04-11")
    organisation.refresh()
    for view in ("aws_cur", "aws_carbon", "gcp_carbon", "neuron_monitor", "tpu_monitoring", "fx_rates", "user_inputs"):
        assert organisation.raw(f"select count(*) from raw.{view}") == [(0,)]
    assert list(flags(organisation)) == ["2026-04"]


def test_a_day_as_json_lines_is_the_day_as_parquet_and_rebuilds_nothing(organisation: Organisation) -> None:
    rows = [hour(f"2026-04-10T{n:02}:00", cost=0.1 * n, cost_at_effective_price_default=Decimal("1.5")) for n in range(4)]
    organisation.deliver_google("2026-04-10", *rows, at="2026-04-11")
    [parquet] = organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    folder = organisation.folder / "exports/google"
    (folder / "_PARTITIONTIME=2026-04-10/part-000000000000.parquet").unlink()
    set_time(write_lines(folder, "2026-04-10", *({**LINE, **row} for row in rows)), "2026-04-12")
    [lines] = organisation.refresh()
    assert parquet.contents and lines.contents and lines.outcome == "landed"
    assert lines.contents.row_digest == parquet.contents.row_digest
    assert changed(organisation, before) == []
