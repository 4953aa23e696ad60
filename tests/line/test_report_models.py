"""Report models: their SELECTs are published, and on the published file alone they give the rows of their tables and views."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.publishing.statements import write_views
from dagster_project.publishing.tables import PublishedTable
from dagster_project.warehouse.report_models import published_statements


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield connection


@pytest.mark.slow
def test_every_published_statement_gives_the_rows_of_its_table_on_the_published_file(
    published: duckdb.DuckDBPyConnection,
) -> None:
    statements = dict(published.execute("select model, statement from ops.report_statements").fetchall())
    assert statements, "no report model is published"
    differing = {}
    for model, statement in statements.items():
        columns = ", ".join(name for name, *_ in published.execute(f'describe marts."{model}"').fetchall())
        one, other = f"select {columns} from ({statement})", f'select {columns} from marts."{model}"'
        if rows := published.execute(f"({one} except all {other}) union all ({other} except all {one})").fetchall():
            differing[model] = rows[:3]
    assert differing == {}


def manifest(*nodes: tuple[str, str, bool, str]) -> dict[str, Any]:
    """Nodes as (name, folder, is published, materialisation)."""
    return {
        "nodes": {
            f"model.trainledger.{name}": {
                "name": name,
                "resource_type": "model",
                "path": f"{folder}/{name}.sql",
                "relation_name": f'"build"."{"marts" if is_published else "intermediate"}"."{name}"',
                "config": {"materialized": kind, "meta": {"published": True} if is_published else {}},
            }
            for name, folder, is_published, kind in nodes
        }
    }


NODES = manifest(
    ("dim_runs", "marts/core", True, "table"),
    ("rpt_runs", "marts/reports", True, "table"),
    ("int_secret", "intermediate/costs", False, "table"),
    ("int_windows", "intermediate/reporting", False, "ephemeral"),
)


def test_a_statement_names_the_published_tables() -> None:
    compiled = {"model.trainledger.rpt_runs": 'select * from "build"."marts"."dim_runs"\n'}
    assert published_statements(NODES, compiled) == {"rpt_runs": 'select * from marts."dim_runs"'}


def test_a_report_model_that_reads_what_is_not_published_is_refused_by_name() -> None:
    compiled = {"model.trainledger.rpt_runs": 'select * from "build"."intermediate"."int_secret"'}
    with pytest.raises(LookupError, match=r'report model rpt_runs reads "intermediate"\."int_secret", which is not published'):
        published_statements(NODES, compiled)


def view(name: str) -> PublishedTable:
    return PublishedTable(name, "marts", (), "", {}, is_view=True)


def test_a_view_that_reads_another_is_made_after_it() -> None:
    with duckdb.connect() as connection:
        connection.execute("create schema marts")
        statements = {"a_total": 'select sum(x) as x from marts."b_rows"', "b_rows": "select 1 as x union all select 2"}
        write_views(connection, [view("a_total"), view("b_rows")], statements)
        assert connection.execute("from marts.a_total").fetchall() == [(3,)]


def test_views_that_read_each_other_are_refused() -> None:
    with duckdb.connect() as connection, pytest.raises(LookupError, match="a, b"):
        write_views(connection, [view("a"), view("b")], {"a": 'from marts."b"', "b": 'from marts."a"'})
