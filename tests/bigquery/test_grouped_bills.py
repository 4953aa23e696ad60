"""A bill whose lines BigQuery makes into groups publishes what its rows publish, to the last digit.

The statement is answered by GoogleSQL's reference implementation, which Google made public (answer.py); around it REST and the
Storage API are fakes, and what asks is the product with the unmodified clients. The emulator cannot answer it: its BIGNUMERIC has
ten decimals.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from connectors.gcp.bigquery_sql import INGESTION
from connectors.gcp.grouped_sql import PRICE_CREDITS, Table, grouped_sql
from connectors.gcp.tables import READINGS, grouped_bill
from dagster_project.base.dbt_project import project_folder
from dagster_project.commands.query import digests
from dagster_project.election.run_tags import run_tag
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.landing.sources import labels_of
from dagster_project.settings import SourceSettings
from tests.bigquery.account import write_account
from tests.bigquery.described import fields_like
from tests.bigquery.exported import TABLE, Exported
from tests.bigquery.servers import GoogleSQL, must_be_installed
from tests.conftest import Command
from tests.connectors.gcp import BILLING, line
from tests.evidence.walked import faults, opened
from tests.landing.kit import Organisation
from tests.line.kit import query
from tests.oracle.google_builders import GoogleExports, credits_of
from tests.oracle.google_builders import labels_of as labels

pytestmark = pytest.mark.slow

NOW = "2026-06-20T00:00:00Z"
# row numbers, names of objects and numbers of charges: a group has one row where the export has many
DIFFERING = {"fct_charge_attributions", "dim_deliveries"}


@pytest.fixture(scope="module")
def engine() -> Iterator[GoogleSQL]:
    must_be_installed()
    running = GoogleSQL()
    yield running
    running.close()


def drawn_double(drawn: random.Random, most: int) -> float:
    """A double of 1 to 17 digits, ties of the last decimal among them."""
    if drawn.random() < 0.1:
        return (drawn.randrange(1000) + 0.5) * 1e-12
    return float(f"{drawn.random() * 10 ** drawn.randrange(-14, most):.{drawn.randint(1, 17)}g}")


def ordinary(drawn: random.Random, at: datetime) -> dict[str, Any]:
    """A row about which no rule decides by itself: of cores, storage, traffic, tax; now and then something rarer."""

    def rarely(other: Any, usual: Any, share: float = 0.05) -> Any:
        return other if drawn.random() < share else usual

    number = drawn.randrange(6)
    sku = ("N2 Instance Core running in Columbus", "Storage PD Capacity", "Network Egress", "Support", "Tax", "Output tokens")
    cost = drawn_double(drawn, 6)
    usage = {"amount": drawn_double(drawn, 9), "unit": "seconds", "amount_in_pricing_units": drawn_double(drawn, 6)}
    kinds = rarely(("PROMOTION", "DISCOUNT", "not known yet"), rarely(("PROMOTION",), (), 0.3))
    vm = drawn.randrange(50)
    path = f"//compute.googleapis.com/projects/p/zones/z/instances/{vm}"
    return line(
        billing_account_id="0A0A0A-1B1B1B-2C2C2C",
        sku={"id": f"sku-{number}", "description": sku[number]},
        service={"id": f"service-{number % 3}", "description": "Support" if number == 3 else f"service {number % 3}"},
        usage_start_time=at,
        usage_end_time=at + timedelta(hours=1),
        project=rarely(None, {"id": "p-1", "number": "401000000001"}),
        labels=labels(team=drawn.choice("abc")),
        system_labels=[],
        resource={"name": f"vm-{vm}", "global_name": path},
        location=rarely({"location": "us"}, {"location": "us-east5", "region": "us-east5", "zone": "us-east5-b"}),
        cost=rarely(-cost, rarely(0.0, cost)),
        cost_at_list=rarely(None, cost),
        cost_at_effective_price_default=rarely(None, Decimal(f"{cost:.9f}")),
        usage=rarely(None, usage),
        credits=[one for kind in kinds for one in credits_of(**{kind: -drawn_double(drawn, 4)})],
        cost_type="tax" if number == 4 else rarely("rounding_error", "regular"),
        adjustment_info=rarely({"type": "GOODWILL"}, None),
        subscription=None,
        export_time=at + timedelta(hours=12),
    )


def company(folder: Path, bill: Exported, url: str, **source: Any) -> Path:
    """The configuration of the account of account.py, whose bill lies in a table beside ordinary rows."""
    exports = GoogleExports(folder)
    write_account(exports)
    exports.sources.append({"name": "gcp", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url, **source})
    return exports.config()


@pytest.fixture
def bill(tmp_path: Path, engine: GoogleSQL, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Exported, str]]:
    _, days = write_account(GoogleExports(tmp_path / "unread"))["gcp"]
    drawn = random.Random(26)
    for day in list(days):
        first = datetime.fromisoformat(f"{day}T00:00:00+00:00") - timedelta(hours=5)
        days[day] = [*days[day], *(ordinary(drawn, first + timedelta(hours=drawn.randrange(24))) for _ in range(400))]
    exported = Exported(days, engine=engine, batch=100)
    exported.rest.bytes = lambda _: 20 << 20
    with exported.serving(monkeypatch) as url:
        yield exported, url


def published(folder: Path, trainledger: Command, config: Path) -> dict[str, tuple[int, str]]:
    done = trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {one.table: (one.rows, one.digest) for one in digests(folder / "home/published/trainledger.duckdb")}


def test_a_bill_in_groups_publishes_what_its_rows_publish(
    bill: tuple[Exported, str], tmp_path: Path, trainledger: Command
) -> None:
    exported, url = bill
    rows = published(tmp_path / "rows", trainledger, company(tmp_path / "rows", exported, url))
    config = company(tmp_path / "groups", exported, url, engine="bigquery")
    groups = published(tmp_path / "groups", trainledger, config)
    assert {name for name in rows if rows[name] != groups[name]} <= DIFFERING
    home = tmp_path / "groups/home"
    records = [json.loads(path.read_text()) for path in (home / "landing/gcp").rglob("*query.json")]
    lines, answers = sum(one["row_count"] for one in records), sum(one["answer_row_count"] for one in records)
    assert lines == sum(len(day) for day in exported.days.values()) > 1.5 * answers
    assert {one["job_id"] is not None and "line_groups AS" in one["statement"] for one in records} == {True}
    verified = trainledger("verify", "--landing", "--config", config)
    assert verified.returncode == 0
    assert f"gcp: {len(records)} deliveries are groups, not the provider's rows" in verified.stdout
    assert not faults(home, config), "a number whose rows do not add up to it"
    with opened(home, config) as (of_home, connection):
        landed = Landed(connection, of_home)
        wanted = "select *, billed_cost as amount_ from attributed where source_name = 'gcp' and row_count > 3"
        connection.execute(f"insert into groups {wanted}")
        landed.add_bill_rows("bill", "fct_charge_attributions", "billed_cost")
        details = {row["detail"] for row in landed.rows("select detail from origins where detail like 'a group that BigQuery%'")}
    assert details
    for detail in details:
        assert f"not the provider's rows; they are among: SELECT * FROM `{TABLE}` WHERE DATE(" in detail


def test_each_amount_becomes_the_figure_that_it_becomes_here(engine: GoogleSQL, tmp_path: Path) -> None:
    """10,000 drawn rows of doubles of 1 to 17 digits, of NUMERIC and of ties: each sum is that of DuckDB's exact figures."""
    drawn = random.Random(2026)
    rows = [ordinary(drawn, datetime(2026, 4, 1, drawn.randrange(24), tzinfo=UTC)) for _ in range(10_000)]
    for row in rows:
        row |= {"labels": [], "resource": None, "location": None, "project": None, "invoice": {"month": "202604"}}
        row |= {"_PARTITIONTIME": datetime(2026, 4, 1, tzinfo=UTC), "export_time": datetime(2026, 4, 2, tzinfo=UTC)}
    schema = BILLING.append(pa.field("_PARTITIONTIME", pa.timestamp("us", "UTC")))
    table = pa.Table.from_pylist(rows, schema=schema)
    statement = grouped_sql(Table("a.b.bill", fields_like(schema)), INGESTION, ["training_run_id"], [date(2026, 4, 1)])
    answer = engine.answer("a.b.bill", schema, table, statement)
    assert answer.num_rows < 2500
    lines = answer.filter(pc.is_valid(answer["line_count"]))
    assert pc.sum(lines["line_count"]).as_py() == 10_000
    figures = _figures(tmp_path)
    for column, decimals in (
        ("cost", 12),
        ("cost_at_list", 12),
        ("cost_at_effective_price_default", 12),
        ("usage.amount_in_pricing_units", 9),
    ):
        assert _sums(lines, column) == figures(table, column, decimals), column
    assert _sums(lines, "credits.amount") == figures(table, "credits.amount", 12)


