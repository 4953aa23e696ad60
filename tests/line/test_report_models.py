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
    ("int_windows", "intermediate/reporting", False, "table"),
    ("int_members", "intermediate/reporting", False, "table"),
)


def published_statement(compiled: str) -> str:
    """The statement of rpt_runs; of what it may read, int_members reads int_windows and that dim_runs."""
    in_common = {
        "model.trainledger.int_members": 'select x from "build"."intermediate"."int_windows"',
        "model.trainledger.int_windows": 'select 1 as x from "build"."marts"."dim_runs"',
    }
    return published_statements(NODES, in_common | {"model.trainledger.rpt_runs": compiled})["rpt_runs"]


def test_a_statement_names_the_published_tables() -> None:
    assert published_statement('select * from "build"."marts"."dim_runs"\n') == 'select * from marts."dim_runs"'


@pytest.mark.parametrize(
    ("reader", "read"),
    [
        ('select * from "build"."intermediate"."int_members" as m', "select * from int_members as m"),
        (
            '-- whose\nwith own as (select * from "build"."intermediate"."int_members") select * from own',
            "own as (select * from int_members) select * from own",
        ),
    ],
)
def test_a_table_that_reports_have_in_common_is_written_into_the_statement_after_what_it_reads(reader: str, read: str) -> None:
    windows = 'int_windows as (\nselect 1 as x from marts."dim_runs"\n)'
    members = "int_members as (\nselect x from int_windows\n)"
    joined = ", " if read.startswith("own") else " "
    assert published_statement(reader) == f"with {windows}, {members}{joined}{read}"


def test_a_report_model_that_reads_what_is_not_published_is_refused_by_name() -> None:
    with pytest.raises(LookupError, match=r'report model rpt_runs reads "intermediate"\."int_secret", which is not published'):
        published_statement('select * from "build"."intermediate"."int_secret"')


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
