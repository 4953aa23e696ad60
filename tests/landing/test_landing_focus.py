"""Google's FOCUS export as landed: which export of an account is the book, totals of what FOCUS bills, days restated."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from dagster_project.election.units import months_to_build
from tests.connectors.focus import rest_rows
from tests.connectors.gcp import BILLING, LINE, write_lines, write_partition
from tests.landing.kit import Organisation, hour, set_time
from tests.shared import SHARED, SHARED_REASON

APRIL, MAY, JUNE = dt.date(2026, 4, 1), dt.date(2026, 5, 1), dt.date(2026, 6, 1)
SAMPLES = "samples/gcp/costroid-gcp-focus-bq"


def changed(organisation: Organisation, before: dict[str, str]) -> list[dt.date]:
    organisation.refresh()
    return months_to_build(organisation.line.units(organisation.line.elect()), before)


def test_focus_has_the_account_and_the_months_that_no_other_export_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    kinds = {"a-focus": "gcp_focus", "standard": "gcp_billing", "detailed": "gcp_billing"}
    organisation = Organisation(tmp_path, *({"name": name, "kind": kind} for name, kind in kinds.items()))
    standard = pa.schema([field for field in BILLING if field.name not in ("resource", "subscription")])
    for month in ("04", "05", "06"):
        organisation.deliver_focus(f"2026-{month}-10", hour(f"2026-{month}-10T06:00"), at=f"2026-{month}-11", source="a-focus")
    for month in ("04", "05"):
        row = {**LINE, **hour(f"2026-{month}-10T06:00")}
        write_partition(tmp_path / "exports" / "standard", f"2026-{month}-10", row, schema=standard)
    organisation.deliver_google("2026-04-10", hour("2026-04-10T06:00"), at="2026-04-11", source="detailed")
    organisation.refresh()
    book = " union all ".join(
        f"select _source_name as name, month(usage_start_time) as month from raw.{kind} where _is_book and part = 'line'"
        for kind in ("gcp_billing", "gcp_focus")
    )
    assert organisation.raw(f"{book} order by month") == [("detailed", 4), ("standard", 5), ("a-focus", 6)]


def test_the_total_of_a_day_of_focus_is_what_it_bills_and_its_credits_are_in_it(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "focus", "kind": "gcp_focus"}, run_tag_keys=["Training_Run"])
    credit = [{"name": "c", "amount": -0.1, "id": "c", "type": "COMMITTED_USAGE_DISCOUNT"}] * 2
    labels = [{"key": "training-run", "value": "run-a"}]
    rows = hour("2026-04-30T23:00", cost=0.3, credits=credit, labels=labels), hour("2026-05-01T00:00", credits=[], currency="EUR")
    organisation.deliver_focus("2026-05-01", *rows, at="2026-05-02")
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.outcomes() == {}, "landing again adds nothing"
    totals = "select usage_month, currency, line_count, billed_cost from raw.delivery_totals order by all"
    assert organisation.raw(totals) == [(APRIL, "USD", 1, Decimal("0.1")), (MAY, "EUR", 1, Decimal("9.6"))]
    tags = "select part, _run_tag from raw.gcp_focus where _run_tag is not null"
    assert organisation.raw(tags) == [("line", "run-a")]


def test_a_day_of_focus_that_grew_replaces_itself_in_the_months_of_its_use(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "focus", "kind": "gcp_focus"})
    organisation.deliver_focus("2026-05-10", hour("2026-05-10T06:00"), at="2026-05-11")
    organisation.deliver_focus("2026-04-10", hour("2026-04-10T06:00"), at="2026-05-11")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    organisation.deliver_focus("2026-05-10", hour("2026-05-10T06:00"), hour("2026-05-10T06:00"), at="2026-05-12")
    assert changed(organisation, before) == [MAY]
    assert organisation.raw("select count(*) from raw.gcp_focus where part = 'line'") == [(3,)]


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_the_restated_june_of_the_fixtures_replaces_june_and_corrects_the_month_of_use(tmp_path: Path) -> None:
    """15 in June; restated, two corrections of use on 30 April come to it on the invoice of June: -4 and 2."""
    assert SHARED
    organisation = Organisation(tmp_path, {"name": "focus", "kind": "gcp_focus"})
    totals = "select usage_month, line_count, billed_cost from raw.delivery_totals order by all"

    def deliver(file: str, at: str) -> None:
        rows = rest_rows(SHARED / SAMPLES / file)
        set_time(write_lines(tmp_path / "exports" / "focus", "2026-06-01", *rows), at)

    deliver("fixture/2026-06.json", "2026-06-16")
    organisation.refresh()
    assert organisation.raw(totals) == [(JUNE, 3, 15)]
    before = organisation.line.units(organisation.line.elect())
    deliver("restated/2026-06.json", "2026-06-17")
    assert changed(organisation, before) == [APRIL, JUNE]
    assert organisation.raw(totals) == [(APRIL, 2, -2), (JUNE, 3, 15)]
    assert organisation.raw("select sum(billed_cost) from raw.gcp_focus") == [(13,)]
