"""What the published figures show that is worth a message, of small ledgers: to the last decimal, never over two currencies."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

from dagster_project.alerts.cause import Cause
from dagster_project.alerts.ledger import of_ledger
from dagster_project.settings import settings_of
from dagster_project.warehouse.home import Home
from tests import nightly

AT = datetime(2026, 10, 10, tzinfo=UTC)  # a Saturday: the last week that is billed is that of 28 September
TABLES = """
create schema marts;
create table marts.dim_training_runs (
    training_run_id varchar, recorded_id varchar, workload_key varchar, accelerator_type varchar, team varchar, state varchar,
    ended_at timestamp
);
create table marts.fct_training_run_costs (
    training_run_id varchar, usage_month date, billing_currency varchar, effective_cost decimal(38, 12),
    reporting_currency_effective_cost decimal(38, 12)
);
create table marts.fct_residual_costs (
    provider_name varchar, payer_account_id varchar, sub_account_id varchar, accelerator_type varchar, reason varchar,
    usage_month date, billing_currency varchar, effective_cost decimal(38, 12)
);
create table marts.fct_restatements (
    report_id varchar, datapoint_id varchar, cause varchar, before decimal(38, 12), after decimal(38, 12), delta decimal(38, 12)
);
create table marts.fct_training_run_emissions_modelled (
    factor_id varchar, factor_age_years bigint, region_id varchar, usage_month date
);
create table marts.dim_emission_factors (factor_id varchar, valid_to date);
"""
RECORDS = """
create schema intermediate; create schema staging;
create table intermediate.int_run_records (training_run_id varchar, record_run_id varchar);
create table staging.stg_training_runs__aliases (record_run_id varchar, alias_system varchar, alias_id varchar);
"""


class Ledger:
    """A home with a published file of these tables."""

    def __init__(self, folder: Path, **alerts: Any) -> None:
        document = {
            "organisation": {"name": "Test AG", "reporting_currency": "USD"},
            "alerts": {"command": ["true"], **alerts},
            "sources": [{"name": "runs", "kind": "training_runs", "location": "."}],
        }
        self.home = Home.of(settings_of(document, folder / "trainledger.yaml"))
        self.home.site.published.mkdir(parents=True)
        self.file = duckdb.connect(str(self.home.site.published_file))
        self.file.begin()  # one commit
        self.file.execute(TABLES)

    def add(self, table: str, *rows: Sequence[Any]) -> None:
        for row in rows:
            self.file.execute(f"insert into marts.{table} values ({', '.join('?' * len(row))})", list(row))

    def run(self, name: str, *costs: tuple[str, str, str | None], **of: Any) -> None:
        """A run with costs of a month each: month, amount with its currency, the same in US dollars or unknown."""
        known = {"workload": "w", "type": "trn2", "team": "vision", "state": "succeeded", "ended_at": None} | of
        values = [known[part] for part in ("workload", "type", "team", "state", "ended_at")]
        self.add("dim_training_runs", [name, name.upper(), *values])
        for month, amount, dollars in costs:
            cost, currency = amount.split()
            converted = dollars if dollars is None else Decimal(dollars)
            self.add("fct_training_run_costs", [name, date.fromisoformat(f"{month}-01"), currency, Decimal(cost), converted])

    def causes(self, *events: str) -> dict[str, Cause]:
        self.file.commit()
        self.file.close()
        assert self.home.settings.alerts
        found = of_ledger(self.home, self.home.settings.alerts, AT)
        return {one.key: one for one in found if one.key.partition("/")[0] in events}


def dollars(amount: str, month: str = "2026-10") -> tuple[str, str, str]:
    return month, f"{amount} USD", amount


def test_a_run_above_its_budget_is_found_to_the_last_decimal_and_its_workload_goes_before_its_team(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, budgets={"llm": "100 USD", "vision": "10 USD", "euro": "100 EUR"})
    ledger.run("equal", dollars("60"), dollars("40", "2026-09"), workload="llm")
    ledger.run("above", dollars("60"), dollars("40.000000000001", "2026-09"), workload="llm", state="running")
    ledger.run("of-team", dollars("10.5"))
    ledger.run("old", dollars("500", "2026-08"))
    ledger.run("other-currency", ("2026-10", "99 EUR", "120"), workload="euro", team=None)
    ledger.run("converted", ("2026-10", "99 EUR", "101"), workload="llm")
    ledger.run("unknown-rate", ("2026-10", "99 EUR", "101"), ("2026-09", "99 EUR", None), workload="llm")
    ledger.run("two-currencies", ("2026-10", "60 EUR", "60"), ("2026-09", "60 USD", "60"), workload="llm")
    found = ledger.causes("budget")
    assert {key for key, one in found.items() if one.is_news} == {
        "budget/above",
        "budget/of-team",
        "budget/converted",
        "budget/two-currencies",
    }
    assert not found["budget/old"].is_news, "what is older begins no message"
    text = "OF-TEAM (succeeded) cost 10.50 USD so far, and a run of vision may cost 10.00 USD."
    assert found["budget/of-team"].first == text


def test_twice_its_peers_is_twice_the_median_of_the_others_that_succeeded_if_they_are_five(tmp_path: Path) -> None:
    ledger, drawn, expected = Ledger(tmp_path), random.Random(nightly.seed()), set()
    for workload in range(40):
        runs = [(drawn.randint(1, 30), drawn.random() < 0.8) for _ in range(drawn.randint(5, 12))]
        for number, (cost, succeeded) in enumerate(runs):
            name = f"r{workload}-{number}"
            ledger.run(name, dollars(str(cost)), workload=f"w{workload}", state="succeeded" if succeeded else "running")
            peers = [Decimal(other) for place, (other, is_peer) in enumerate(runs) if place != number and is_peer]
            if len(peers) >= 5 and cost > 2 * median(peers):
                expected.add(f"peers/{name}")
    ledger.run("another-type", dollars("1000"), type="trn1", workload="w1")
    ledger.run("another-currency", ("2026-10", "1000 EUR", None), workload="w1")
    assert 10 < len(expected) < 200
    assert set(ledger.causes("peers")) == expected


def test_waste_above_its_threshold_is_found_by_month_account_and_type_in_its_own_currency(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, waste="100 USD")
    cell = ["AWS", "payer", "account", "trn2"]
    ledger.add(
        "fct_residual_costs",
        [*cell, "idle", date(2026, 10, 1), "USD", Decimal("60")],
        [*cell, "idle", date(2026, 10, 1), "USD", Decimal("40")],
        [*cell, "unused_commitment", date(2026, 10, 1), "USD", Decimal("100.000000000001")],
        [*cell, "idle", date(2026, 9, 1), "EUR", Decimal("999")],
        [*cell, "support", date(2026, 9, 1), "USD", Decimal("999")],
    )
    found = ledger.causes("idle", "unused_commitment")
    assert list(found) == ["unused_commitment/2026-10/AWS/payer/account/trn2"]
    [one] = found.values()
    assert one.title == "Unused commitment in 2026-10: 100.00 USD" and "AWS, account account, trn2" in one.first


def test_a_figure_of_the_report_in_force_is_restated_where_the_policy_asks_for_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    reports = ledger.home.root / "reports"
    reports.mkdir()
    lines = [json.dumps({"report_id": report, "quarter": "2026Q2", "previous": None}) for report in ("r1",)]
    (reports / "issued.jsonl").write_text("\n".join(lines) + "\n")
    cost, small = "2026Q2/glance/cost", "2026Q2/glance/small"
    for report, figure, was, now in (("r1", cost, 100, 105), ("r1", small, 100, 101), ("r0", cost, 100, 300)):
        ledger.add(
            "fct_restatements", [report, figure, "code", was, was, 0], [report, figure, "factor_or_seed", was, now, now - was]
        )
    found = ledger.causes("restated")
    assert [(key, one.first, one.group) for key, one in found.items()] == [
        ("restated/r1/2026Q2/glance/cost", "2026Q2/glance/cost was 100 and is 105.", "restated/r1")
    ]


def test_factors_that_run_out_within_a_quarter_are_found_by_their_day(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.add(
        "fct_training_run_emissions_modelled", ["soon", 1, "us-east-1", date(2026, 9, 1)], ["later", 1, "x", date(2026, 9, 1)]
    )
    ledger.add("dim_emission_factors", ["soon", date(2027, 1, 1)], ["later", date(2027, 2, 1)])
    assert list(ledger.causes("factor")) == ["factor/2027-01-01"]


def test_the_week_that_is_billed_is_shown_by_team_and_has_no_end(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.run("sunday", dollars("1000.005"), dollars("7", "2026-09"), ended_at=datetime(2026, 10, 4, 23, 59, 59))  # noqa: DTZ001
    ledger.run("monday", dollars("1"), ended_at=datetime(2026, 10, 5))  # noqa: DTZ001
    ledger.run("euro", ("2026-10", "5 EUR", None), team=None, ended_at=datetime(2026, 9, 28))  # noqa: DTZ001
    [one] = ledger.causes("week").values()
    assert (one.key, one.has_end) == ("week/2026-09-28", False)
    assert one.first.splitlines() == [
        "vision: 1 run ended, 1,007.00 USD in all; 2026-10 so far 1,001.00 USD",
        "(no team): 1 run ended, 5.00 EUR in all; 2026-10 so far 5.00 EUR",
    ]


def test_a_run_is_known_by_the_records_and_aliases_that_made_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, budgets={"vision": "1 USD"})
    ledger.run("llm", dollars("10"))
    with duckdb.connect(str(ledger.home.site.build_file)) as build:
        build.execute(RECORDS)
        build.execute("insert into intermediate.int_run_records values ('llm', 'llm'), ('llm', 'job-7'), ('other', 'job-8')")
        arn = "arn:aws:sagemaker:eu-central-1:1:training-job/Job-7"
        build.execute(f"insert into staging.stg_training_runs__aliases values ('job-7', 'sagemaker', '{arn}')")
        build.execute("insert into staging.stg_training_runs__aliases values ('llm', 'kubernetes', 'team-a/train')")  # used again
    [one] = ledger.causes("budget").values()
    assert one.also == ["budget/arn-aws-sagemaker-eu-central-1-1-training-job-job-7", "budget/job-7"]


def test_while_another_process_builds_no_message_about_a_run_begins(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, budgets={"vision": "1 USD"})
    ledger.run("llm", dollars("10"))
    script = (
        "import sys, pathlib\nfrom dagster_project.base.locking import writer_lock\n"
        f"with writer_lock(pathlib.Path({str(ledger.home.root)!r}), 'a build'):\n print('held', flush=True)\n sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdout.readline() == b"held\n"
        [one] = ledger.causes("budget").values()
        assert other.stdin
        other.stdin.close()
    assert not one.is_news
