"""No model or test of the dbt project adds, multiplies or mixes exact figures so that Spark would give decimals away, nor puts
its columns in other places there.

The rules are in decimals.py; the project is compiled on empty raw tables: neither Spark nor a build is needed.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.base.dbt_project import project_folder
from dagster_project.warehouse import modelling, statements
from tests.decimals import Tables, cut_figures, misplaced_columns
from tests.energy import raw_tables

BILL = {"cost": "decimal(38, 12)", "mass": "decimal(38, 9)", "units": "decimal(38, 0)", "hours": "bigint"}
KNOWN: Tables = {"raw": {"bill": BILL}}
RAW = "select table_name, column_name, data_type from duckdb_columns() where schema_name = 'raw'"


def columns_of_seed(node: dict[str, Any]) -> dict[str, str]:
    with (project_folder() / node["original_file_path"]).open(encoding="utf-8") as file:
        names = next(csv.reader(file))
    return {name: node["config"]["column_types"].get(name, "unknown") for name in names}


def in_order(nodes: dict[str, Any]) -> list[str]:
    """Every node after those it reads."""
    seen: dict[str, None] = {}

    def visit(unique_id: str) -> None:
        for above in nodes[unique_id]["depends_on"].get("nodes", []):
            if above in nodes and above not in seen:
                visit(above)
        seen[unique_id] = None

    for unique_id in nodes:
        if unique_id not in seen:
            visit(unique_id)
    return list(seen)


def is_of_reports(node: dict[str, Any]) -> bool:
    """Whether Spark never builds it: models of reports run on DuckDB, whichever engine built what they read."""
    return "marts/reports/" in node["original_file_path"]


@pytest.mark.slow
@pytest.mark.proved_by("decimals")
def test_no_model_and_no_test_gives_decimals_away_on_spark(tmp_path: Path) -> None:
    build_file = tmp_path / "build.duckdb"
    with duckdb.connect(str(build_file)) as connection:
        raw_tables.create(connection)
        rows = connection.execute(RAW).fetchall()
    tables: Tables = {"raw": {}}
    for table, column, kind in rows:
        tables["raw"].setdefault(table, {})[column] = kind
    nodes, texts = modelling.project(tmp_path)["nodes"], modelling.compiled(tmp_path)
    cut, misplaced, read = [], [], 0
    for unique_id in in_order(nodes):
        node = nodes[unique_id]
        if node["resource_type"] == "seed":
            columns = columns_of_seed(node)
        elif (text := texts.get(unique_id)) and not node["path"].startswith(
            statements.PAGES
        ):  # no engine but DuckDB is asked them
            found, columns = cut_figures(text, tables)
            if not is_of_reports(node):
                cut += [f"{node['name']}: {words}" for words in found]
                misplaced += [f"{node['name']}: {words}" for words in misplaced_columns(text)]
            read += 1
            columns |= {name: column["data_type"] for name, column in node["columns"].items() if column.get("data_type")}
        else:
            continue
        if node["resource_type"] in ("seed", "model"):
            tables.setdefault(node["schema"], {})[node["name"]] = columns
    assert read > 150, "the project was not compiled"
    assert not cut, "use exact_sum or exact_multiple (dbt/macros/exact.sql), or cast:\n" + "\n".join(cut)
    assert not misplaced, "use `on` instead of `using`, or name the columns:\n" + "\n".join(misplaced)


@pytest.mark.parametrize(
    "expression",
    [
        "cost + cost",
        "cost - (mass)",
        "sum(cost) - max(cost)",
        "-cost * 2",
        "cost * cost",
        "cost / 2",
        "coalesce(cost, mass)",
        "case when hours > 1 then mass else cost end",
        "lag(cost) over (order by hours) + cost",
    ],
)
def test_what_spark_would_cut_is_found(expression: str) -> None:
    found, _ = cut_figures(f"with lines as (select * from raw.bill) select {expression} as x from lines", KNOWN)
    assert found


@pytest.mark.parametrize(
    "expression",
    [
        "cast(cost as decimal(37, 12)) + cast(cost as decimal(37, 12))",
        "cast(cast(cost as decimal(36, 12)) * cast(hours as decimal(1, 0)) as decimal(38, 12))",
        "units * units + hours",
        "coalesce(cost, 0)",
        "sum(cost)",
        "cast(cost as double) / 3",
        "hours * 2 - 1",
        "case when hours > 1 then cost end",
    ],
)
def test_what_keeps_every_decimal_is_not_found(expression: str) -> None:
    assert cut_figures(f"select {expression} as x from raw.bill", KNOWN)[0] == []


def test_a_union_of_two_scales_is_found() -> None:
    assert cut_figures("select cost from raw.bill union all select mass from raw.bill", KNOWN)[0]
    assert not cut_figures("select cost from raw.bill union all select cast(mass as decimal(38, 12)) from raw.bill", KNOWN)[0]


def test_a_union_of_all_columns_behind_using_is_found() -> None:
    lines = "select lines.* from lines left join regions"
    assert misplaced_columns(f"{lines} using (region_id) union all select * from lines")
    assert not misplaced_columns(f"{lines} on lines.region_id = regions.region_id union all select * from lines")
    assert not misplaced_columns(
        "select line_id from lines left join regions using (region_id) union all select line_id from lines"
    )
