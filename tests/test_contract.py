"""The published file against the public contract: tables, columns, types, nullability, keys, enumerations.

The contract lives outside the project (../shared/contract.yml and, section by section as they are done, the later files); the
project's own copy of its facts is the dbt YAML, and the sections that are done are listed in publishing/contract.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.publishing.contract import SECTIONS
from tests.contract import LATER, flat, in_force, read, sections_of, versions
from tests.shared import SHARED

pytestmark = pytest.mark.slow

TYPES = {
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "boolean": "BOOLEAN",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "money": "DECIMAL(38,12)",
    "total": "DECIMAL(38,12)",
    "mass": "DECIMAL(38,9)",
    "energy": "DECIMAL(38,9)",
    "hours": "DECIMAL(38,9)",
}
PARQUET_ONLY = {"fct_charge_attributions"}  # at the grain of the bill: too large for the file
# after the columns that the contract names: what a trace adds up of a group beyond its cost, the weight by which its cell's
# emissions are divided, and what its coverage counts
OF_A_TRACE = [
    "accelerator_type VARCHAR",
    *(f"{name} DECIMAL(38,12)" for name in ("list_cost", "on_demand_list_cost", "contracted_cost", "carbon_weight")),
    *(f"{name} BOOLEAN" for name in ("is_usage", "is_weighted")),
]
ENUMERATED = {
    "provider_name": "provider_name",
    "accelerator_family": "accelerator_family",
    "state": "run_state",
    "cost_component": "cost_component",
    "attribution_rule": "attribution_rule",
    "attribution_confidence": "confidence",
    "allocation_confidence": "confidence",
    "status": "status",
    "energy_basis": "energy_basis",
    "power_confidence": "power_confidence",
}
# tables that no section names: published for whoever follows a figure (docs/contract.md has their keys)
BESIDE = {
    "activity_data",
    "dim_accelerator_sources",
    "dim_article_figures",
    "dim_comparison_plan_power",
    "dim_comparison_registrations",
    "dim_comparison_settings",
    "dim_datapoints",
    "dim_disclosure_settings",
    "dim_f_quantiles",
    "dim_model_names",
    "dim_own_inventory",
    "dim_porting_costs",
    "dim_power_terms",
    "dim_pue",
    "dim_service_categories",
    "dim_standard_normals",
    "dim_t_quantiles",
    "dim_vendor_claims",
    "dim_wue",
    "fct_costs_by_commitment",
    "fct_energy_integrals",
    "fct_lost_work",
    "fct_purchase_costs",
    "fct_restated_texts",
    "fct_run_attempts",
    "fct_run_progress",
    "fct_water_withdrawals",
    "focus_1_4",
    "focus_emissions",
    "rpt_break_even_emissions",
    "rpt_comparison_pairs",
    "rpt_comparison_sensitivities",
    "rpt_comparison_strata",
    "rpt_quarterly_figures",
    "rpt_region_what_if",
}
RESIDUALS = ("fct_residual_costs", "fct_residual_emissions")


def files() -> tuple[dict[str, Any], dict[str, Any]]:
    if SHARED is None or not (SHARED / LATER[-1]).exists():
        pytest.skip("the public contract (../shared/contract.yml) is not beside this checkout")
    return read(SHARED)


def contract() -> dict[str, Any]:
    return in_force(*files(), SECTIONS)


def with_what_is_coming() -> dict[str, Any]:
    """The contract with all its sections: a table, a column or a null may come before the whole of its section is done."""
    base, more = files()
    return in_force(base, more, sections_of(more))


def tables_due(spec: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    marts = {("marts", name): table for name, table in spec["tables"].items() if name not in PARQUET_ONLY}
    return marts | {("ops", name): table for name, table in spec["ops"].items()}


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    con = duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True)
    yield con
    con.close()


def columns_of(con: duckdb.DuckDBPyConnection, schema: str, table: str) -> dict[str, tuple[str, bool]]:
    rows = con.execute(
        "select column_name, data_type, is_nullable = 'YES' from information_schema.columns"
        " where table_schema = ? and table_name = ?",
        [schema, table],
    ).fetchall()
    return {name: (data_type, is_nullable) for name, data_type, is_nullable in rows}


def views_of(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Published views: the catalog states of all their columns that they may be null."""
    return {name for (name,) in con.execute("select view_name from duckdb_views() where schema_name = 'marts'").fetchall()}


def test_every_table_has_the_columns_types_and_nullability_of_the_contract(published: duckdb.DuckDBPyConnection) -> None:
    differences, views, promised = [], views_of(published), with_what_is_coming()["tables"]
    for (schema, name), table in tables_due(contract()).items():
        found = columns_of(published, schema, name)
        if not found:
            differences.append(f"{schema}.{name} is not published")
        declared = [column.split() for column in flat(table.get("columns", []))]
        for column, kind in declared:
            expected = (TYPES[kind.rstrip("?")], kind.endswith("?"))
            may_be_null_soon = f"{column} {kind}?" in flat(promised.get(name, {}).get("columns", []))
            if schema == "ops" or name in views or may_be_null_soon:  # the contract promises no constraint in them
                expected = (expected[0], found.get(column, ("", True))[1])
            if found.get(column) != expected:
                differences.append(f"{schema}.{name}.{column}: {found.get(column)}, the contract says {expected}")
        coming = {column.split()[0] for column in flat(promised.get(name, {}).get("columns", []))}
        extra = set(found) - {column for column, _ in declared} - coming if declared else set()
        if extra and schema == "marts":
            differences.append(f"{schema}.{name} has columns nobody promised: {sorted(extra)}")
    assert differences == []


