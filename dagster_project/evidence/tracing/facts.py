"""What is behind rows of single tables: rows of bills and carbon, run records, telemetry samples, rows of seeds, deliveries.

Every function is given a query of the rows, and adds what is behind them, under the name `of_table`, to the table of origins.
"""

from __future__ import annotations

from dagster_project.base.dbt_project import project_folder
from dagster_project.base.kinds import KINDS, built_kinds
from dagster_project.base.sql import literal
from dagster_project.evidence.tracing.landed import Landed, facts_of
from dagster_project.evidence.tracing.published import (
    Rows,
    add_deliveries,
    add_inputs,
    add_quarantined,
    add_settings,
    columns_of,
    seeds_of_energy,
    take_groups,
)

CELL = "source_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, provider_model_version"
MASS = "provider_total_location_based_kgco2e"
ALIASES = "stg_training_runs__aliases"
STAGED = {"AWS": "stg_aws_carbon__emissions", "Google Cloud": "stg_gcp_carbon__emissions"}
# as the models write a host, a run key and a run's id
HOST = "coalesce(here.host_id, '')"
RUN_KEY = "coalesce(substr(regexp_replace(lower(here.run_key), '[^a-z0-9_-]', '-', 'g'), 1, 63), '')"
RECORD_RUN = "substr(regexp_replace(lower(recorded_id), '[^a-z0-9_-]', '-', 'g'), 1, 63)"


def add_cell_costs(landed: Landed, of_table: str, rows: Rows) -> None:
    """The bill rows of the groups that were attributed to these cells of a run, or of a residual with a reason."""
    take_groups(landed, rows)
    landed.add_bill_rows(of_table)


def add_carbon_rows(landed: Landed, of_table: str, rows: Rows) -> None:
    """The provider's rows of these cells of carbon; their sum is what the reconciliation states."""
    connection = landed.connection
    connection.execute(f"create or replace temp table cells as select distinct {CELL} from {rows} where source_name is not null")
    for source, month, deliveries in landed.elected_by_month("cells"):
        provider = facts_of(deliveries[0]).provider_name or ""
        landed.show(deliveries, STAGED[provider])
        # a row without a project number has the one that the bill knows its project by: it is taken where the sum needs it
        account, is_known = "staged.sub_account_id", "true"
        if provider == "Google Cloud":
            account, is_known = "coalesce(project_number, '')", "project_number is not null or project_id is null"
        connection.execute(f"""create or replace temp table carbon as
            select staged.source_name, staged.source_object as object, files.content_hash as delivery_content_hash,
                staged.row_number, staged.{MASS}, wanted.* exclude (source_name)
            from staging.{STAGED[provider]} as staged
            inner join (select source_name, source_object, content_hash from raw.landed_files) as files
                using (source_name, source_object)
            inner join cells as wanted
                using (source_name, payer_account_id, service_code, region_id, usage_month, provider_model_version)
            where usage_month = date '{month}' and ({account} = wanted.sub_account_id or not ({is_known}))""")
        # rows of a cell add up to the provider total of its reconciliation, or are unknown on both sides
        differing = f"""with found as (select {CELL}, sum({MASS}) as found from carbon group by all),
            stated as (
                select {CELL}, provider_total from published.marts.fct_reconciliation
                where method = 'conservation' and measure = '{MASS}'
            )
            select service_code || ' ' || region_id, provider_total, found from cells
            left join stated using ({CELL}) left join found using ({CELL})
            where source_name = {literal(source)} and usage_month = date '{month}' and provider_total is distinct from found
            limit 1"""
        landed.require(differing, "the carbon rows of {0} add up to {2} kgCO2e, the reconciliation states {1}")
        found = f"""select source_name, object, row_number as first_row, delivery_content_hash, usage_month,
                cast({MASS} as decimal(38, 12)) as amount, 'kgCO2e' as unit,
                'location-based total of the row, of ' || concat_ws(' / ', sub_account_id, service_code, region_id)
                || ', model version ' || provider_model_version
                || '; divided among runs and residuals by the weights of the bill (list cost by default)' as detail
            from carbon"""
        landed.add("carbon", of_table, found)


def add_records(landed: Landed, of_table: str, rows: Rows) -> None:
    """Rows of run records that name one of the runs, which are in table `runs` then, by its id or by an alias."""
    connection = landed.connection
    connection.execute(f"create or replace temp table runs as select distinct training_run_id from {rows}")
    kinds = [str(kind) for kind in built_kinds() if KINDS[kind].fact == "runs"]
    sql = "select distinct source_name from published.ops.dim_deliveries where is_elected and list_contains(?, kind) order by all"
    for (source,) in connection.execute(sql, [kinds]).fetchall():
        kind = landed.show(landed.elected(source), ALIASES)
        connection.execute(f"""create or replace temp table named as
            select distinct record_system, recorded_id, record_run_id, alias_id
            from (select distinct record_system, recorded_id, {RECORD_RUN} as record_run_id from raw.{kind})
            left join staging.{ALIASES} using (record_system, recorded_id, record_run_id)""")
        connection.execute("""create or replace temp table wanted as
            with own as (select runs.training_run_id, named.* from named
                inner join runs on named.record_run_id = runs.training_run_id)
            select training_run_id, record_system, recorded_id from own
            union
            select own.training_run_id, other.record_system, other.recorded_id from own
            inner join named as other
                on other.recorded_id = own.alias_id or other.alias_id = own.alias_id or other.alias_id = own.recorded_id""")
        found = f"""select _source_name as source_name, _source_object as object, _row_number as first_row,
                _delivery_content_hash as delivery_content_hash, training_run_id,
                part || ' ' || concat_ws(' ', attempt_id, state, resource_id, accelerator_type, alias_id, started_at, ended_at)
                    as detail
            from raw.{kind} inner join wanted using (record_system, recorded_id)"""
        landed.add("record", of_table, found)


