"""Where a walk ends: rows of bills and carbon, run records, telemetry samples, rows of seeds, deliveries.

Each function is given a table, a column and the name of rows with an amount of that column, and adds what is behind them to the
table of origins. Amounts of bills and carbon are divided among landed rows; the others are listed, with what each states.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from dagster_project.base.dbt_project import project_folder
from dagster_project.base.kinds import KINDS, built_kinds
from dagster_project.base.sql import literal
from dagster_project.evidence.tracing.landed import Landed, facts_of
from dagster_project.evidence.tracing.published import (
    Rows,
    add_deliveries,
    add_inputs,
    add_integrals,
    add_operations,
    add_quarantined,
    add_settings,
    add_withdrawals,
    columns_of,
    lookup_condition,
    runs_of,
    seeds_of_energy,
)
from dagster_project.evidence.tracing.walk import MONEY, WEIGHT, divided_among

CELL = "source_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, provider_model_version"
PLACE = CELL.replace("usage_month, ", "")
OF_CARBON = ("source_name", "payer_account_id", "service_code", "usage_month", "provider_model_version")
MASS = "provider_total_location_based_kgco2e"
BROKEN_OUT = "provider_name <> 'AWS' or service_code in ('AmazonEC2', 'AmazonS3', 'AmazonCloudFront')"
PRODUCT = f"case when {BROKEN_OUT} then service_code else 'Other' end"  # as carbon names the services of a bill
IN_NO_CELL = "['negative_emission', 'unknown_region', 'duplicate_row']"  # why a carbon row is quarantined
ALIASES = "stg_training_runs__aliases"
FIGURES = "stg_user_inputs__figures"
STAGED = {"AWS": "stg_aws_carbon__emissions", "Google Cloud": "stg_gcp_carbon__emissions"}
# as the models write a host, a run key and a run's id
HOST = "coalesce(here.host_id, '')"
RUN_KEY = "coalesce(substr(regexp_replace(lower(here.run_key), '[^a-z0-9_-]', '-', 'g'), 1, 63), '')"
RECORD_RUN = "substr(regexp_replace(lower(recorded_id), '[^a-z0-9_-]', '-', 'g'), 1, 63)"


def add_bill(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The bill rows of these parts of groups, each with its contribution, or with what it weighs."""
    landed.connection.execute(f"create or replace temp table groups as from {rows}")
    landed.add_bill_rows("weight" if column == WEIGHT else "bill", of_table, column)