def test_what_a_view_may_not_leave_null_is_there_in_every_row(published: duckdb.DuckDBPyConnection) -> None:
    tables, views = contract()["tables"], views_of(published)
    promised = {
        name: [column for column, kind in map(str.split, flat(tables[name].get("columns", []))) if not kind.endswith("?")]
        for name in views & tables.keys()
    }
    for name, columns in promised.items():
        for column in {*columns, *tables[name]["key"]}:
            counted = published.execute(f"select count(*) - count({column}) from marts.{name}").fetchone()
            assert counted == (0,), f"{name}.{column}"


def test_keys_are_unique(published: duckdb.DuckDBPyConnection) -> None:
    repeated = {}
    coming = with_what_is_coming()["tables"]
    for (schema, name), table in tables_due(contract()).items():
        longer = coming.get(name, table)["key"]
        key = ", ".join(longer if {*longer} <= columns_of(published, schema, name).keys() else table["key"])
        count = published.execute(
            f"select count(*) from (select {key} from {schema}.{name} group by {key} having count(*) > 1)"
        ).fetchone()
        if count != (0,):
            repeated[name] = count
    assert repeated == {}


def test_the_file_declares_the_key_of_every_table_without_months(published: duckdb.DuckDBPyConnection) -> None:
    declared = dict(
        published.execute(
            "select table_name, constraint_column_names from duckdb_constraints()"
            " where schema_name = 'marts' and constraint_type = 'PRIMARY KEY'"
        ).fetchall()
    )
    views, due = views_of(published), {}
    for (schema, name), table in tables_due(contract()).items():
        columns = columns_of(published, schema, name)
        may_be_null = any(columns[column][1] for column in table["key"])
        if schema == "marts" and name not in views and "usage_month" not in columns and not may_be_null:
            due[name] = table["key"]
    assert {name: declared.get(name) for name in due} == due
    assert {"dim_training_runs", "dim_services"} <= due.keys()


def test_what_is_published_as_parquet_alone_has_the_columns_types_and_key_of_the_contract(demo_home: Path) -> None:
    parquet = demo_home / "trainledger-home" / "published" / "parquet"
    for name in PARQUET_ONLY:
        table = contract()["tables"][name]
        rows = duckdb.sql(f"from read_parquet('{parquet / name}/*.parquet', hive_partitioning = false)")
        assert [f"{column} {kind}" for column, kind in zip(rows.columns, rows.types, strict=True)] == [
            *(f"{column} {TYPES[kind.rstrip('?')]}" for column, kind in map(str.split, flat(table["columns"]))),
            *OF_A_TRACE,
        ]
        key = ", ".join(table["key"])
        assert duckdb.sql(f"select {key} from rows group by {key} having count(*) > 1").fetchall() == []


def test_enumerated_columns_hold_only_what_the_contract_lists(published: duckdb.DuckDBPyConnection) -> None:
    spec, coming = contract(), with_what_is_coming()["enumerations"]
    strangers = {}
    for schema, name in tables_due(spec):
        if schema == "ops":
            continue
        enumerated = ENUMERATED | ({"reason": "residual_reason"} if name in RESIDUALS else {})
        if name == "rpt_vendor_claims":  # the others' verdict is about two families
            enumerated = enumerated | {"verdict": "claim_verdict"} if "claim_verdict" in spec["enumerations"] else enumerated
        if name == "fct_reconciliation":  # a factor's method is another thing
            enumerated = enumerated | {"method": "reconciliation_method"}
        for column in columns_of(published, schema, name).keys() & enumerated.keys():
            values = {
                value
                for (value,) in published.execute(
                    f"select distinct {column} from {schema}.{name} where {column} is not null"
                ).fetchall()
            }
            listed = {*spec["enumerations"][enumerated[column]], *coming[enumerated[column]]}
            if values - listed:
                strangers[f"{name}.{column}"] = values - listed
    assert strangers == {}


def test_nothing_is_published_that_the_contract_does_not_name(published: duckdb.DuckDBPyConnection) -> None:
    spec = contract()
    named = set(spec["tables"]) | set(with_what_is_coming()["tables"]) | BESIDE
    found = {
        name
        for (name,) in published.execute(
            "select table_name from information_schema.tables where table_schema = 'marts'"
        ).fetchall()
    }
    assert found - named == set()


def test_the_file_shows_which_sections_of_the_contract_it_holds_to(published: duckdb.DuckDBPyConnection) -> None:
    found = published.execute("select contract_version, section from ops.contract order by section").fetchall()
    files()
    assert SHARED is not None
    of_file = versions(SHARED)
    assert found == [(of_file[section], section) for section in sorted(SECTIONS)]


def test_every_table_has_its_bare_name_in_a_client_that_knows_no_schema(published: duckdb.DuckDBPyConnection) -> None:
    tables = "select table_name from information_schema.tables where table_schema = '{}' order by 1"
    bare, marts = (published.execute(tables.format(schema)).fetchall() for schema in ("main", "marts"))
    assert bare == marts != []
    for (name,) in bare:
        assert columns_of(published, "main", name).keys() == columns_of(published, "marts", name).keys()
