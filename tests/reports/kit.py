"""Rendering a published file, changed by statements or not, and reading the figures and tables of the record it gives."""

import json
from pathlib import Path
from unittest import mock

import duckdb

from reports.quarterly import QuarterlyReport, render


def rendered(published: Path, quarter: str, out: Path, *, on_paper: bool = False) -> QuarterlyReport:
    """A report; its PDF and workbook, which cost more than all the rest, are empty files unless they are asked for."""
    if on_paper:
        return render(published, quarter, out, organisation="Example AG")
    with (
        mock.patch("reports.page.pdf.document", return_value=b""),
        mock.patch("reports.page.workbook.document", return_value=b""),
    ):
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
