"""A small published file for the comparison: five runs around the ends of a year, and statements that count those of a window."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tests.reports.report_models import with_pages

ENDED = ("2025-09-30 23:59:59", "2025-10-01 00:00:00", "2026-09-30 23:59:59", "2026-10-01 00:00:00", "2026-10-05 12:00:00")
ASKED = """asked as (
    /* windows */
    select date '1970-01-01' as window_start, date '9999-12-31' as window_end
    /* end of windows */
),
counted as (
    select count(*) as n from marts."dim_training_runs"
    where ended_at >= (select window_start from asked) and ended_at < (select window_end from asked)
)"""
STATEMENTS = {
    "rpt_trainium_vs_tpu": f"""with {ASKED}
select asked.window_start, asked.window_end, 'w' as workload_key, 'cost_per_run_to_target' as kpi, 'chip' as factor_view,
    counted.n as pair_count, 0.8e0 as geometric_mean_ratio, 0.7e0 as ratio_low, 0.9e0 as ratio_high, 'tpu' as verdict,
    'because' as reason, 2e0 as trainium_median, 1.6e0 as tpu_median, cast(null as double) as ratio_corner_low,
    cast(null as double) as ratio_corner_high, cast(0 as bigint) as pairs_needed
from asked cross join counted""",
    "rpt_vendor_claims": f"""with {ASKED}
select 'C1' as claim_id, 'cheaper' as claim, 'us' as stated_by, 'here' as source, 2e0 as claimed_value,
    cast(n as double) as measured_value, cast(null as double) as measured_low, cast(null as double) as measured_high,
    'undecided' as verdict, 'counted' as reason
from counted""",
    "rpt_purchase_options": f"""with {ASKED}
select 'w' as workload_key, 't' as accelerator_type, 'r' as region_id, 'spot' as purchase_option, 'USD' as billing_currency,
    cast(n as double) as cost_per_run, 'a list' as price_source, date '2026-01-01' as price_date
from counted""",
    "rpt_region_what_if": """select claims.claim_id as workload_key, 't' as accelerator_type, 'AWS' as provider_name,
    'r' as region_id, true as is_where_it_ran, cast(1 as bigint) as run_count, cast(1 as decimal(38, 9)) as it_energy_kwh,
    cast(1 as decimal(38, 9)) as it_energy_kwh_low, cast(1 as decimal(38, 9)) as it_energy_kwh_high, 1.1e0 as pue_ratio,
    cast(2025 as bigint) as pue_year, false as is_pue_of_fleet, 'f' as factor_id,
    cast(claims.measured_value as decimal(38, 9)) as what_if_location_based_kgco2e,
    cast(1 as decimal(38, 9)) as what_if_location_based_kgco2e_low,
    cast(9 as decimal(38, 9)) as what_if_location_based_kgco2e_high,
    cast(null as varchar) as not_available_reason
from marts."rpt_vendor_claims" as claims""",
}


def write_compared(path: Path) -> Path:
    """Write it; a run that goes on has no end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema marts; create schema ops")
        connection.execute(
            "create table marts.dim_training_runs (training_run_id varchar, ended_at timestamp, workload_key varchar)"
        )
        connection.executemany("insert into marts.dim_training_runs values ('r', ?, 'w')", [(ended,) for ended in (*ENDED, None)])
        connection.execute(
            "create table marts.fct_training_run_costs as"
            " select 'r' as training_run_id, date '2026-10-01' as usage_month, 'USD' as billing_currency"
        )
        connection.execute(
            "create table marts.dim_vendor_claims as"
            " select 'C1' as claim_id, 3e0 as claimed_value_high, 'ratio' as unit, 'runs' as tested_by"
        )
        connection.execute(
            "create table marts.dim_article_figures as select 'f' as figure_id, 'x' as item, 1e0 as stated_value, 'USD' as unit,"
            " 2e0 as recomputed_value, '1 + 1' as recomputed_as, false as is_right, 'n' as note, 's' as source"
        )
        connection.execute(
            "create table ops.builds as select 'b' as build_id, timestamp '2026-10-10 06:00:00' as started_at,"
            " timestamp '2026-10-10 06:05:00' as finished_at,"
            " 'c' as code_version, 'f' as fingerprint"
        )
        connection.execute("create table ops.report_statements (model varchar, statement varchar)")
        connection.executemany("insert into ops.report_statements values (?, ?)", list(STATEMENTS.items()))
        for model, statement in STATEMENTS.items():
            connection.execute(f"create table marts.{model} as {statement}")
        with_pages(connection)
    return path
