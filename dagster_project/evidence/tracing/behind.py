"""Behind rows of published tables: which landed rows and seed rows they were made of, table by table.

A table that has no way of its own here is followed to the deliveries of its source and month. A report table is followed to the
tables that its statement reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from dagster_project.base.sql import CELL_COLUMNS
from dagster_project.evidence.tracing import published
from dagster_project.evidence.tracing.published import Origins, Rows
from reports.quarter import Quarter
from reports.tracing.proof import Prover, RowSet, narrowest

RUN_MONTHS = "semi join {rows} using (training_run_id, usage_month)"
RUN_EMISSIONS = {"fct_run_cell_emissions": "semi join {rows} using (training_run_id, usage_month, provider_name)"}
RECONCILED = f"""semi join (
    select *, unit_or_currency as billing_currency from {{rows}} where measure like '%_cost' and method = 'conservation'
) using (billing_currency, {", ".join(CELL_COLUMNS)})"""
# the rows of other tables that the rows of a table are made of
MADE_OF = {
    "fct_training_run_costs": {
        "fct_run_cell_costs": "semi join {rows} using"
        " (training_run_id, usage_month, billing_currency, cost_component, attribution_rule)"
    },
    "fct_training_run_emissions": RUN_EMISSIONS,
    "fct_training_run_emissions_versions": RUN_EMISSIONS,
    "fct_training_run_emissions_modelled": {
        "dim_emission_factors": "semi join {rows} using (factor_id)",
        "fct_training_run_energy": RUN_MONTHS,
    },
    "fct_training_run_energy": {
        "fct_power_calibration": """semi join (
            select runs.accelerator_type, coalesce(runs.sdk_version, '') as sdk_version, energy.usage_month as valid_from_month
            from {rows} as energy inner join published.marts.dim_training_runs as runs using (training_run_id)
            where energy.power_confidence = 'calibrated'
        ) using (accelerator_type, sdk_version, valid_from_month)"""
    },
    "fct_lost_work": {
        "fct_training_run_costs": "semi join {rows} using (training_run_id, usage_month, billing_currency)",
        "fct_residual_costs": "semi join (from {rows} where cause = 'idle') using (usage_month, billing_currency)"
        " where reason = 'idle'",
        "fct_training_run_energy": RUN_MONTHS,
    },
    "fct_purchase_costs": {
        "fct_run_cell_costs": "semi join {rows} using (training_run_id, usage_month, provider_name, region_id, billing_currency)"
        " where cost_component = 'accelerator'"
    },
    "fct_reconciliation": {"fct_run_cell_costs": RECONCILED, "fct_residual_costs": RECONCILED},
}
SEEDS = {  # of a dimension that is a seed: its file, and the columns by which a row of it is found
    "dim_prices": ("prices", ("price_id",)),
    "dim_regions": ("regions", ("provider_name", "region_id")),
    "dim_emission_factors": ("emission_factors", ("factor_id",)),
    "dim_accelerators": ("accelerator_types", ("accelerator_type",)),
    "dim_meters": ("meters", ("source_kind", "meter")),
    "dim_pue": ("pue", ("provider_name", "region_id", "data_year")),
    "dim_vendor_claims": ("vendor_claims", ("claim_id",)),
    "dim_article_figures": ("article_figures", ("figure_id",)),
    "dim_t_quantiles": ("t_quantiles", ("degrees_of_freedom",)),
    "dim_f_quantiles": ("f_quantiles", ("numerator_df", "denominator_df")),
    "dim_standard_normals": ("standard_normals", ("draw",)),
    "dim_comparison_plan_power": ("comparison_plan_power", ("effect_over_spread", "power")),
    "dim_datapoints": ("dim_datapoints", ("framework", "datapoint_id")),
    "dim_accelerator_sources": ("accelerator_sources", ("accelerator_source_id",)),
}
Found = TypeVar("Found", bound=Origins)


@dataclass(frozen=True)
class Walk(Generic[Found]):
    """From rows of an open publication down to its origins, each by the way of its table."""

    prover: Prover
    origins: Found
    report_statements: dict[str, str]
    ways: Mapping[str, Callable[[Found, str, Rows], None]]
    add_seed_rows: Callable[[Found, str, str, str], None]  # of which table, the seed, which of its rows

    def follow(self, sets: Iterable[RowSet], quarter: Quarter | None = None) -> None:
        """Add what is behind these rows to the origins; `quarter`: of the figure that is asked about."""
        for one in sets:
            if one.count:
                schema, _, table = one.table.partition(".")
                rows = f"(select * from published.{one.table} where {one.condition})"
                if table in self.report_statements:
                    self.follow(narrowest(self.prover, self.report_statements[table], rows, quarter), quarter)
                elif schema == "ops":
                    published.add_operations(self.origins, table, rows)
                else:
                    self._follow(table, table, rows)

    def _follow(self, of_table: str, table: str, rows: Rows) -> None:
        """Rows of a table, reported as behind `of_table`: what is behind them and behind the rows they are made of."""
        if not self.origins.connection.execute(f"select 1 from {rows} limit 1").fetchone():
            return
        if table in SEEDS:
            seed, names = SEEDS[table]
            key = ", ".join(f"cast({name} as varchar)" for name in names)
            self.add_seed_rows(self.origins, table, seed, f"({', '.join(names)}) in (select ({key}) from {rows})")
        elif table in self.ways:
            self.ways[table](self.origins, of_table, rows)
        elif table not in MADE_OF:
            published.add_deliveries(self.origins, of_table, rows)
        for other, found in MADE_OF.get(table, {}).items():
            self._follow(of_table, other, f"(from published.marts.{other} {found.format(rows=rows)})")