def _sums(lines: pa.Table, column: str) -> dict[str, Decimal]:
    """The sums of a column by SKU, of an answer."""
    found: dict[str, Decimal] = {}
    for row in lines.select(["sku", column.partition(".")[0]]).to_pylist():
        value = row[column.partition(".")[0]]
        inner = column.partition(".")[2]
        amounts = [one[inner] for one in value] if isinstance(value, list) else [value[inner] if inner else value]
        key = row["sku"]["id"]
        found[key] = found.get(key, Decimal(0)) + sum(
            (one for one in amounts if one and abs(one) >= Decimal("1e-12")), Decimal(0)
        )
    return found


def _figures(folder: Path) -> Callable[[pa.Table, str, int], dict[str, Decimal]]:
    """The exact figures of DuckDB by SKU, through the macro that staging uses."""
    macros = (project_folder() / "macros/exact.sql").read_text() + "{% macro figure(s) %}{{ to_exact('x', s) }}{% endmacro %}"
    module: Any = jinja2.Environment(autoescape=False).from_string(macros).module

    def of(table: pa.Table, column: str, decimals: int) -> dict[str, Decimal]:
        path = folder / "rows.parquet"
        pq.write_table(table, path)
        name = "unnest(credits).amount" if column == "credits.amount" else column
        is_text = column == "cost_at_effective_price_default"
        x, text = ("null::double", "value::varchar") if is_text else ("value", "null::varchar")
        rows = f"select sku.id as sku, {name} as value from read_parquet('{path}')"
        with duckdb.connect() as connection:
            typed = f"select sku, {x} as x, {text} as x__text from ({rows})"
            sums = connection.execute(f"select sku, sum({module.figure(decimals)}) from ({typed}) group by all").fetchall()
        every = {sku: Decimal(0) for sku in table["sku"].combine_chunks().field("id").unique().to_pylist()}
        return every | {sku: value or Decimal(0) for sku, value in sums}

    return of


