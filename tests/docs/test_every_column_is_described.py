"""Every table of the dbt project and each of its columns has a description, and the listed columns are those that are built.

Read from the YAML itself, not from dbt's manifest: the fast tests need no parse of the project. Columns of pages have headings
where they are printed, and tests/reports/test_pages.py compares them with a published file; schema ops has its own YAML.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2] / "dbt"
DOC_BLOCK = re.compile(r"{% docs (\w+) %}\n(.*?)\n{% enddocs %}", re.DOTALL)
DOC_REFERENCE = re.compile(r"""{{ doc\(["'](\w+)["']\) }}""")
NOT_FOR_MODELS = {"landed_files"}  # which files the raw views read: no model asks it


class Described(NamedTuple):
    """A model, seed or source table as the YAML describes it."""

    name: str
    file: str
    description: str
    columns: list[dict[str, Any]]

    @property
    def column_names(self) -> list[str]:
        return [column["name"] for column in self.columns]

    @property
    def is_page(self) -> bool:
        return self.file.startswith("models/pages/")


def files(*folders: str, suffix: str) -> list[Path]:
    """The files below these folders of the project."""
    return [path for folder in folders for path in sorted((PROJECT / folder).rglob(f"*{suffix}"))]


def _entries(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every table of a YAML file with its kind."""
    for kind in ("models", "seeds"):
        yield from ((kind, entry) for entry in document.get(kind) or ())
    for source in document.get("sources") or ():
        yield from (("sources", table) for table in source["tables"] if source["name"] != "ops")


@cache
def described() -> dict[str, list[Described]]:
    """Tables by kind: models, seeds, sources."""
    tables: dict[str, list[Described]] = {"models": [], "seeds": [], "sources": []}
    for path in files("models", "seeds", suffix=".yml"):
        file = path.relative_to(PROJECT).as_posix()
        for kind, entry in _entries(yaml.safe_load(path.read_text(encoding="utf-8"))):
            tables[kind].append(Described(entry["name"], file, entry.get("description") or "", entry.get("columns") or []))
    return tables


def doc_blocks() -> list[tuple[str, str]]:
    return [block for path in files("models", suffix=".md") for block in DOC_BLOCK.findall(path.read_text(encoding="utf-8"))]


def every_table() -> list[Described]:
    return [table for tables in described().values() for table in tables]


@pytest.mark.parametrize("kind", ["models", "seeds"])
def test_every_model_and_seed_is_described_once(kind: str) -> None:
    suffix = {"models": ".sql", "seeds": ".csv"}[kind]
    assert Counter(table.name for table in described()[kind]) == Counter(path.stem for path in files(kind, suffix=suffix))


def test_every_table_and_every_listed_column_has_words() -> None:
    silent = [f"{table.file}: {table.name}" for table in every_table() if not table.description.strip() or not table.columns]
    silent += [
        f"{table.file}: {table.name}.{column['name']}"
        for table in every_table()
        for column in table.columns
        if not table.is_page and not (column.get("description") or "").strip()
    ]
    assert not silent, "\n".join(silent)


def test_no_table_lists_a_column_twice() -> None:
    twice = [
        f"{table.name}.{name}" for table in every_table() for name, times in Counter(table.column_names).items() if times > 1
    ]
    assert not twice


def test_every_doc_block_has_words_and_serves_a_column() -> None:
    blocks = doc_blocks()
    words_of = [column.get("description") or "" for table in every_table() for column in table.columns]
    used = {name for words in words_of for name in DOC_REFERENCE.findall(words)}
    assert Counter(name for name, _ in blocks) == Counter(used), "blocks and references differ, or a block is there twice"
    assert all(words.strip() for _, words in blocks)


def test_the_columns_of_a_seed_are_those_of_its_file() -> None:
    for seed in described()["seeds"]:
        with (PROJECT / "seeds" / f"{seed.name}.csv").open(encoding="utf-8", newline="") as file:
            assert seed.column_names == next(csv.reader(file)), seed.name


def _columns(file: Path, schemas: tuple[str, ...]) -> dict[str, set[str]]:
    with duckdb.connect(str(file), read_only=True) as connection:
        rows = connection.execute(
            "select table_name, list(column_name) from duckdb_columns() where list_contains(?, schema_name) group by table_name",
            [list(schemas)],
        ).fetchall()
    return {table: set(columns) for table, columns in rows}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "schemas"), [("models", ("staging", "intermediate", "marts")), ("seeds", ("seeds",)), ("sources", ("raw",))]
)
def test_the_described_columns_are_those_of_a_finished_build(demo_home: Path, kind: str, schemas: tuple[str, ...]) -> None:
    built = _columns(demo_home / "trainledger-home" / "build.duckdb", schemas)
    wrong = {}
    for table in (table for table in described()[kind] if not table.is_page):
        columns, listed = built.pop(table.name, set()), set(table.column_names)
        if columns != listed:
            wrong[table.name] = {"not described": columns - listed, "not there": listed - columns}
    assert not wrong
    assert set(built) <= NOT_FOR_MODELS, "built and not described"


@pytest.mark.slow
def test_every_published_column_carries_its_description(demo_home: Path) -> None:
    published = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    with duckdb.connect(str(published), read_only=True) as connection:
        silent = connection.execute(
            "select table_name || '.' || column_name from duckdb_columns()"
            " where schema_name in ('marts', 'ops', 'main') and not internal and comment is null"
        ).fetchall()
    assert not silent
