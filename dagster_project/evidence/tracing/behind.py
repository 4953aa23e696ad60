"""Behind rows of published tables: which landed rows and seed rows they were made of, table by table.

A table that has no way of its own here is followed to the deliveries of its source and month. A report table is followed to the
tables that its statement reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dagster_project.evidence.tracing import facts, origins
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.publishing.month_files import CELL, CELL_COLUMNS
from reports.quarter import Quarter
from reports.tracing.proof import Prover, RowSet, narrowest

Rows = str  # a query that gives the rows, over `published.marts`
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
    "dim_pue": ("pue", ("provider_name", "region_id", "data_year")),
    "dim_vendor_claims": ("vendor_claims", ("claim_id",)),
    "dim_article_figures": ("article_figures", ("figure_id",)),
    "dim_t_quantiles": ("t_quantiles", ("degrees_of_freedom",)),
    "dim_datapoints": ("dim_datapoints", ("framework", "datapoint_id")),
    "dim_accelerator_sources": ("accelerator_sources", ("accelerator_source_id",)),
}
DELIVERY = """source_name, partition as object, content_hash as delivery_content_hash, rows as row_count,
    'published ' || published_at as detail"""
OF_CELLS = ("training_run_id", "attribution_rule", "reason")  # whose part of a cell a group of the bill is


class Behind:
    """The way down from rows of published tables."""

    def __init__(self, landed: Landed, prover: Prover, statements: dict[str, str]) -> None:
        self._landed, self._prover, self._statements = landed, prover, statements
        self._execute = landed.connection.execute
        self.quarter: Quarter | None = None  # of the figure that is asked about
        self._ways: dict[str, Callable[[str, Rows], None]] = {
            "fct_run_cell_costs": self._cell_costs,
            "fct_residual_costs": self._cell_costs,
            "fct_run_cell_emissions": self._cell_emissions,
            "fct_residual_emissions": self._cell_emissions,
            "fct_training_run_energy": self._energy,
            "fct_power_calibration": self._calibration,
            "fct_reconciliation": self._reconciliation,
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
                rows = f"(select * from published.{one.table} where {one.condition})"
                if table in self._statements:
                    self.follow(narrowest(self._prover, self._statements[table], rows, self.quarter))
                elif schema == "ops":
                    self._operations(table, rows)
                else:
                    self._follow(table, table, rows)

    def _follow(self, of_table: str, table: str, rows: Rows) -> None:
        """Rows of a table, reported as behind `of_table`: what is behind them and behind the rows they are made of."""
        if not self._execute(f"select 1 from {rows} limit 1").fetchone():
            return
        if table in SEEDS:
            seed, names = SEEDS[table]
            key = ", ".join(f"cast({name} as varchar)" for name in names)
            facts.add_seed_rows(self._landed, table, seed, f"({', '.join(names)}) in (select ({key}) from {rows})")
        elif table in self._ways:
            self._ways[table](of_table, rows)
        elif table not in MADE_OF:
            self._deliveries(of_table, rows)
        for other, found in MADE_OF.get(table, {}).items():
            self._follow(of_table, other, f"(from published.marts.{other} {found.format(rows=rows)})")

    def _columns(self, rows: Rows) -> set[str]:
        return {name for name, *_ in self._execute(f"describe select * from {rows}").fetchall()}

    def _cell_costs(self, of_table: str, rows: Rows) -> None:
        """The groups of the bill that were attributed to these cells of a run, or of a residual with a reason."""
        own = ("training_run_id", "attribution_rule") if "training_run_id" in self._columns(rows) else ("reason",)
        self._execute(f"""create or replace temp table groups as
            select attributions.* from attributions
            semi join (select *, {CELL} as cell from {rows}) as cells
                on attributions.source_name = cells.source_name and attributions.usage_month = cells.usage_month
                and substr(attributions.charge_group_id, 1, 12) = cells.cell
                and attributions.billing_currency = cells.billing_currency
                and attributions.cost_component = cells.cost_component
                and {" and ".join(f"coalesce(attributions.{name}, '') = coalesce(cells.{name}, '')" for name in own)}
            where {" and ".join(f"coalesce({name}, '') = ''" for name in OF_CELLS if name not in own)}""")
        self._landed.add_bill_rows(of_table)

    def _cell_emissions(self, of_table: str, rows: Rows) -> None:
        self._execute(
            f"create or replace temp table cells as select distinct {facts.CELL} from {rows} where source_name is not null"
        )
        facts.add_carbon_rows(self._landed, of_table)

    def _energy(self, of_table: str, rows: Rows) -> None:
        self._records(of_table, rows, without_record=False)
        self._matches(of_table, rows)
        used = "in (select {0} from published.marts.dim_training_runs semi join runs using (training_run_id))"
        for seed, name in (
            ("accelerator_power", "accelerator_type"),
            ("host_power", "accelerator_type"),
            ("it_overhead", "provider_name"),
        ):
            facts.add_seed_rows(self._landed, of_table, seed, f"{name} {used.format(name)}")
        is_named = "starts_with(energy.pue_source, concat(seed.source, ', ', seed.data_year, ', ', seed.region_id))"
        facts.add_seed_rows(self._landed, of_table, "pue", f"exists (select 1 from {rows} as energy where {is_named})")

    def _calibration(self, of_table: str, rows: Rows) -> None:
        """The readings that windows are made of, of the month and the twelve before it, and what meters do not see."""
        measured = f"""(select matches.training_run_id, matches.usage_month
            from published.marts.fct_telemetry_matches as matches
            inner join published.ops.dim_deliveries as deliveries using (source_name)
            semi join {rows} as watts
                on deliveries.kind = watts.source_kind and matches.usage_month <= watts.valid_from_month
                and matches.usage_month >= watts.valid_from_month - interval 12 month)"""
        self._matches(of_table, measured)
        facts.add_seed_rows(self._landed, of_table, "unmetered_rails")

    def _reconciliation(self, of_table: str, rows: Rows) -> None:
        """Masses by their cells, other methods by deliveries; costs are made of cells of runs and residuals."""
        self._cell_emissions(of_table, f"(from {rows} where measure like '%kgco2e' and provider_model_version <> '')")
        self._deliveries(of_table, f"(from {rows} where method <> 'conservation')")

    def _matches(self, of_table: str, rows: Rows) -> None:
        self._execute(f"create or replace temp table run_months as select distinct training_run_id, usage_month from {rows}")
        facts.add_samples(self._landed, of_table)

    def _records(self, of_table: str, rows: Rows, without_record: bool = True) -> None:
        """The records of runs; of runs known from a tag of a bill alone, that there is none."""
        self._execute(f"create or replace temp table runs as select distinct training_run_id from {rows}")
        facts.add_records(self._landed, of_table)
        if without_record:
            origins.add(
                self._landed.connection,
                "delivery",
                of_table,
                """select source_name, 'no record names it; the bill does' as object, 0 as row_count, usage_month, training_run_id
                from published.marts.fct_run_cell_costs semi join runs using (training_run_id)
                anti join (from origins where kind = 'record') as recorded using (training_run_id) group by all""",
            )

    def _quarantine(self, of_table: str, rows: Rows) -> None:
        origins.add(
            self._landed.connection,
            "record",
            of_table,
            f"""select source_name, source_object as object, row_number as first_row, 1 as row_count, reason,
                concat_ws(' ', 'quarantined:', column_name, value, remedy) as detail from {rows}""",
        )

    def _operations(self, table: str, rows: Rows) -> None:
        kind, what = "build", f"'ops' as source_name, 'ops.{table}' as object, count(*) as row_count"
        if table == "dim_deliveries":
            kind, what = "delivery", DELIVERY
        origins.add(self._landed.connection, kind, table, f"select {what} from {rows}")

    def _deliveries(self, of_table: str, rows: Rows) -> None:
        """The deliveries of the rows' sources and months; of rows that name no source, the bills of their months."""
        on = {
            "source_name": "deliveries.source_name = of_rows.source_name",
            "provider_name": "(deliveries.provider_name = of_rows.provider_name or deliveries.provider_name is null)",
            "usage_month": "(left(deliveries.partition, 7) = strftime(of_rows.usage_month, '%Y-%m')"
            " or not regexp_matches(deliveries.partition, '^[0-9]{4}-'))",
        }
        columns = self._columns(rows)
        same = " and ".join(condition for name, condition in on.items() if name in columns) or "true"
        origins.add(
            self._landed.connection,
            "delivery",
            of_table,
            f"""select {DELIVERY} from published.ops.dim_deliveries as deliveries semi join {rows} as of_rows on {same}
            where is_elected""",
        )
