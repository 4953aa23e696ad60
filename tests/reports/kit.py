"""Rendering a published file, changed by statements or not, and reading the figures and tables of the record it gives."""

import json
from pathlib import Path

import duckdb

from reports.quarterly import QuarterlyReport, render


def rendered(published: Path, quarter: str, out: Path) -> QuarterlyReport:
    return render(published, quarter, out, organisation="Example AG")


def record_of(report: QuarterlyReport) -> dict:
    return json.loads(report.json.read_text())


def figures_of(record: dict) -> dict[str, dict]:
    """Figures by the last part of their ids: effective_cost, or effective_cost,EUR where bills are in several currencies."""
    return {figure["id"].partition("/glance/")[2]: figure for figure in record["figures"]}


def tables_of(record: dict) -> dict[str, dict]:
    return {table["id"]: table for section in record["sections"] for table in section["tables"]} | {"vintage": record["vintage"]}


def values_of(record: dict, table: str) -> list[dict]:
    return [row["values"] for row in tables_of(record)[table]["rows"]]


def changed(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path
