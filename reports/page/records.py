"""What report.json has of a table, a figure and a section: every digit, its unit, its method and its SQL."""

from dataclasses import fields

from reports.model import Figure, Section, Table
from reports.page.numbers import plain
from reports.page.writing import csv_text, digest


def table_record(table: Table) -> dict[str, object]:
    """A table for report.json: values as decimal strings, each column with unit and method, the SQL that answers it."""
    columns = [
        {
            "id": column.key,
            "label": column.label,
            "kind": column.kind,
            "unit": column.unit_of("of the row: billing_currency"),
            "method": table.spec.method,
        }
        for column in table.spec.columns
    ]
    rows = [
        {
            "id": f"{table.id}/{'/'.join('' if row[key] is None else str(row[key]) for key in table.spec.key)}",
            "is_total": bool(row.get("is_total")),
            "values": {column.key: plain(row[column.key]) for column in table.spec.columns},
        }
        for row in table.rows
    ]
    record: dict[str, object] = {
        "id": table.id,
        "code": table.code,
        "title": table.spec.title,
        "method": table.spec.method,
        "sql": table.spec.sql,
    }
    if table.absent:
        return {**record, "absent": table.absent}
    return {**record, "columns": columns, "rows": rows, "file": f"tables/{table.id}.csv", "sha256": digest(csv_text(table))}


def figure_record(figure: Figure) -> dict[str, object]:
    """A headline figure for report.json; a text that does not apply is null."""
    known = dict(zip(("value", "low", "high"), map(plain, figure.known), strict=True)) if figure.known else None
    texts = {field.name: plain(getattr(figure, field.name)) or None for field in fields(figure)}
    return {**texts, "unit": figure.unit, "known": known}


def section_record(section: Section) -> dict[str, object]:
    return {
        "id": section.id,
        "title": section.title,
        "absent": section.absent or None,
        "notes": [],  # of format 1; no section has any
        "tables": [table_record(table) for table in section.tables],
    }
