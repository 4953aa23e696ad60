"""Two years of a Google account: what is published is what was drawn, to the last digit, by month of use, run and invoice.

Twenty-four deliveries in one full build, then late rows of April, twice, after the end of May: the second build of April has the
statements that dbt left. Beside them Google's worked examples of commitments, each a billing account of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import groupby
from pathlib import Path

import duckdb
import pytest

from tests.conftest import Command
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import BILLING_ACCOUNT, PROJECT, GoogleExports
from tests.oracle.google_examples import EXAMPLES, NEW, OLD, RUN, TOTALS, UNUSED, example_rows
from tests.oracle.oracle import Oracle
from tests.oracle.two_google_years import LATE, MOVED, MOVED_BY_FEES, OF_RECORDS, Drawn, Years, months, residuals, total

pytestmark = pytest.mark.slow
SEED = 20260602
REASONS = {
    *("credit", "idle", "no_project", "no_record", "non_accelerator", "rounding", "tax", "unlogged", "unused_commitment"),
}
APRIL, MAY, JUNE = date(2026, 4, 1), date(2026, 5, 1), date(2026, 6, 1)
Row = dict[str, object]


@dataclass
class Published:
    """What one refresh left: the months it built, the rows of each table of facts, and what the oracle finds wrong."""

    rows: list[Drawn]  # delivered until then
    is_full: bool
    built: str
    facts: dict[str, list[Row]]
    staged: list[tuple]  # of the account's rows what no rule reads, in staging
    wrong: list[str] = field(default_factory=list)

    def ledger(self, account: str = BILLING_ACCOUNT) -> Iterator[Row]:
        for name in ("fct_run_cell_costs", "fct_residual_costs"):
            yield from (row for row in self.facts[name] if row["payer_account_id"] == account)

    def sums(self, measure: str, by: str, account: str = BILLING_ACCOUNT) -> dict[object, Decimal]:
        found: dict[object, Decimal] = {}
        for row in self.ledger(account):
            found[row.get(by)] = found.get(row.get(by), Decimal(0)) + row[measure]
        return found

    def invoices(self) -> dict[date, Row]:
        rows = (row for row in self.facts["fct_reconciliation"] if row["measure"] == "invoiced_cost")
        return {row["usage_month"]: row for row in rows if row["payer_account_id"] == BILLING_ACCOUNT}


def dollars(found: dict) -> dict:
    return {key: Decimal(amount).scaleb(-6) for key, amount in found.items()}


def read(home: Path, rows: list[Drawn]) -> Published:
    with duckdb.connect(str(home / "published" / "trainledger.duckdb"), read_only=True) as connection:
        [(is_full, built)] = connection.execute("select is_full, months from ops.builds").fetchall()
        names = connection.execute(
            "select table_name from duckdb_columns() where schema_name = 'marts' and column_name = 'usage_month'"
            " and starts_with(table_name, 'fct_') order by 1"
        ).fetchall()
        facts = {}
        for (name,) in names:
            found = connection.execute(f"select * from marts.{name} order by all")
            columns = [column for column, *_ in found.description]
            facts[name] = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    with duckdb.connect(str(home / "build.duckdb"), read_only=True) as connection:
        staged = connection.execute(
            "select distinct usage_month, ancestry_numbers, ancestors, project_labels, effective_price, price_unit,"
            " currency_conversion_rate from staging.stg_gcp_billing__lines"
            f" where payer_account_id = '{BILLING_ACCOUNT}' and cost_type = 'regular' and project_number is not null"
            " order by usage_month"
        ).fetchall()
    return Published(rows, is_full, built, facts, staged)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> list[Published]:
    """After the full build, after the first late delivery and after the second."""
    exports = GoogleExports(tmp_path_factory.mktemp("two years"))
    for model, is_numeric in ((OLD, False), (NEW, True)):
        rows = [row for account, (of, _) in EXAMPLES.items() if of == model for row in example_rows(account)]
        costs = ("cost", "cost_at_list")
        rows = rows if is_numeric else [row | {name: float(row[name]) for name in costs} for row in rows]
        exports.google_bill(rows, day=f"2025-07-{20 + is_numeric}", name="examples", is_numeric=is_numeric)
    years = Years(SEED)
    exports.runs(*years.records)
    drawn = sorted(years.rows, key=lambda row: row.delivered)
    deliveries = {day: list(rows) for day, rows in groupby(drawn, key=lambda row: row.delivered)}
    assert [*deliveries] == [*months(), *LATE]
    found: list[Published] = []
    for refreshed in (MAY, *LATE):
        for day in [day for day in deliveries if day <= refreshed]:
            exports.google_bill([row.row for row in deliveries.pop(day)], day=f"{day}")
        config = exports.config()
        finished = trainledger("refresh", "--config", config, now="2026-06-20T00:00:00Z")
        assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
        found.append(read(exports.folder / "home", [row for row in drawn if row.delivered <= refreshed]))
        oracle = Oracle(config, now="2026-06-20T00:00:00Z").tables()
        found[-1].wrong = differences(exports.folder / "home" / "published" / "trainledger.duckdb", oracle)
    return found


def test_the_account_is_what_it_should_be() -> None:
    rows = Years(SEED).rows
    used_row = [row for row in rows if row.row["cost_type"] == "regular"]
    assert max((row.came - row.row["usage_start_time"].date()).days for row in used_row) == 60
    assert [*dict.fromkeys(row.used for row in rows)] == months() and len(months()) == 24
    late = [row for row in rows if row.invoice and row.invoice > row.used]
    assert {row.row["cost_type"] for row in late} >= {"regular", "adjustment"}
    kinds = {credit["type"] for row in rows for credit in row.row["credits"]}
    assert kinds >= {"COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE", "FEE_UTILIZATION_OFFSET", "PROMOTION"}
    assert any(row.invoice is None for row in rows)


def test_published_cost_is_what_was_drawn_to_the_last_digit(published: list[Published]) -> None:
    for one in published:
        for measure in ("billed", "effective"):
            truth = dollars(total(one.rows, lambda row: row.used, lambda row, name=measure: getattr(row, name)))
            assert one.sums(f"{measure}_cost", "usage_month") == truth
        by_run = one.sums("billed_cost", "training_run_id")
        truth = dollars(total(one.rows, lambda row: row.run or None, lambda row: row.billed))
        assert by_run == truth
        assert len(truth) == 8, "four generations, a run on several, one on hosts, one of a record, and what nobody holds"


def test_what_no_run_carries_has_the_reason_that_was_drawn_to_the_last_digit(published: list[Published]) -> None:
    for one in published:
        for measure in ("billed", "effective"):
            truth = dollars(residuals(one.rows, measure))
            found: dict[object, Decimal] = {}
            for row in one.facts["fct_residual_costs"]:
                if row["payer_account_id"] == BILLING_ACCOUNT:
                    key = row["usage_month"], row["reason"]
                    found[key] = found.get(key, Decimal(0)) + row[f"{measure}_cost"]
            amortised = {row.used for row in one.rows if row.is_amortised and measure == "effective"}
            moved = {(month, reason) for month in amortised for reason in MOVED_BY_FEES}
            assert {key: cost for key, cost in found.items() if cost and key not in moved} == truth
            assert {reason for _, reason in found} == REASONS


def test_every_invoice_has_what_was_drawn_for_it_and_all_invoices_are_the_ledger(published: list[Published]) -> None:
    for one in published:
        truth = dollars(total(one.rows, lambda row: row.invoice, lambda row: row.billed))
        waiting = truth.pop(None)
        invoices = one.invoices()
        assert {month: row["provider_total"] for month, row in invoices.items()} == truth
        assert {row["method"] for row in invoices.values()} == {"cross_check"}
        in_use = one.sums("billed_cost", "usage_month")
        assert sum(truth.values()) + waiting == sum(in_use.values())
        for month, row in invoices.items():
            assert row["difference"] == row["provider_total"] - in_use.get(month, 0)
            here, there = ([r for r in one.rows if same(r) == month] for same in (lambda r: r.invoice, lambda r: r.used))
            assert row["reason"] == (
                f"invoice month {month:%Y-%m}: {sum(r.used != month for r in here)} rows of other usage months on it, "
                f"{sum(r.invoice != month for r in there)} rows of this usage month not on it"
            )


def test_ledger_and_oracle_agree_after_every_build(published: list[Published]) -> None:
    for one in published:
        assert not one.wrong, report(one.wrong)


def test_late_rows_build_their_own_month_and_move_no_row_of_another_but_invoices(published: list[Published]) -> None:
    assert [(one.is_full, one.built) for one in published[1:]] == [(False, "2026-04")] * 2
    moved_invoices = [{MAY, JUNE}, {JUNE}]
    for before, after, moved in zip(published[:-1], published[1:], moved_invoices, strict=True):
        invoices = before.invoices(), after.invoices()
        changed = {month for month in invoices[1] if invoices[0].get(month) != invoices[1][month]}
        # April's own invoice has no other row; what its use cost beside it has
        assert changed == {APRIL, *moved}
        for name, rows in after.facts.items():
            stay = [
                [row for row in found if row["usage_month"] != APRIL and row.get("measure") != "invoiced_cost"]
                for found in (before.facts[name], rows)
            ]
            assert stay[0] == stay[1], f"{name} has other rows in months that nobody delivered"


def test_price_labels_and_ancestry_are_those_of_the_time_of_use_and_divide_nothing(published: list[Published]) -> None:
    one = published[0]
    expected = []
    for month in months():
        folder, owner = ("2", "first") if month < MOVED.date() else ("3", "second")
        ancestors = {f"folders/{folder}": owner, "organizations/1": "o"}
        expected.append((month, f"/1/{folder}/", ancestors, {"owner": owner}, Decimal("1.200000001"), "hour", Decimal(1)))
    assert one.staged == expected
    assert {row["sub_account_id"] for row in one.ledger()} == {PROJECT, OF_RECORDS, ""}, "taxes have no project"


@pytest.mark.parametrize("account", EXAMPLES)
def test_googles_worked_example_costs_what_google_states(published: list[Published], account: str) -> None:
    for one in published:
        for measure in ("billed_cost", "effective_cost"):
            assert sum(row[measure] for row in one.ledger(account)) == Decimal(TOTALS[account])
        used = sum(row["effective_cost"] for row in one.ledger(account) if row.get("training_run_id") == RUN)
        assert used == Decimal(TOTALS[account]) - Decimal(UNUSED[account])
        unused = {row["reason"]: row["effective_cost"] for row in one.ledger(account) if row.get("reason")}
        assert {reason: cost for reason, cost in unused.items() if cost} == (
            {"unused_commitment": Decimal(UNUSED[account])} if Decimal(UNUSED[account]) else {}
        )