def test_what_the_statement_knows_of_rules_is_what_the_models_know() -> None:
    credits = (project_folder() / "models/staging/gcp/stg_gcp_billing__credits.sql").read_text()
    [listed] = re.findall(r"in \(\s*('COMMITTED.*?)\s*\) as is_price", credits, re.DOTALL)
    assert sorted(re.findall(r"'(\w+)'", listed)) == sorted(PRICE_CREDITS)
    keys = ["Training_Run", "run-id"]
    assert set(re.findall(r"\['([^']+)'\]", run_tag("gcp_billing", keys, "typed"))) == set(labels_of(keys))  # type: ignore[arg-type]
    assert grouped_bill(["a"]).grouped != grouped_bill(["a", "b"]).grouped != READINGS["gcp_billing"].grouped == ""


@pytest.mark.parametrize(
    ("kind", "location"),
    [("gcp_billing", "./exports"), ("gcp_focus", "bq://acme-billing.exports.focus"), ("aws_cur", "s3://b/c")],
)
def test_only_a_table_of_a_bill_is_grouped_where_it_lies(kind: str, location: str) -> None:
    with pytest.raises(ValueError, match=r"groups a gcp_billing export .* leave the key out"):
        SourceSettings.model_validate({"name": "bill", "kind": kind, "location": location, "engine": "bigquery"})


def test_an_answer_that_does_not_add_up_is_not_landed(bill: tuple[Exported, str], tmp_path: Path) -> None:
    exported, url = bill
    exported.days = {"2026-04-10": exported.days["2026-04-10"]}
    source = {"name": "google", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url, "engine": "bigquery"}
    organisation = Organisation(tmp_path / "organisation", source)

    def dearer(answer: pa.Table) -> pa.Table:
        rows = answer.to_pylist()
        rows[0]["cost"] += Decimal("1e-12")
        return pa.Table.from_pylist(rows, schema=answer.schema)

    exported.of_answer = dearer
    assert organisation.outcomes() == {"unreadable": 1}
    exported.of_answer = lambda answer: answer
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.outcomes() == {}


def test_of_rows_and_groups_of_one_partition_what_is_configured_counts(
    bill: tuple[Exported, str], tmp_path: Path, trainledger: Command
) -> None:
    exported, url = bill
    exported.days = {"2026-04-10": exported.days["2026-04-10"]}
    source = {"name": "google", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url}
    document = {"organisation": {"name": "Test"}, "home": "./home", "sources": [source]}
    path, ways, found = tmp_path / "trainledger.yaml", ({}, {"engine": "bigquery"}, {}, {"engine": "bigquery"}), []
    sums = "select sum(provider_total) from marts.fct_reconciliation where measure = 'billed_cost'"
    for way in ways:
        path.write_text(yaml.safe_dump(document | {"sources": [source | way]}))
        published(tmp_path, trainledger, path)
        [(total,)] = query(tmp_path / "home", sums)
        elected = query(
            tmp_path / "home", "select content_hash from ops.dim_deliveries where source_name = 'google' and is_elected"
        )
        found.append((total, tuple(elected)))
    totals, hashes = zip(*found, strict=True)
    assert len(set(totals)) == 1
    assert hashes[0] == hashes[2] != hashes[1] == hashes[3]
    assert [len(one) for one in hashes] == [1] * 4
