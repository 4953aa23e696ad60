"""A bill is held against what the provider states by itself: where the two differ nothing is published."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dagster_project.base.failures import GateError
from dagster_project.commands.refreshing import refresh
from tests.landing.kit import PAYER, Organisation, bill_line, set_time
from tests.warm import without_dagster

pytestmark = pytest.mark.slow
HEADER = "provider_name,payer_account_id,usage_month,currency,amount,charge_type\n"
ROWS = """
select source_name, cast(usage_month as varchar), unit_or_currency, measure, provider_total::double, difference::double, reason
from marts.fct_reconciliation where source_name = 'totals' order by all
"""


def stated(organisation: Organisation, *rows: str, at: str = "2026-06-01") -> None:
    path = organisation.folder / "exports/totals/invoices.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + "".join(f"AWS,{PAYER},{row}\n" for row in rows))
    set_time(path, at)


def published(organisation: Organisation) -> list[tuple]:
    file = organisation.settings.home / "published" / "trainledger.duckdb"
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.execute(ROWS).fetchall()


def test_a_final_bill_that_is_not_what_the_provider_states_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-05T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, {"name": "totals", "kind": "provider_totals"})
    april, may = (bill_line(21.5, day=f"2026-{month}-01", bill_invoice_id="invoice") for month in ("04", "05"))
    organisation.deliver([april], at="2026-06-01", month="2026-04")
    organisation.deliver([may], at="2026-06-01", month="2026-05")
    stated(organisation, "2026-04-01,USD,21.50,", "2026-04-01,EUR,19.80,", "2026-05-01,USD,99,")
    april_rows = [
        ("totals", "2026-04-01", "EUR", "billed_cost", 19.8, None, "no bill of this month is in this currency"),
        ("totals", "2026-04-01", "USD", "billed_cost", 21.5, 0.0, None),
    ]
    with without_dagster():
        assert refresh(organisation.settings, say=print).exit_code == 0
        assert published(organisation) == april_rows, "May may still change"
        monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
        with pytest.raises(GateError, match="assert_providers_totals_are_met"):
            refresh(organisation.settings, say=print)
        assert published(organisation) == april_rows, "the last good publication stays"
        stated(organisation, "2026-04-01,USD,21.50,", "2026-05-01,USD,20,Usage", "2026-05-01,USD,1.50,Tax", at="2026-07-30")
        with pytest.raises(GateError, match="assert_providers_totals_are_met"):
            refresh(organisation.settings, say=print)
        stated(organisation, "2026-04-01,USD,21.50,", "2026-05-01,USD,21.505,Usage", at="2026-07-31")
        assert refresh(organisation.settings, say=print).exit_code == 0
    assert published(organisation) == [april_rows[1], ("totals", "2026-05-01", "USD", "billed_cost", 21.505, 0.005, None)]