def add_runs(landed: Landed, of_table: str, rows: Rows) -> None:
    """The records of runs; of runs known from a tag of a bill alone, that there is none."""
    add_records(landed, of_table, rows)
    unrecorded = """select source_name, 'no record names it; the bill does' as object, 0 as row_count, usage_month,
            training_run_id
        from published.marts.fct_run_cell_costs semi join runs using (training_run_id)
        anti join (from origins where kind = 'record') as recorded using (training_run_id) group by all"""
    landed.add("delivery", of_table, unrecorded)


def add_samples(landed: Landed, of_table: str, rows: Rows) -> None:
    """Telemetry of these runs and months, by object."""
    connection = landed.connection
    connection.execute(f"""create or replace temp table matches as
        select distinct source_name, usage_month, host, run_key, training_run_id
        from published.marts.fct_telemetry_matches semi join {rows} using (training_run_id, usage_month)""")
    for source, month, deliveries in landed.elected_by_month("matches"):
        kind = landed.show(deliveries)
        of_month = f"(from matches where source_name = {literal(source)} and usage_month = date '{month}')"
        connection.execute(f"""create or replace temp table samples as
            select matches.training_run_id, matches.host, matches.run_key, here._source_name as source_name,
                here._source_object as object, here._delivery_content_hash as delivery_content_hash,
                min(here._row_number) as first_row, max(here._row_number) as last_row, count(*) as row_count
            from raw.{kind} as here
            inner join {of_month} as matches on {HOST} = matches.host and {RUN_KEY} = matches.run_key
            where here.sample_end > timestamp '{month}' and here.sample_end <= timestamp '{month}' + interval 1 month
            group by all""")
        # a host and run key have as many samples in the landed rows as fct_telemetry_matches counts of them
        differing = f"""with stated as (
                select host, run_key, sum(sample_count) as stated from published.marts.fct_telemetry_matches
                semi join {of_month} using (source_name, usage_month, host, run_key) group by all
            ),
            found as (select host, run_key, training_run_id, sum(row_count) as found from samples group by all)
            select host, run_key, stated, found from stated left join found using (host, run_key)
            where stated is distinct from found limit 1"""
        landed.require(differing, "host {0!r} with run key {1!r} was published with {2} samples, its deliveries have {3}")
        found = f"""select * exclude (host, run_key), date '{month}' as usage_month,
                'host ' || host || case when run_key <> '' then ', run key ' || run_key else '' end as detail
            from samples"""
        landed.add("sample", of_table, found)


def add_energy(landed: Landed, of_table: str, rows: Rows) -> None:
    """The records and samples of these runs and months, and the seeds of power and PUE that their energy is worked out with."""
    add_records(landed, of_table, rows)
    add_samples(landed, of_table, rows)
    for seed, condition in seeds_of_energy(rows).items():
        add_seed_rows(landed, of_table, seed, condition)


def add_readings(landed: Landed, of_table: str, rows: Rows) -> None:
    """The readings that windows are made of, of the month and the twelve before it, and what meters do not see."""
    measured = f"""(select matches.training_run_id, matches.usage_month
        from published.marts.fct_telemetry_matches as matches
        inner join published.ops.dim_deliveries as deliveries using (source_name)
        semi join {rows} as watts
            on deliveries.kind = watts.source_kind and matches.usage_month <= watts.valid_from_month
            and matches.usage_month >= watts.valid_from_month - interval 12 month)"""
    add_samples(landed, of_table, measured)
    add_seed_rows(landed, of_table, "unmetered_rails")


def add_reconciled(landed: Landed, of_table: str, rows: Rows) -> None:
    """Masses by their cells, other methods by deliveries; costs are made of cells of runs and residuals."""
    add_carbon_rows(landed, of_table, f"(from {rows} where measure like '%kgco2e' and provider_model_version <> '')")
    add_deliveries(landed, of_table, f"(from {rows} where method <> 'conservation')")


def add_seed_rows(landed: Landed, of_table: str, seed: str, condition: str = "true") -> None:
    """Rows of a seed (in the condition `seed`, all text), numbered from 1 after its header, with what they state of a source."""
    file = literal(str(project_folder() / "seeds" / f"{seed}.csv"))
    text = f"read_csv({file}, all_varchar = true, header = true, delim = ',', quote = '\"')"
    names = columns_of(landed, text)
    sources = [f"'{name} ' || {name}" for name in ("source", "source_date", "confidence", "licence") if name in names]
    rows = f"""select 'seeds' as source_name, 'dbt/seeds/{seed}.csv' as object, number as first_row,
            concat_ws(', ', {", ".join(names[:4])}) || '; ' || concat_ws('; ', {", ".join(sources) or "null"}) as detail
        from (select row_number() over () as number, * from {text}) as seed
        where {condition}"""
    landed.add("seed", of_table, rows)


WAYS = {  # from rows of a table to what is landed
    "fct_run_cell_costs": add_cell_costs,
    "fct_residual_costs": add_cell_costs,
    "fct_run_cell_emissions": add_carbon_rows,
    "fct_residual_emissions": add_carbon_rows,
    "fct_training_run_energy": add_energy,
    "fct_power_calibration": add_readings,
    "fct_reconciliation": add_reconciled,
    "fct_telemetry_matches": add_samples,
    "fct_run_conflicts": add_runs,
    "fct_quarantine": add_quarantined,
    "dim_training_runs": add_runs,
    "dim_own_inventory": add_inputs,
    "dim_disclosure_settings": add_settings,
}
