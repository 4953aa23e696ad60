"""What the published figures show that is worth a message: runs above their budget or their peers, waste, restated figures,
factors that run out, and once a week what each team's training cost.

ledger.sql decides; here its answers become causes. Reads the readers' file, and of the writer's only under which names a run was
known before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.alerts.cause import Cause, cause
from dagster_project.alerts.expiring import expiring_factors
from dagster_project.base.failures import LockHeldError
from dagster_project.base.locking import writer_lock
from dagster_project.base.months import first_day, months_back
from dagster_project.election.run_ids import normalised_run_id
from dagster_project.evidence import chain
from dagster_project.settings.alerts import Alerts
from dagster_project.warehouse.home import Home

LEDGER = "ledger"  # the scope of its causes
BILLED_AFTER = timedelta(days=2)  # what a week cost is asked for when its last day is billed
QUESTIONS = Path(__file__).with_name("ledger.sql").read_text(encoding="utf-8")
NAMED = dict(re.findall(r"^-- name: (\w+)\n(.*?)(?=^-- name:|\Z)", QUESTIONS, re.MULTILINE | re.DOTALL))


def of_ledger(home: Home, alerts: Alerts, at: datetime) -> list[Cause]:
    """Every cause that the publication shows at an instant; none where nothing is published."""
    if not home.site.published_file.exists():
        return []
    with duckdb.connect(str(home.site.published_file), read_only=True) as connection:
        return [*_Ledger(connection, home, alerts, at).causes()]


class _Ledger:
    """The published file with what is asked of it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, home: Home, alerts: Alerts, at: datetime) -> None:
        self._connection, self._home, self._settings, self._alerts, self._at = connection, home, home.settings, alerts, at
        self._news_from = first_day(months_back(f"{at:%Y-%m}", 1)[0])

    def causes(self) -> Iterator[Cause]:
        """The causes of every kind."""
        runs = [("peers", row) for row in self._ask("peers", news_from=self._news_from)]
        if budgets := self._alerts.budgets:
            asked = {"names": [*budgets], "currencies": [one.currency for one in budgets.values()]}
            amounts = [str(one.amount) for one in budgets.values()]
            reporting = self._settings.organisation.reporting_currency
            answers = self._ask("budget", amounts=amounts, reporting_currency=reporting, news_from=self._news_from, **asked)
            runs += [("budget", row) for row in answers]
        yield from self._of_runs(runs)
        if waste := self._alerts.waste:
            for row in self._ask("waste", amount=str(waste.amount), currency=waste.currency, news_from=self._news_from):
                event, cell = row.pop("event"), row.pop("cell")
                yield cause(self._settings, event, f"{event}/{cell}", scope=LEDGER, limit=waste.amount, **row)
        for one in expiring_factors(self._connection, self._at.date()):
            yield cause(self._settings, "factor", f"factor/{one.day}", scope=LEDGER, day=one.day, text=str(one))
        yield from self._restated()
        yield from self._week()

    def _of_runs(self, found: list[tuple[str, dict[str, Any]]]) -> Iterator[Cause]:
        """Causes about runs, each under all names of its run: an id that became an alias begins nothing."""
        names = names_of_runs(self._home, [row["training_run_id"] for _, row in found]) if found else {}
        for event, row in found:
            run = row.pop("training_run_id")
            also = [f"{event}/{name}" for name in (names or {}).get(run, ()) if name != run]
            row["is_news"] = row["is_news"] and names is not None
            yield cause(self._settings, event, f"{event}/{run}", scope=LEDGER, also=also, **row)

    def _restated(self) -> Iterator[Cause]:
        lines = chain.lines_of(self._home.root / "reports")
        in_force = {line["quarter"]: line["report_id"] for line in lines}  # of a quarter, no later report takes its place
        rows = self._ask("restated", reports=sorted(in_force.values())) if in_force else []
        if rows:
            from dagster_project.publishing.reporting import policy_of  # here: they bring what draws pages
            from reports.sections.restatements import decision

            policy = policy_of(self._settings)
            for row in rows:
                was, known_now, steps = row["was"], row["known_now"], row["steps"]
                if decision(was, known_now, policy, steps) == "restate":
                    names = {"report": row["report"], "figure": row["figure"], "was": _exact(was), "now": _exact(known_now)}
                    key = "restated/{report}/{figure}".format(**names)
                    yield cause(self._settings, "restated", key, scope=LEDGER, group=f"restated/{row['report']}", **names)

    def _week(self) -> Iterator[Cause]:
        """The last week that is billed, by team; it is no trouble and has no end."""
        end = (self._at - BILLED_AFTER).astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        end -= timedelta(days=end.weekday())
        monday, month = end - timedelta(days=7), f"{end - timedelta(days=1):%Y-%m}"
        rows = self._ask("week", monday=monday, sunday_end=end, month=first_day(month))
        if rows:
            lines = "\n".join(_line_of_week(month, **row) for row in rows)
            key = f"week/{monday:%Y-%m-%d}"
            yield cause(self._settings, "week", key, scope=LEDGER, has_end=False, monday=f"{monday:%Y-%m-%d}", lines=lines)

    def _ask(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        answer = self._connection.execute(NAMED[name], parameters)
        columns = [column[0] for column in answer.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]


def _line_of_week(
    month: str, team: str, currency: str, runs_ended: int, cost: Decimal | None, cost_of_month: Decimal | None
) -> str:
    runs = "1 run" if runs_ended == 1 else f"{runs_ended or 'no'} runs"
    ended = f"{runs} ended" + (f", {cost or 0:,.2f} {currency} in all" if runs_ended else "")
    return f"{team}: {ended}; {month} so far {cost_of_month or 0:,.2f} {currency}"


def _exact(value: Decimal | None) -> str:
    return "unknown" if value is None else f"{value.normalize():,f}"


def names_of_runs(home: Home, runs: list[str]) -> dict[str, set[str]] | None:
    """Under which ids and aliases records know some runs; None while another process builds, whose end asks again."""
    try:
        with writer_lock(home.root, "trainledger alerts"):
            if not home.site.build_file.exists():
                return {}
            with duckdb.connect(str(home.site.build_file), read_only=True) as connection:
                try:
                    rows = connection.execute(NAMED["names"], {"runs": runs}).fetchall()
                except (duckdb.BinderException, duckdb.CatalogException):  # a build that was cut short
                    return None
    except LockHeldError:
        return None
    return {run: {normalised_run_id(name) for name in names} for run, names in rows}
