{{ config(materialized='by_month', meta={'empty_without': ['int_matched_series'], 'days': 'usage_day'}) }}
{%- set series = 'usage_month, usage_day, host, run_key' %}

-- a name counts as a run's in the months in which that run was there
with keys_of_month as (
    select usage_month, run_key, training_run_id as keyed_run_id from ({{ run_keys_of_month() }}) as run_keys_of_month
),

months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

days as (
    select distinct
        usage_month,
        {{ day_bounds() }}
    from {{ ref('int_matched_series') }}
    where {{ in_build_months() }}
),

series as (
    select
        named.usage_month,
        named.usage_day,
        named.host,
        named.run_key,
        named.machine_name,
        keys_of_month.keyed_run_id,
        days.day_from_us,
        days.day_to_us
    from {{ ref('int_matched_series') }} as named
    inner join days using (usage_month, usage_day)
    left join keys_of_month using (usage_month, run_key)
),

holdings as (
    {{ match_holdings() }}
),

seen_machines as (
    select distinct usage_month, machine_name, true as is_seen from series
),

holdings_with_machines as (
    select holdings.*, coalesce(seen_machines.is_seen, false) as is_seen
    from holdings
    left join seen_machines using (usage_month, machine_name)
),

candidates as (
    select
        series.usage_month, series.usage_day, series.host, series.run_key, holdings.training_run_id, holdings.machine_name,
        holdings.held_from_us, holdings.held_to_us, series.day_from_us, series.day_to_us,
        {{ meets_by_machine('series') }} as is_meeting
    from series
    inner join holdings_with_machines as holdings using (usage_month, machine_name)

    union all

    select
        series.usage_month, series.usage_day, series.host, series.run_key, holdings.training_run_id, holdings.machine_name,
        holdings.held_from_us, holdings.held_to_us, series.day_from_us, series.day_to_us,
        {{ meets_by_key('series') }} as is_meeting
    from series
    inner join holdings_with_machines as holdings
        on series.usage_month = holdings.usage_month and series.keyed_run_id = holdings.training_run_id
)

-- of the day: what lies further away meets no sample within it, and may move with every hour
select
    {{ series }},
    training_run_id as met_run_id,
    machine_name as met_machine,
    greatest(held_from_us, day_from_us - {{ telemetry_gap_us() }}) as held_from_us,
    least(held_to_us, day_to_us + {{ telemetry_gap_us() }}) as held_to_us,
    bool_or(is_meeting) as is_meeting
from candidates
where held_from_us < day_to_us + {{ telemetry_gap_us() }} and held_to_us > day_from_us - {{ telemetry_gap_us() }}
group by all
