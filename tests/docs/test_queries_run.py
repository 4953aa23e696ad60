"""Every query of the documentation runs on a published file: those of docs/sql and the `sql` blocks of the pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import yaml

from dagster_project.publishing.digest import table_digest
from dagster_project.publishing.totals import TOTALS, write_totals
from tests.reports.published_fixture import TWO_RUNS, write_published

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/methodology/*.md"))]


def queries() -> Iterator[tuple[str, str]]:
    """Name and text of each. Blocks of docs/sources are for BigQuery, blocks without a language for files of your own."""
    for path in sorted(ROOT.glob("docs/sql/*.sql")):
        yield path.name, path.read_text(encoding="utf-8")
    for page in PAGES:
        blocks = re.findall(r"^ *```sql\n(.*?)^ *```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for number, block in enumerate(blocks, start=1):
            yield f"{page.relative_to(ROOT).as_posix()} {number}", block


def contracts() -> Iterator[tuple[str, str]]:
    """Name and columns of every mart, by its dbt contract."""
    for path in sorted(ROOT.glob("dbt/models/marts/**/*.yml")):
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models", []):
            columns = [f"{column['name']} {column['data_type']}" for column in model.get("columns", []) if "data_type" in column]
            if columns:
                yield model["name"], ", ".join(columns)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the report tests, totals by month, and the marts no report reads, empty."""
    path = write_published(tmp_path_factory.mktemp("published") / "trainledger.duckdb", TWO_RUNS)
    with duckdb.connect(str(path)) as connection:
        for name, columns in contracts():
            connection.execute(f"create table if not exists marts.{name} ({columns})")
        connection.execute("create schema if not exists ops")
        for name in TOTALS:
            write_totals(connection, table_digest(connection, "marts", name), None)
    return path


@pytest.mark.parametrize(("name", "query"), [pytest.param(*one, id=one[0]) for one in queries()])
def test_a_query_of_the_documentation_runs(published: Path, name: str, query: str) -> None:
    with duckdb.connect(str(published), read_only=True) as connection:
        connection.execute("set search_path = 'main,marts'")  # a publication has views of the bare names
        assert connection.execute(query.replace("my-run", "run-a")).description, name


@pytest.mark.slow
def test_each_of_the_twenty_questions_has_an_answer_in_the_demo(demo_home: Path) -> None:
    page = (ROOT / "docs" / "queries.md").read_text(encoding="utf-8")
    headed = re.split(r"^### (\d+)\. ", page, flags=re.MULTILINE)[1:]
    blocks = (re.findall(r"^```sql\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE) for text in headed[1::2])
    questions = [(number, *queries) for number, queries in zip(headed[::2], blocks, strict=True)]
    assert [int(number) for number, _ in questions] == list(range(1, 21))
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        silent = [number for number, query in questions if not connection.execute(query).fetchall()]
        assert silent == []
        for name, query in queries():
            if name.endswith(".sql"):
                assert connection.execute(query).fetchall(), name


CELLS = """select provider_name, usage_month, measure, unit_or_currency, provider_model_version, sum(provider_total),
    sum(runs_total), sum(residual_total), sum(quarantined_total), sum(abs(difference))
    from marts.fct_reconciliation where method = 'conservation' group by all order by 1, 2, 3, 4, 5"""
RESIDUALS = """select usage_month, billing_currency, reason, sum(billed_cost), sum(effective_cost), sum(spread_effective_cost)
    from marts.fct_residual_costs group by all order by 1, 2, 5 desc, 3"""


@pytest.mark.parametrize(("query", "rows"), [("does_it_add_up", CELLS), ("where_the_rest_went", RESIDUALS)])
def test_totals_by_month_say_what_the_rows_say(published: Path, query: str, rows: str) -> None:
    with duckdb.connect(str(published), read_only=True) as connection:
        by_month = connection.execute((ROOT / f"docs/sql/{query}.sql").read_text()).fetchall()
        assert by_month == connection.execute(rows).fetchall() != []


def test_there_are_queries_on_pages_too() -> None:
    names = [name for name, _ in queries()]
    assert sum(name.startswith("docs/why-this-cost.md") for name in names) == 2
