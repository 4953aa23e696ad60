"""What is behind emissions, energy and runs: carbon rows, run records, telemetry samples, and rows of seeds.

Every function reads one temporary table that the caller has made, and adds to the table of origins.
"""

from __future__ import annotations

from dagster_project.base.dbt_project import project_folder
from dagster_project.base.kinds import KINDS, Kind, built_kinds
from dagster_project.evidence.tracing import origins
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.publishing.digest import literal

CELL = "source_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, provider_model_version"
MASS = "provider_total_location_based_kgco2e"
ALIASES = "stg_training_runs__aliases"
STAGED = {"AWS": "stg_aws_carbon__emissions", "Google Cloud": "stg_gcp_carbon__emissions"}
# as the models write a host, a run key and a run's id
HOST = "coalesce(here.host_id, '')"
RUN_KEY = "coalesce(substr(regexp_replace(lower(here.run_key), '[^a-z0-9_-]', '-', 'g'), 1, 63), '')"
RECORD_RUN = "substr(regexp_replace(lower(recorded_id), '[^a-z0-9_-]', '-', 'g'), 1, 63)"


def add_carbon_rows(landed: Landed, of_table: str) -> None:
    """The provider's rows of the carbon cells in the temporary table `cells`; their sum is what the reconciliation states."""
    connection = landed.connection
    for source, month in connection.execute("select distinct source_name, usage_month from cells order by all").fetchall():
        deliveries = landed.elected(source, month)
        if not deliveries:
            continue
        kind = Kind(deliveries[0].kind)
        model = STAGED[KINDS[kind].provider_name or ""]
        landed.show(kind, deliveries, model)
        # a row without a project number has the one that the bill knows its project by: it is taken where the sum needs it
        account, is_known = "staged.sub_account_id", "true"
        if KINDS[kind].provider_name == "Google Cloud":
            account, is_known = "coalesce(project_number, '')", "project_number is not null or project_id is null"
        connection.execute(f"""create or replace temp table carbon as
            select staged.source_name, staged.source_object as object, files.content_hash as delivery_content_hash,
                staged.row_number, staged.{MASS}, wanted.* exclude (source_name)
            from staging.{model} as staged
            inner join (select source_name, source_object, content_hash from raw.landed_files) as files
                using (source_name, source_object)
            inner join (select distinct {CELL} from cells) as wanted
                using (source_name, payer_account_id, service_code, region_id, usage_month, provider_model_version)
            where usage_month = date '{month}' and ({account} = wanted.sub_account_id or not ({is_known}))""")
        # rows of a cell add up to the provider total of its reconciliation, or are unknown on both sides
        landed.require(
            f"""with found as (select {CELL}, sum({MASS}) as found from carbon group by all),
            stated as (
                select {CELL}, provider_total from published.marts.fct_reconciliation
                where method = 'conservation' and measure = '{MASS}'
            )
            select service_code || ' ' || region_id, provider_total, found from (select distinct {CELL} from cells)
            left join stated using ({CELL}) left join found using ({CELL})
            where source_name = {literal(source)} and usage_month = date '{month}' and provider_total is distinct from found
            limit 1""",
            "the carbon rows of {0} add up to {2} kgCO2e, the reconciliation states {1}",
        )
        origins.add(
            connection,
            "carbon",
            of_table,
            f"""select source_name, object, row_number as first_row, delivery_content_hash, usage_month,
                cast({MASS} as decimal(38, 12)) as amount, 'kgCO2e' as unit,
                'location-based total of the row, of ' || concat_ws(' / ', sub_account_id, service_code, region_id)
                || ', model version ' || provider_model_version
                || '; divided among runs and residuals by the weights of the bill (list cost by default)' as detail
            from carbon""",
        )


