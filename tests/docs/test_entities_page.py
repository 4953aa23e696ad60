"""docs/entities.md shows what the YAML states, and its relations are true of the demo's rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dagster_project.publishing.relations import relations
from tests.docs.entity_page import PAGE, entities, page


def test_the_page_of_entities_is_what_the_yaml_makes_of_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python -m tests.docs.entity_page"


def test_every_relation_names_the_whole_key_of_its_parent() -> None:
    tables = {entity.name: entity for entity in entities()}
    found = list(relations({name: list(entity.columns) for name, entity in tables.items()}))
    assert {relation.child for relation in found} >= {"fct_training_run_costs", "rpt_coverage", "run_summary"}
    for relation in found:
        assert set(relation.parent_columns) == set(tables[relation.parent].key), relation


@pytest.mark.slow
def test_every_relation_holds_in_the_demo(demo_home: Path) -> None:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        columns: dict[str, list[str]] = {}
        for table, column in connection.execute(
            "select table_name, column_name from duckdb_columns() where schema_name = 'marts'"
        ).fetchall():
            columns.setdefault(table, []).append(column)
        for relation in relations(columns):
            pairs = zip(relation.columns, relation.parent_columns, strict=True)
            same = " and ".join(f"child.{own} = parent.{other}" for own, other in pairs)
            points = " and ".join(f"child.{own} <> ''" for own in relation.columns)
            lost = f"from marts.{relation.child} as child anti join marts.{relation.parent} as parent on {same} where {points}"
            assert connection.execute(f"select count(*) {lost}").fetchone() == (0,), relation
