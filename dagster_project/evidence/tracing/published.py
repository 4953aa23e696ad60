"""What a published file states itself of where its rows come from: groups of the bill, deliveries, places in quarantine.

Read by a trace in a home, which goes on to landed bytes, and by one in an evidence pack, which has none.
"""

from __future__ import annotations

from typing import Protocol

import duckdb

from dagster_project.base.sql import CELL

Rows = str  # a query that gives the rows, over `published.marts`
DELIVERY = """source_name, partition as object, content_hash as delivery_content_hash, rows as row_count,
    'published ' || published_at as detail"""
GROUP = r"^[0-9a-f]{12}\|(.*)\|([0-9]+)(\|promotion|\|rounding)?$"  # charge_group_id: cell, object, first row
OF_CELLS = ("training_run_id", "attribution_rule", "reason")  # whose part of a cell a group of the bill is


class Origins(Protocol):
    """Where what is found is added: a connection with the table of origins, and `attributions` of the bill."""

    connection: duckdb.DuckDBPyConnection

    def add(self, kind: str, of_table: str, rows: str) -> None:
        """Report rows of a query as behind rows of a table."""


def columns_of(found: Origins, rows: Rows) -> list[str]:
    """The names of what a query gives."""
    return [name for name, *_ in found.connection.execute(f"describe select * from {rows}").fetchall()]


def take_groups(found: Origins, rows: Rows) -> None:
    """Table `groups`: those of the bill that were attributed to these cells of a run, or of a residual with a reason."""
    own = ("training_run_id", "attribution_rule") if "training_run_id" in columns_of(found, rows) else ("reason",)
    found.connection.execute(f"""create or replace temp table groups as
        select attributions.* from attributions
        semi join (select *, {CELL} as cell from {rows}) as cells
            on attributions.source_name = cells.source_name and attributions.usage_month = cells.usage_month
            and substr(attributions.charge_group_id, 1, 12) = cells.cell
            and attributions.billing_currency = cells.billing_currency
            and attributions.cost_component = cells.cost_component
            and {" and ".join(f"coalesce(attributions.{name}, '') = coalesce(cells.{name}, '')" for name in own)}
        where {" and ".join(f"coalesce({name}, '') = ''" for name in OF_CELLS if name not in own)}""")


def seeds_of_energy(rows: Rows) -> dict[str, str]:
    """The seeds of power, meters and PUE that the energy of some rows is worked out with: of each, which of its rows."""
    used = "{0} in (select {0} from published.marts.dim_training_runs semi join " + rows + " using (training_run_id))"
    found_by = {"accelerator_power": "accelerator_type", "host_power": "accelerator_type", "it_overhead": "provider_name"}
    is_named = "starts_with(energy.pue_source, concat(seed.source, ', ', seed.data_year, ', ', seed.region_id))"
    of_pue = f"exists (select 1 from {rows} as energy where {is_named})"
    of_meters = f"exists (select 1 from {rows} as energy where energy_kwh_measured + energy_kwh_driver_power > 0)"
    of_energy = {"pue": of_pue, "meters": of_meters, "sampling_errors": of_meters}
    return {seed: used.format(name) for seed, name in found_by.items()} | of_energy


def add_quarantined(found: Origins, of_table: str, rows: Rows) -> None:
    """The places that are in quarantine or doubted."""
    held = f"""select source_name, source_object as object, row_number as first_row, 1 as row_count, reason,
            concat_ws(' ', 'quarantined:', column_name, value, remedy) as detail from {rows}"""
    found.add("record", of_table, held)


def add_inputs(found: Origins, of_table: str, rows: Rows) -> None:
    """The rows of files in which the organisation states figures of its own."""
    stated = f"""select source_name, source_object as object, row_number as first_row, 1 as row_count,
            concat_ws(' ', figure, 'of', fiscal_year, value, unit, source, source_date) as detail from {rows}"""
    found.add("record", of_table, stated)


def add_settings(found: Origins, of_table: str, rows: Rows) -> None:
    """What the configuration states: no delivery has it."""
    what = "'configuration' as source_name, 'trainledger.yaml' as object, count(*) as row_count"
    found.add("build", of_table, f"select {what} from {rows}")


def add_operations(found: Origins, of_table: str, rows: Rows) -> None:
    """Rows of schema ops: deliveries, or what a build states of itself."""
    if of_table == "dim_deliveries":
        found.add("delivery", of_table, f"select {DELIVERY} from {rows}")
    else:
        what = f"'ops' as source_name, 'ops.{of_table}' as object, count(*) as row_count"
        found.add("build", of_table, f"select {what} from {rows}")


def add_deliveries(found: Origins, of_table: str, rows: Rows) -> None:
    """The deliveries of the rows' sources and months; of rows that name no source, the bills of their months."""
    on = {
        "source_name": "deliveries.source_name = of_rows.source_name",
        "provider_name": "(deliveries.provider_name = of_rows.provider_name or deliveries.provider_name is null)",
        "usage_month": "(left(deliveries.partition, 7) = strftime(of_rows.usage_month, '%Y-%m')"
        " or not regexp_matches(deliveries.partition, '^[0-9]{4}-'))",
    }
    columns = columns_of(found, rows)
    same = " and ".join(condition for name, condition in on.items() if name in columns) or "true"
    elected = "(from published.ops.dim_deliveries where is_elected) as deliveries"
    found.add("delivery", of_table, f"select {DELIVERY} from {elected} semi join {rows} as of_rows on {same}")
