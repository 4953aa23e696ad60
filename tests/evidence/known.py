"""Writes dagster_project/evidence/known.json and tracing/rules.json: what this version publishes, and how it is made of what.

`python -m tests.evidence.known`, after a change of a report model, a page or the list of published tables.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from dagster_project.evidence import known
from dagster_project.evidence.pack import write_seeds
from dagster_project.evidence.tracing import rules
from dagster_project.publishing.digest import literal, quoted, table_digest
from dagster_project.publishing.tables import published_tables
from dagster_project.warehouse import modelling, report_models
from tests.evidence import trace_rules

ROOT = Path(__file__).resolve().parents[2]


def document() -> str:
    selects = {name: known.digest(text) for name, text in report_models.select_texts(ROOT).items()}
    pages = report_models.pages(ROOT)
    selects |= {f"pages.{page.model}": known.digest(page.statement, page.printed_text) for page in pages}
    with TemporaryDirectory() as folder, duckdb.connect() as connection:
        connection.execute("create schema seeds")
        write_seeds(ROOT, Path(folder))
        seeds = {}
        for file in sorted(Path(folder).glob("*.parquet")):
            connection.execute(f"create view seeds.{quoted(file.stem)} as from read_parquet({literal(str(file))})")
            seeds[file.stem] = table_digest(connection, "seeds", file.stem).digest
    tables = sorted(table.name for table in published_tables(modelling.project(ROOT)))
    return json.dumps({"tables": tables, "seeds": seeds, "selects": dict(sorted(selects.items()))}, indent=1) + "\n"


if __name__ == "__main__":
    known.FILE.write_text(document(), encoding="utf-8")
    rules.FILE.write_text(trace_rules.document(ROOT), encoding="utf-8")
