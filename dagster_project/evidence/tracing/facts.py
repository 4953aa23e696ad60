"""What is behind emissions, energy and runs: carbon rows, run records, telemetry samples, and rows of seeds.

Every function reads one temporary table that the caller has made, and adds to the table of origins.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping

from dagster_project.base.dbt_project import project_folder
from dagster_project.base.failures import GateError
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
FOUND = (
    "rows.source_object as object, {first} as first_row, {last} as last_row, {count} as row_count,"
    " rows.delivery as delivery_content_hash, objects.sha256 as object_sha256"
)
OBJECTS = (
    " left join objects on objects.source_name = rows.source_name and objects.delivery = rows.delivery"
    " and objects.object = rows.source_object"
)


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
        is_google = KINDS[kind].provider_name == "Google Cloud"
        # a row without a project number has the one that the bill knows its project by: it is taken where the sum needs it
        account = "coalesce(project_number, '')" if is_google else "sub_account_id"
        account_known = "project_number is not null or project_id is null" if is_google else "true"
        connection.execute(
            f"create or replace temp table rows as select *{' exclude (sub_account_id)' if not is_google else ''},"
            f" {account} as sub_account_id, {account_known} as is_account_known from"
            f" (select staged.*, files.content_hash as delivery from staging.{model} as staged"
            " inner join raw.landed_files as files on files.source_name = staged.source_name"
            " and files.source_object = staged.source_object)"
            f" where usage_month = date '{month}'"
        )
        wanted = f"select distinct {CELL} from cells where source_name = {literal(source)} and usage_month = date '{month}'"
        same = " and ".join(
            f"rows.{name} = cells.{name}"
            for name in CELL.split(", ")
            if name not in ("sub_account_id", "source_name", "usage_month")
        )
        connection.execute(
            f"create or replace temp table carbon as select rows.*, cells.sub_account_id as cell_account from rows"
            f" inner join ({wanted}) as cells on {same} and rows.source_name = cells.source_name"
            " and (rows.sub_account_id = cells.sub_account_id or not rows.is_account_known)"
        )
        _require_cells(landed, wanted)
        origins.add(
            connection,
            "select 'carbon' as kind, ? as of_table, rows.source_name,"
            f" {FOUND.format(first='row_number', last='row_number', count='1')},"
            f" rows.usage_month, cast(rows.{MASS} as decimal(38, 12)) as amount, 'kgCO2e' as unit,"
            " 'location-based total of the row, of ' || rows.cell_account || ' / ' || rows.service_code || ' / ' ||"
            " rows.region_id"
            " || ', model version ' || rows.provider_model_version"
            " || '; divided among runs and residuals by the weights of the bill (list cost by default)' as detail"
            f" from carbon as rows{OBJECTS}",
            [of_table],
        )


def _require_cells(landed: Landed, wanted: str) -> None:
    """Rows of a cell add up to the provider total of its reconciliation, or are unknown on both sides."""
    wrong = landed.connection.execute(
        "with found as (select source_name, payer_account_id, cell_account as sub_account_id, service_code,"
        " region_id, usage_month,"
        f" provider_model_version, sum({MASS}) as found from carbon group by all),"
        f" stated as (select {CELL}, provider_total from published.marts.fct_reconciliation"
        f" where method = 'conservation' and measure = '{MASS}')"
        f" select service_code || ' ' || region_id, provider_total, found from ({wanted}) as cells"
        f" left join stated using ({CELL}) left join found using ({CELL}) where provider_total is distinct from found limit 1"
    ).fetchone()
    if wrong:
        what = f"the carbon rows of {wrong[0]} add up to {wrong[2]} kgCO2e, the reconciliation states {wrong[1]}"
        raise GateError(what, remedy="Was it published by other code, or of other deliveries? Refresh, then trace again.")


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
        connection.execute(
            "create or replace temp table named as select distinct record_system, recorded_id, record_run_id, alias_id"
            " from (select distinct record_system, recorded_id, record_run_id from"
            f" (select *, {RECORD_RUN} as record_run_id from raw.{kind}))"
            f" left join staging.{ALIASES} using (record_system, recorded_id, record_run_id)"
        )
        connection.execute(
            "create or replace temp table wanted as with own as (select runs.training_run_id, named.* from named"
            " inner join runs on named.record_run_id = runs.training_run_id)"
            " select distinct training_run_id, record_system, recorded_id from own union"
            " select own.training_run_id, other.record_system, other.recorded_id from own"
            " inner join named as other on other.recorded_id = own.alias_id or other.alias_id = own.alias_id or"
            " other.alias_id = own.recorded_id"
        )
        rows = (
            "(select raw_rows._source_name as source_name, raw_rows._source_object as source_object,"
            " raw_rows._delivery_content_hash as delivery,"
            " raw_rows._row_number as row_number, raw_rows.part, wanted.training_run_id,"
            " concat_ws(' ', raw_rows.attempt_id, raw_rows.state, raw_rows.resource_id, raw_rows.accelerator_type,"
            " raw_rows.alias_id,"
            " raw_rows.started_at, raw_rows.ended_at) as words"
            f" from raw.{kind} as raw_rows inner join wanted using (record_system, recorded_id)) as rows"
        )
        origins.add(
            connection,
            "select 'record' as kind, ? as of_table, rows.source_name,"
            f" {FOUND.format(first='row_number', last='row_number', count='1')},"
            f" rows.training_run_id, rows.part || ' ' || rows.words as detail from {rows}{OBJECTS}",
            [of_table],
        )


def add_samples(landed: Landed, of_table: str) -> None:
    """Telemetry of the runs and months in the temporary table `run_months`, by object."""
    connection = landed.connection
    connection.execute(
        "create or replace temp table matches as select distinct source_name, usage_month, host, run_key, training_run_id"
        " from published.marts.fct_telemetry_matches semi join run_months using (training_run_id, usage_month)"
    )
    for source, month in connection.execute("select distinct source_name, usage_month from matches order by all").fetchall():
        deliveries = landed.elected(source, month)
        if not deliveries:
            continue
        landed.show(Kind(deliveries[0].kind), deliveries)
        connection.execute(
            "create or replace temp table this_month as select ? as source_name, ?::date as usage_month", [source, month]
        )
        connection.execute(
            "create or replace temp table samples as select matches.training_run_id, matches.host, matches.run_key,"
            " here._source_name as source_name, here._source_object as source_object, here._delivery_content_hash as delivery,"
            " min(here._row_number) as first_row, max(here._row_number) as last_row, count(*) as samples"
            f" from raw.{deliveries[0].kind} as here inner join matches on"
            f" {HOST} = matches.host and {RUN_KEY} = matches.run_key"
            f" where matches.source_name = {literal(source)} and matches.usage_month = date '{month}'"
            f" and here.sample_end is not null and here.sample_end > timestamp '{month}'"
            f" and here.sample_end <= timestamp '{month}' + interval 1 month group by all"
        )
        _require_samples(landed)
        origins.add(
            connection,
            f"select 'sample' as kind, ? as of_table, rows.source_name,"
            f" {FOUND.format(first='first_row', last='last_row', count='samples')}, date '{month}' as usage_month,"
            " rows.training_run_id,"
            " 'host ' || rows.host || case when rows.run_key <> '' then ', run key ' || rows.run_key else '' end as detail"
            f" from samples as rows{OBJECTS}",
            [of_table],
        )


def _require_samples(landed: Landed) -> None:
    """A host and run key have as many samples in the landed rows as fct_telemetry_matches counts of them."""
    place = "(source_name, usage_month, host, run_key)"
    wrong = landed.connection.execute(
        "with stated as (select host, run_key, sum(sample_count) as stated from published.marts.fct_telemetry_matches"
        f" where {place} in (select {place} from matches semi join this_month using (source_name, usage_month)) group by all),"
        " found as (select host, run_key, training_run_id, sum(samples) as found from samples group by all)"
        " select host, run_key, stated, found from stated left join found using (host, run_key)"
        " where stated is distinct from found limit 1"
    ).fetchone()
    if wrong:
        what = (
            f"host {wrong[0]!r} with run key {wrong[1]!r} was published with {wrong[2]} samples, its deliveries have {wrong[3]}"
        )
        raise GateError(what, remedy="Refresh, then trace again.")


def add_seed_rows(landed: Landed, of_table: str, seed: str, is_meant: Callable[[Mapping[str, str]], bool]) -> None:
    """Rows of a seed, numbered from 1 after its header, with what they state of their source."""
    with (project_folder() / "seeds" / f"{seed}.csv").open(encoding="utf-8", newline="") as file:
        found = [
            (
                number,
                row,
                "; ".join(f"{name} {row[name]}" for name in ("source", "source_date", "confidence", "licence") if row.get(name)),
            )
            for number, row in enumerate(csv.DictReader(file), 1)
            if is_meant(row)
        ]
    described = [f"{', '.join(value for value in list(row.values())[:4] if value)}; {said}" for _, row, said in found]
    numbers = [number for number, _, _ in found]
    origins.add(
        landed.connection,
        "select 'seed' as kind, ? as of_table, 'seeds' as source_name, ? as object, number as first_row, number as last_row,"
        " 1 as row_count, detail from (select unnest(?::bigint[]) as number, unnest(?::varchar[]) as detail)",
        [of_table, f"dbt/seeds/{seed}.csv", numbers, described],
    )
