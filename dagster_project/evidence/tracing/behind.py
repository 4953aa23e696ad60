"""Behind rows of published tables: which landed rows and seed rows they were made of, table by table.

A table that has no way of its own here is followed to the deliveries of its source and month. A report table is followed to the
tables that its statement reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dagster_project.evidence.tracing import facts, origins
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.publishing.month_files import CELL
from reports.quarter import Quarter
from reports.tracing.proof import Prover, RowSet, narrowest

Rows = str  # a query that gives the rows, over `published.marts`
RUN_COSTS = "training_run_id, usage_month, billing_currency, cost_component, attribution_rule"
CELL_COLUMNS = "source_name, provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month"
RUN_SIDE = "training_run_id, attribution_rule, cast(null as varchar) as reason"
RESIDUAL_SIDE = "cast(null as varchar) as training_run_id, cast(null as varchar) as attribution_rule, reason"
SEEDS = {  # of a dimension that is a seed: its file, and the columns by which a row of it is found
    "dim_prices": ("prices", ("price_id",)),
    "dim_regions": ("regions", ("provider_name", "region_id")),
    "dim_emission_factors": ("emission_factors", ("factor_id",)),
    "dim_accelerators": ("accelerator_types", ("accelerator_type",)),
    "dim_pue": ("pue", ("provider_name", "region_id", "data_year")),
    "dim_vendor_claims": ("vendor_claims", ("claim_id",)),
    "dim_article_figures": ("article_figures", ("figure_id",)),
    "dim_t_quantiles": ("t_quantiles", ("degrees_of_freedom",)),
    "dim_datapoints": ("dim_datapoints", ("framework", "datapoint_id")),
    "dim_accelerator_sources": ("accelerator_sources", ("accelerator_source_id",)),
}


class Behind:
    """The way down from rows of published tables."""

    def __init__(self, landed: Landed, prover: Prover, statements: dict[str, str]) -> None:
        self._landed, self._prover, self._statements = landed, prover, statements
        self.quarter: Quarter | None = None  # of the figure that is asked about
        self._ways: dict[str, Callable[[str, Rows], None]] = {
            "fct_training_run_costs": self._run_costs,
            "fct_run_cell_costs": self._cell_costs,
            "fct_residual_costs": self._cell_costs,
            "fct_training_run_emissions": self._run_emissions,
            "fct_training_run_emissions_versions": self._run_emissions,
            "fct_run_cell_emissions": self._cell_emissions,
            "fct_residual_emissions": self._cell_emissions,
            "fct_training_run_energy": self._energy,
            "fct_power_calibration": self._calibration,
            "fct_training_run_emissions_modelled": self._modelled,
            "fct_reconciliation": self._reconciliation,
            "fct_lost_work": self._lost_work,
            "fct_telemetry_matches": self._matches,
            "fct_run_conflicts": self._records,
            "fct_quarantine": self._quarantine,
            "dim_training_runs": self._records,
        }

    def follow(self, sets: Iterable[RowSet]) -> None:
        """Add what is behind these rows to the origins."""
        for one in sets:
            if one.count:
                schema, _, table = one.table.partition(".")
                self._follow(schema, table, f"(select * from published.{one.table} where {one.condition})")

    def _follow(self, schema: str, table: str, rows: Rows) -> None:
        if table in self._statements:
            self.follow(narrowest(self._prover, self._statements[table], rows, self.quarter))
        elif schema == "ops":
            self._operations(table, rows)
        elif table in SEEDS:
            self._seed(table, rows)
        else:
            self._ways.get(table, self._deliveries)(table, rows)

    def _execute(self, sql: str) -> None:
        self._landed.connection.execute(sql)

    def _run_costs(self, table: str, rows: Rows) -> None:
        self._cell_costs(table, f"(select * from published.marts.fct_run_cell_costs semi join {rows} using ({RUN_COSTS}))")

    def _cell_costs(self, table: str, rows: Rows) -> None:
        columns = {name for name, *_ in self._landed.connection.execute(f"describe select * from {rows} limit 0").fetchall()}
        run = RUN_SIDE if "training_run_id" in columns else RESIDUAL_SIDE
        self._execute(
            f"create or replace temp table cost_cells as select distinct source_name, usage_month, {CELL} as cell,"
            " billing_currency,"
            f" cost_component, {run} from {rows}"
        )
        self._execute(
            "create or replace temp table groups as select attributions.* from attributions semi join cost_cells on"
            " attributions.source_name = cost_cells.source_name and attributions.usage_month = cost_cells.usage_month"
            " and substr(attributions.charge_group_id, 1, 12) = cost_cells.cell"
            " and attributions.billing_currency = cost_cells.billing_currency"
            " and attributions.cost_component = cost_cells.cost_component"
            " and coalesce(attributions.training_run_id, '') = coalesce(cost_cells.training_run_id, '')"
            " and coalesce(attributions.attribution_rule, '') = coalesce(cost_cells.attribution_rule, '')"
            " and coalesce(attributions.reason, '') = coalesce(cost_cells.reason, '')"
        )
        self._landed.add_bill_rows(table)

    def _run_emissions(self, table: str, rows: Rows) -> None:
        keys = "training_run_id, usage_month, provider_name"
        self._cell_emissions(
            table,
            f"(select cells.* from published.marts.fct_run_cell_emissions as cells semi join {rows} as runs using ({keys}))",
        )

    def _cell_emissions(self, table: str, rows: Rows) -> None:
        self._execute(
            f"create or replace temp table cells as select distinct {facts.CELL} from {rows} where source_name is not null"
        )
        facts.add_carbon_rows(self._landed, table)

    def _energy(self, table: str, rows: Rows) -> None:
        self._execute(f"create or replace temp table run_months as select distinct training_run_id, usage_month from {rows}")
        self._execute("create or replace temp table runs as select distinct training_run_id from run_months")
        facts.add_records(self._landed, table)
        facts.add_samples(self._landed, table)
        found = self._landed.connection.execute(
            "select distinct accelerator_type, provider_name from published.marts.dim_training_runs semi join runs"
            " using (training_run_id)"
        ).fetchall()
        types, providers = {one for one, _ in found}, {one for _, one in found}
        sources = self._landed.connection.execute(
            f"select distinct pue_source from {rows} where pue_source is not null"
        ).fetchall()
        for seed in ("accelerator_power", "host_power"):
            facts.add_seed_rows(self._landed, table, seed, lambda row: row["accelerator_type"] in types)
        facts.add_seed_rows(self._landed, table, "it_overhead", lambda row: row["provider_name"] in providers)
        facts.add_seed_rows(
            self._landed,
            table,
            "pue",
            lambda row: any(one.startswith(f"{row['source']}, {row['data_year']}, {row['region_id']}") for (one,) in sources),
        )

        calibrated = f"""(select distinct watts.* from {rows} as energy
            inner join published.marts.dim_training_runs as runs using (training_run_id)
            inner join published.marts.fct_power_calibration as watts
                on runs.accelerator_type = watts.accelerator_type and coalesce(runs.sdk_version, '') = watts.sdk_version
                and energy.usage_month = watts.valid_from_month
            where energy.power_confidence = 'calibrated')"""
        if self._landed.connection.execute(f"select 1 from {calibrated} limit 1").fetchone():
            self._calibration(table, calibrated)

    def _calibration(self, table: str, rows: Rows) -> None:
        """The readings that windows are made of, of the month and the twelve before it, and what meters do not see."""
        self._execute(
            "create or replace temp table run_months as select distinct matches.training_run_id, matches.usage_month"
            " from published.marts.fct_telemetry_matches as matches"
            " inner join published.ops.dim_deliveries as deliveries using (source_name)"
            f" semi join {rows} as watts on deliveries.kind = watts.source_kind and matches.usage_month <= watts.valid_from_month"
            " and matches.usage_month >= watts.valid_from_month - interval 12 month"
        )
        facts.add_samples(self._landed, table)
        facts.add_seed_rows(self._landed, table, "unmetered_rails", lambda row: True)

    def _modelled(self, table: str, rows: Rows) -> None:
        self._seed("dim_emission_factors", f"(select factor_id from {rows} where factor_id is not null)")
        self._energy(
            table,
            f"(select energy.* from published.marts.fct_training_run_energy as energy semi join {rows} using"
            " (training_run_id, usage_month))",
        )

    def _reconciliation(self, table: str, rows: Rows) -> None:
        costs = f"(select * from {rows} where measure like '%_cost' and method = 'conservation')"
        for mart in ("fct_run_cell_costs", "fct_residual_costs"):
            self._cell_costs(
                table,
                f"(select cells.* from published.marts.{mart} as cells semi join {costs} as costs on"
                " cells.billing_currency = costs.unit_or_currency"
                f" and {' and '.join(f'cells.{name} = costs.{name}' for name in CELL_COLUMNS.split(', '))})",
            )
        self._cell_emissions(table, f"(select * from {rows} where measure like '%kgco2e' and provider_model_version <> '')")
        self._deliveries(table, f"(select * from {rows} where method <> 'conservation')")

    def _lost_work(self, table: str, rows: Rows) -> None:
        months = f"{rows} as lost using (training_run_id, usage_month))"
        costs = f"{rows} as lost using (training_run_id, usage_month, billing_currency))"
        self._run_costs(table, f"(select * from published.marts.fct_training_run_costs semi join {costs}")
        idle = f"(select * from {rows} where cause = 'idle')"
        self._cell_costs(
            table,
            "(select cells.* from published.marts.fct_residual_costs as cells"
            f" semi join {idle} as idle using (usage_month, billing_currency) where cells.reason = 'idle')",
        )
        self._energy(table, f"(select * from published.marts.fct_training_run_energy semi join {months}")

    def _matches(self, table: str, rows: Rows) -> None:
        self._execute(f"create or replace temp table run_months as select distinct training_run_id, usage_month from {rows}")
        facts.add_samples(self._landed, table)

    def _records(self, table: str, rows: Rows) -> None:
        self._execute(f"create or replace temp table runs as select distinct training_run_id from {rows}")
        facts.add_records(self._landed, table)
        origins.add(  # known from a tag of a bill alone
            self._landed.connection,
            "select 'delivery' as kind, ? as of_table, source_name, 'no record names it; the bill does' as object, 0"
            " as row_count,"
            " usage_month, training_run_id from published.marts.fct_run_cell_costs semi join runs using (training_run_id)"
            " anti join (from origins where kind = 'record') as recorded using (training_run_id) group by all",
            [table],
        )

    def _quarantine(self, table: str, rows: Rows) -> None:
        origins.add(
            self._landed.connection,
            "select 'record' as kind, ? as of_table, source_name, source_object as object, row_number as first_row,"
            " row_number as last_row,"
            f" 1 as row_count, reason, concat_ws(' ', 'quarantined:', column_name, value, remedy) as detail from {rows}",
            [table],
        )

    def _seed(self, table: str, rows: Rows) -> None:
        seed, names = SEEDS[table]
        found = self._landed.connection.execute(f"select distinct {', '.join(names)} from {rows}").fetchall()
        wanted = {tuple(map(str, values)) for values in found}
        facts.add_seed_rows(self._landed, table, seed, lambda row: tuple(row[name] for name in names) in wanted)

    def _operations(self, table: str, rows: Rows) -> None:
        if table == "dim_deliveries":
            what = "source_name, partition as object, content_hash as delivery_content_hash, rows as row_count"
            origins.add(
                self._landed.connection,
                f"select 'delivery' as kind, ? as of_table, {what}, 'published ' || published_at as detail from {rows}",
                [table],
            )
        else:
            what = "'build' as kind, ? as of_table, 'ops' as source_name, ? as object, count(*) as row_count"
            origins.add(self._landed.connection, f"select {what} from {rows}", [table, f"ops.{table}"])

    def _deliveries(self, table: str, rows: Rows) -> None:
        """The deliveries of the rows' sources and months; of rows that name no source, the bills of their months."""
        columns = {name for name, *_ in self._landed.connection.execute(f"describe select * from {rows} limit 0").fetchall()}
        on = ["deliveries.source_name = of_rows.source_name"] if "source_name" in columns else []
        if "provider_name" in columns:
            on.append("(deliveries.provider_name = of_rows.provider_name or deliveries.provider_name is null)")
        if "usage_month" in columns:
            on.append(
                "(left(deliveries.partition, 7) = strftime(of_rows.usage_month, '%Y-%m') or not"
                " regexp_matches(deliveries.partition, '^[0-9]{4}-'))"
            )
        origins.add(
            self._landed.connection,
            "select 'delivery' as kind, ? as of_table, deliveries.source_name, deliveries.partition as object,"
            " deliveries.content_hash as delivery_content_hash, deliveries.rows as row_count,"
            " 'published ' || deliveries.published_at as detail from published.ops.dim_deliveries as deliveries"
            f" semi join {rows} as of_rows on {' and '.join(on) or 'true'} where deliveries.is_elected",
            [table],
        )