def add_records(landed: Landed, of_table: str) -> None:
    """Rows of run records that name a run of the temporary table `runs`, by its id or by an alias."""
    connection = landed.connection
    kinds = [str(kind) for kind in built_kinds() if KINDS[kind].fact == "runs"]
    sources = connection.execute(
        "select distinct source_name, kind from published.ops.dim_deliveries where is_elected and kind in (select unnest(?))"
        " order by all",
        [kinds],
    ).fetchall()
    for source, kind in sources:
        landed.show(Kind(kind), landed.elected(source), ALIASES)
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
        origins.add(
            connection,
            "record",
            of_table,
            f"""select _source_name as source_name, _source_object as object, _row_number as first_row,
                _delivery_content_hash as delivery_content_hash, training_run_id,
                part || ' ' || concat_ws(' ', attempt_id, state, resource_id, accelerator_type, alias_id, started_at, ended_at)
                    as detail
            from raw.{kind} inner join wanted using (record_system, recorded_id)""",
        )


def add_samples(landed: Landed, of_table: str) -> None:
    """Telemetry of the runs and months in the temporary table `run_months`, by object."""
    connection = landed.connection
    connection.execute("""create or replace temp table matches as
        select distinct source_name, usage_month, host, run_key, training_run_id
        from published.marts.fct_telemetry_matches semi join run_months using (training_run_id, usage_month)""")
    for source, month in connection.execute("select distinct source_name, usage_month from matches order by all").fetchall():
        deliveries = landed.elected(source, month)
        if not deliveries:
            continue
        landed.show(Kind(deliveries[0].kind), deliveries)
        of_month = f"(from matches where source_name = {literal(source)} and usage_month = date '{month}')"
        connection.execute(f"""create or replace temp table samples as
            select matches.training_run_id, matches.host, matches.run_key, here._source_name as source_name,
                here._source_object as object, here._delivery_content_hash as delivery_content_hash,
                min(here._row_number) as first_row, max(here._row_number) as last_row, count(*) as row_count
            from raw.{deliveries[0].kind} as here
            inner join {of_month} as matches on {HOST} = matches.host and {RUN_KEY} = matches.run_key
            where here.sample_end > timestamp '{month}' and here.sample_end <= timestamp '{month}' + interval 1 month
            group by all""")
        # a host and run key have as many samples in the landed rows as fct_telemetry_matches counts of them
        landed.require(
            f"""with stated as (
                select host, run_key, sum(sample_count) as stated from published.marts.fct_telemetry_matches
                semi join {of_month} using (source_name, usage_month, host, run_key) group by all
            ),
            found as (select host, run_key, training_run_id, sum(row_count) as found from samples group by all)
            select host, run_key, stated, found from stated left join found using (host, run_key)
            where stated is distinct from found limit 1""",
            "host {0!r} with run key {1!r} was published with {2} samples, its deliveries have {3}",
        )
        origins.add(
            connection,
            "sample",
            of_table,
            f"""select * exclude (host, run_key), date '{month}' as usage_month,
                'host ' || host || case when run_key <> '' then ', run key ' || run_key else '' end as detail
            from samples""",
        )


def add_seed_rows(landed: Landed, of_table: str, seed: str, condition: str = "true") -> None:
    """Rows of a seed (in the condition `seed`, all text), numbered from 1 after its header, with what they state of a source."""
    file = literal(str(project_folder() / "seeds" / f"{seed}.csv"))
    text = f"read_csv({file}, all_varchar = true, header = true, delim = ',', quote = '\"')"
    names = [name for name, *_ in landed.connection.execute(f"describe from {text}").fetchall()]
    sources = [f"'{name} ' || {name}" for name in ("source", "source_date", "confidence", "licence") if name in names]
    origins.add(
        landed.connection,
        "seed",
        of_table,
        f"""select 'seeds' as source_name, 'dbt/seeds/{seed}.csv' as object, number as first_row,
            concat_ws(', ', {", ".join(names[:4])}) || '; ' || concat_ws('; ', {", ".join(sources) or "null"}) as detail
        from (select row_number() over () as number, * from {text}) as seed
        where {condition}""",
    )