def add_carbon(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The provider's rows of these cells of carbon that count, each with its contribution; quarantined ones are in no cell.

    The sum of a cell's rows is what the reconciliation states without what is quarantined; of a quarter or a year, of all its
    months.
    """
    connection = landed.connection
    connection.execute(f"create or replace temp table parts as select *, row_number() over () as part_number from {rows}")
    connection.execute(f"create or replace temp table cells as select distinct {CELL} from parts where source_name is not null")
    names = columns_of(landed, "parts")
    run = "parts.training_run_id" if "training_run_id" in names else "null"
    share = "weight_numerator || '/' || weight_denominator" if "weight_numerator" in names else "null"
    reason = "parts.reason" if "reason" in names else "null"
    for source, month, deliveries in landed.elected_by_month("cells"):
        provider = facts_of(deliveries[0]).provider_name or ""
        landed.show(deliveries, STAGED[provider])
        account, projects = "staged.sub_account_id", ""
        period = "staged.period_start, staged.period_end"
        if provider == "Google Cloud":
            _name_projects(landed, month)
            landed.show(deliveries, STAGED[provider])  # bills were shown in between
            account = "coalesce(staged.project_number, projects.project_number, staged.project_id, '')"
            projects = "left join projects on staged.project_id = projects.project_id"
            period = "null::date as period_start, null::date as period_end"
        connection.execute(f"""create or replace temp table found_carbon as
            select staged.source_name, staged.source_object as object, files.content_hash as delivery_content_hash,
                staged.row_number, staged.{MASS}, cast(staged.{column} as {MONEY}) as part_, {period},
                wanted.* exclude (source_name)
            from staging.{STAGED[provider]} as staged
            inner join (select source_name, source_object, content_hash from raw.landed_files) as files
                using (source_name, source_object)
            {projects}
            left join (select provider_name, carbon_region_name, region_id from published.marts.dim_regions) as named
                on named.provider_name = {literal(provider)} and named.carbon_region_name = staged.region_id
            inner join cells as wanted
                on {account} = wanted.sub_account_id and coalesce(named.region_id, staged.region_id) = wanted.region_id
                and {" and ".join(f"staged.{name} = wanted.{name}" for name in OF_CARBON)}
            anti join (from published.marts.fct_quarantine where list_contains({IN_NO_CELL}, reason)) as held
                on staged.source_name = held.source_name and staged.source_object = held.source_object
                and staged.row_number = held.row_number
            where staged.usage_month = date '{month}'""")
        # a month goes before a quarter of it, and a quarter before a year
        connection.execute(f"""create or replace temp table carbon as from found_carbon
            qualify dense_rank() over (
                partition by {CELL} order by period_end is not null, period_end - period_start, period_start
            ) = 1""")
        differing = f"""with found as (
                select {CELL}, case when count(*) = count({MASS}) then sum({MASS}) end as found,
                    min(period_start) as period_start, min(period_end) as period_end
                from carbon group by all
            ),
            asked as (
                select {CELL}, found, coalesce(period_start, usage_month) as since,
                    coalesce(period_end, usage_month + interval 1 month) as until
                from cells left join found using ({CELL})
                where source_name = {literal(source)} and usage_month = date '{month}'
            ),
            conserved as (
                select {PLACE}, usage_month as conserved_month, provider_total - quarantined_total as conserved
                from published.marts.fct_reconciliation where method = 'conservation' and measure = '{MASS}'
            ),
            stated as (
                select asked.*, sum(conserved) filter (conserved_month >= since and conserved_month < until) as stated
                from asked left join conserved using ({PLACE})
                group by all
            )
            select service_code || ' ' || region_id, stated, found from stated
            where stated is distinct from coalesce(found, case when stated = 0 then 0 end)
            limit 1"""
        landed.require(differing, "the carbon rows of {0} add up to {2} kgCO2e, the reconciliation states {1}")
        divided = divided_among(
            f"""select carbon.*, parts.part_number, parts.amount_, {run} as run, {share} as share, {reason} as why
            from parts inner join carbon using ({CELL})""",
            "part_number",
            "object, row_number",
        )
        landed.add(
            "carbon",
            of_table,
            f"""select source_name, object, row_number as first_row, delivery_content_hash, usage_month, run as training_run_id,
                why as reason, case when share is not null then 'carbon_weight' end as attribution_rule, share,
                cast(part_ as decimal(38, 12)) as amount, 'kgCO2e' as unit, contribution_ as contribution,
                {literal(column)} as measure, concat_ws(' / ', sub_account_id, service_code, region_id) || ', model version '
                    || provider_model_version as detail
            from ({divided}) where contribution_ is distinct from 0""",
        )


def _name_projects(landed: Landed, month: date) -> None:
    """Table `projects`: the number of each project of a month, by its id: of carbon rows that have it, else of bills."""
    connection = landed.connection
    named = f"""select project_id, project_number from staging.{{}}
        where usage_month = date '{month}' and project_id is not null and project_number is not null"""
    carbon = f"staging.{STAGED['Google Cloud']} where usage_month = date '{month}' and project_number is null"
    connection.execute(f"create or replace temp table named as {named.format(STAGED['Google Cloud'])}")
    texts = ["from named"]
    if connection.execute(f"select 1 from {carbon} and project_id is not null limit 1").fetchone():
        kinds = [
            str(kind) for kind in built_kinds() if KINDS[kind].fact == "bill" and KINDS[kind].provider_name == "Google Cloud"
        ]
        elected = "published.ops.dim_deliveries where is_elected and list_contains(?, kind)"
        sql = f"select distinct source_name from {elected} order by all"
        for number, (source,) in enumerate(connection.execute(sql, [kinds]).fetchall()):
            landed.show(landed.elected(source), "stg_gcp_billing__lines")
            connection.execute(f"create or replace temp table named_{number} as {named.format('stg_gcp_billing__lines')}")
            texts.append(f"from named_{number}")
    both = " union all ".join(f"({text})" for text in texts)
    made = f"select project_id, min(project_number) as project_number from ({both}) group by all"
    connection.execute(f"create or replace temp table projects as {made}")


def add_carbon_of_version(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The carbon rows of another model version than the elected one: of the cell, or of the cells that the run was billed in."""
    mass = column if column.startswith("provider_") and column != "provider_total" else MASS
    cells = f"(select {CELL} from published.marts.fct_reconciliation where measure = '{MASS}' and method = 'conservation')"
    if "training_run_id" in columns_of(landed, rows):
        billed = f"""select distinct training_run_id, provider_name, payer_account_id, sub_account_id, region_id, usage_month,
                {PRODUCT} as service_code from published.marts.fct_run_cell_costs"""
        same = f"""inner join ({billed}) as billed using (training_run_id, provider_name, usage_month)
            inner join {cells} as cells
                using (payer_account_id, sub_account_id, service_code, region_id, usage_month, provider_model_version)"""
        own = "own.* exclude (amount_), payer_account_id, sub_account_id, service_code, region_id, source_name"
        found = f"select {own}, null::decimal(38, 12) as amount_ from {rows} as own {same}"
    else:
        found = f"select * replace (null::decimal(38, 12) as amount_) from {rows} where source_name is not null"
    landed.connection.execute(f"create or replace temp table of_version as {found}")
    add_carbon(landed, of_table, mass, "of_version")


def add_records(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
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


def add_runs(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The records of runs; of runs known from a tag of a bill alone, that there is none."""
    add_records(landed, of_table, column, runs_of(landed, rows))
    unrecorded = """select source_name, 'no record names it; the bill does' as object, 0 as row_count, usage_month,
            training_run_id
        from published.marts.fct_run_cell_costs semi join runs using (training_run_id)
        anti join (from origins where kind = 'record') as recorded using (training_run_id) group by all"""
    landed.add("delivery", of_table, unrecorded)


def add_samples(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
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


def add_energy(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """These integrals, the records and samples of their runs and months, the seeds behind them, what states energy."""
    add_integrals(landed, of_table, column, rows)
    add_stated_energy(landed, of_table, rows)
    add_records(landed, of_table, column, rows)
    add_samples(landed, of_table, column, rows)
    for seed, condition in seeds_of_energy(rows).items():
        add_seed_rows(landed, of_table, seed, condition)


def add_stated_energy(landed: Landed, of_table: str, rows: Rows) -> None:
    """The rows of inputs in which the organisation states the energy of these runs and months."""
    kinds = [str(kind) for kind in built_kinds() if KINDS[kind].fact == "inputs"]
    sql = f"""select distinct source_name from published.ops.dim_deliveries
        where is_elected and list_contains(?, kind) and exists (select 1 from {rows} where basis = 'stated') order by all"""
    for (source,) in landed.connection.execute(sql, [kinds]).fetchall():
        landed.show(landed.elected(source), FIGURES)
        stated = f"""select stated.source_name, source_object as object, row_number as first_row,
                files.content_hash as delivery_content_hash, usage_month, training_run_id, value as amount, unit, key as detail
            from staging.{FIGURES} as stated
            inner join (select distinct training_run_id, usage_month from {rows} where basis = 'stated') as asked
                on stated.run_key = asked.training_run_id and stated.valid_from = asked.usage_month
            inner join (select source_name, source_object, content_hash from raw.landed_files) as files
                using (source_name, source_object)
            where kind = 'measured_energy'"""
        landed.add("record", of_table, stated)


def add_readings(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The readings that windows are made of, of the month and the twelve before it, and what meters do not see."""
    measured = f"""(select matches.training_run_id, matches.usage_month
        from published.marts.fct_telemetry_matches as matches
        inner join published.ops.dim_deliveries as deliveries using (source_name)
        semi join {rows} as watts
            on deliveries.kind = watts.source_kind and matches.usage_month <= watts.valid_from_month
            and matches.usage_month >= watts.valid_from_month - interval 12 month)"""
    add_samples(landed, of_table, column, measured)
    add_seed_rows(landed, of_table, "unmetered_rails")


def add_lookup(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The rows of a seed that state these rows."""
    seed, condition = lookup_condition(of_table, rows)
    add_seed_rows(landed, of_table, seed, condition)


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


def add_listed(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The deliveries of the rows' source and month."""
    add_deliveries(landed, of_table, rows)


def add_held(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """Places in quarantine; of a total of the reconciliation those of its source and month."""
    if "source_object" not in columns_of(landed, rows):
        rows = f"(from published.marts.fct_quarantine semi join (from {rows} where amount_ <> 0) as own using (source_name))"
    add_quarantined(landed, of_table, rows)


def add_of_build(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """Deliveries, or what a build states of itself."""
    add_operations(landed, of_table, rows)


def add_stated(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The rows of the organisation's own files, whose bytes are compared with their sha256."""
    _elect(landed, rows)
    add_inputs(landed, of_table, column, rows)


def add_water(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """The answers about water, whose bytes are compared with their sha256."""
    _elect(landed, rows)
    add_withdrawals(landed, of_table, column, rows)


def _elect(landed: Landed, rows: Rows) -> None:
    for (source,) in landed.connection.execute(f"select distinct source_name from {rows} order by all").fetchall():
        landed.elected(source)


def add_nothing(landed: Landed, of_table: str, column: str, rows: Rows) -> None:
    """What is written in the model itself or in issued reports has no landed row."""


ENDINGS: dict[str, Callable[[Landed, str, str, Rows], None]] = {
    "bill": add_bill,
    "carbon": add_carbon,
    "carbon_of_version": add_carbon_of_version,
    "constant": add_nothing,
    "deliveries": add_listed,
    "energy": add_energy,
    "inputs": add_listed,
    "issued": add_nothing,
    "operations": add_of_build,
    "quarantine": add_held,
    "readings": add_readings,
    "records": add_runs,
    "samples": add_samples,
    "seed": add_lookup,
    "settings": add_settings,
    "stated": add_stated,
    "water": add_water,
}
