"""What a published file states itself of where its rows come from: groups of the bill, deliveries, places in quarantine.

Read by a trace in a home, which goes on to landed bytes, and by one in an evidence pack, which has none.
"""

from __future__ import annotations

from typing import Protocol

import duckdb

from dagster_project.base.sql import literal

Rows = str  # a query that gives the rows, over `published.marts`
DELIVERY = """source_name, partition as object, content_hash as delivery_content_hash, rows as row_count,
    'published ' || published_at as detail"""
GROUP = r"^[0-9a-f]{12}\|(.*)\|([0-9]+)(\|promotion|\|rounding|\|pod-[0-9]+)?$"  # charge_group_id: cell, object, first row
SEEDS = {  # of a dimension that is a seed: its file, and the columns by which a row of it is found
    "dim_prices": ("prices", ("price_id",)),
    "dim_regions": ("regions", ("provider_name", "region_id")),
    "dim_emission_factors": ("emission_factors", ("factor_id",)),
    "dim_accelerators": ("accelerator_types", ("accelerator_type",)),
    "dim_meters": ("meters", ("source_kind", "meter")),
    "dim_pue": ("pue", ("provider_name", "region_id", "data_year")),
    "dim_wue": ("wue", ("provider_name", "region_id", "data_year")),
    "dim_vendor_claims": ("vendor_claims", ("claim_id",)),
    "dim_article_figures": ("article_figures", ("figure_id",)),
    "dim_t_quantiles": ("t_quantiles", ("degrees_of_freedom",)),
    "dim_f_quantiles": ("f_quantiles", ("numerator_df", "denominator_df")),
    "dim_standard_normals": ("standard_normals", ("draw",)),
    "dim_comparison_plan_power": ("comparison_plan_power", ("effect_over_spread", "power")),
    "dim_datapoints": ("dim_datapoints", ("framework", "datapoint_id")),
    "dim_power_terms": ("accelerator_power", ("accelerator_type",)),
    "factors": ("emission_factors", ("factor_id",)),
    "dim_accelerator_sources": ("accelerator_sources", ("accelerator_source_id",)),
}


class Origins(Protocol):
    """Where what is found is added: a connection with the table of origins, and views of the parts of the bill."""

    connection: duckdb.DuckDBPyConnection

    def add(self, kind: str, of_table: str, rows: str) -> None:
        """Report rows of a query as behind rows of a table."""


def columns_of(found: Origins, rows: Rows) -> list[str]:
    """The names of what a query gives."""
    return [name for name, *_ in found.connection.execute(f"describe select * from {rows}").fetchall()]


def lookup_condition(table: str, rows: Rows) -> tuple[str, str]:
    """The seed of a dimension, and which of its rows (all text) state some rows."""
    seed, names = SEEDS.get(table, (table, ()))
    key = ", ".join(f"cast({name} as varchar)" for name in names)
    return seed, f"({', '.join(names)}) in (select ({key}) from {rows})" if names else "true"


def runs_of(found: Origins, rows: Rows) -> Rows:
    """The rows, or where they are of pairs of a comparison the runs of these pairs."""
    if "training_run_id" in columns_of(found, rows):
        return rows
    return f"(from published.marts.dim_training_runs semi join {rows} using (workload_key, pair_key))"


def seeds_of_energy(rows: Rows) -> dict[str, str]:
    """The seeds of power, meters and PUE that the energy of some rows is worked out with: of each, which of its rows."""
    energies = f"(from published.marts.fct_training_run_energy semi join {rows} using (training_run_id, usage_month))"
    used = "{0} in (select {0} from published.marts.dim_training_runs semi join " + rows + " using (training_run_id))"
    found_by = {"accelerator_power": "accelerator_type", "host_power": "accelerator_type", "it_overhead": "provider_name"}
    is_named = "starts_with(energy.pue_source, concat(seed.source, ', ', seed.data_year, ', ', seed.region_id))"
    of_pue = f"exists (select 1 from {energies} as energy where {is_named})"
    of_meters = f"exists (select 1 from {energies} as energy where energy_kwh_measured + energy_kwh_driver_power > 0)"
    of_energy = {"pue": of_pue, "meters": of_meters, "sampling_errors": of_meters}
    return {seed: used.format(name) for seed, name in found_by.items()} | of_energy


def add_integrals(found: Origins, of_table: str, column: str, rows: Rows) -> None:
    """Joules and chip-seconds, each with what makes kWh or hours of it and what it gives of the figure."""
    factor = column.replace("integral", "factor")
    integrals = f"""select '{of_table}' as source_name, 1 as row_count, usage_month, training_run_id, {column} as amount,
            concat_ws(' / ', training_run_id, usage_month, nullif(region_id, ''), nullif(pool_id, ''), measure, basis) as object,
            case basis when 'chip_time' then 's' else 'J' end as unit,
            {factor} || case basis when 'chip_time' then '/3600' else '/3600000' end as share,
            amount_ as contribution, {literal(column)} as measure
        from {rows}"""
    found.add("energy", of_table, integrals)


def add_quarantined(found: Origins, of_table: str, rows: Rows) -> None:
    """The places that are in quarantine or doubted."""
    held = f"""select source_name, source_object as object, row_number as first_row, 1 as row_count, reason,
            concat_ws(' ', 'quarantined:', column_name, value, remedy) as detail from {rows}"""
    found.add("record", of_table, held)


def add_inputs(found: Origins, of_table: str, column: str, rows: Rows) -> None:
    """The rows of files in which the organisation states figures of its own, each with what it gives of its value."""
    contribution = "stated.amount_" if column == "value" else "null"
    stated = f"""select stated.source_name, stated.source_object as object, stated.row_number as first_row,
            objects.delivery_content_hash, stated.value as amount, stated.unit, {literal(column)} as measure,
            {contribution} as contribution,
            concat_ws(' ', stated.figure, 'of', stated.fiscal_year, stated.source, stated.source_date) as detail
        from {rows} as stated
        left join objects on stated.source_name = objects.source_name and stated.source_object = objects.object"""
    found.add("record", of_table, stated)


def add_withdrawals(found: Origins, of_table: str, column: str, rows: Rows) -> None:
    """The results of answers in which the provider states the water of a year, each with what it gives of the figure."""
    contribution = "stated.amount_" if column == "withdrawal_m3" else "null"
    stated = f"""select stated.source_name, stated.source_object as object, stated.row_number as first_row,
            objects.delivery_content_hash, stated.withdrawal_m3 as amount, 'm3' as unit, {literal(column)} as measure,
            {contribution} as contribution,
            concat_ws(' ', 'water of', year(usage_year), sub_account_id, region_id, provider_model_version) as detail
        from {rows} as stated
        left join objects on stated.source_name = objects.source_name and stated.source_object = objects.object"""
    found.add("record", of_table, stated)


def add_settings(found: Origins, of_table: str, column: str, rows: Rows) -> None:
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
