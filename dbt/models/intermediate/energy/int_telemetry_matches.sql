{{ config(materialized='by_month', meta={'empty_without': ['int_matched_days']}) }}
{%- set interval = 'usage_month, host, run_key, sample_from_us, sample_to_us' %}
{%- set figures = ['sample_count', 'measured_us', 'present_us'] %}

-- a name counts as a run's in the months in which that run was there
with keys_of_month as (
    select usage_month, run_key, training_run_id as keyed_run_id from ({{ run_keys_of_month() }}) as run_keys_of_month
),

months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

holdings as (
    {{ match_holdings() }}
),

seen_machines as (
    select distinct usage_month, machine_name, true as is_seen from {{ ref('int_matched_series') }}
    where {{ in_build_months() }}
),

holdings_with_machines as (
    select holdings.*, coalesce(seen_machines.is_seen, false) as is_seen
    from holdings
    left join seen_machines using (usage_month, machine_name)
),

days as (
    select days.*, keys_of_month.keyed_run_id
    from {{ ref('int_matched_days') }} as days
    left join keys_of_month using (usage_month, run_key)
    where {{ in_build_months('days.usage_month') }}
),

-- samples over midnight, in parts of days: a whole sample meets a run
intervals as (
    select distinct {{ interval }}, {{ machine_name('host') }} as machine_name, keyed_run_id
    from days
    where is_met_in_month
),

meetings as (
    select {{ interval }}, holdings.training_run_id, holdings.machine_name
    from intervals
    inner join holdings_with_machines as holdings using (usage_month, machine_name)
    where
        intervals.sample_from_us < holdings.held_to_us
        and intervals.sample_to_us > holdings.held_from_us
        and {{ meets_by_machine('intervals') }}

    union all

    select
        intervals.usage_month, intervals.host, intervals.run_key, intervals.sample_from_us, intervals.sample_to_us,
        holdings.training_run_id, holdings.machine_name
    from intervals
    inner join holdings_with_machines as holdings
        on intervals.usage_month = holdings.usage_month and intervals.keyed_run_id = holdings.training_run_id
    where
        intervals.sample_from_us < holdings.held_to_us
        and intervals.sample_to_us > holdings.held_from_us
        and {{ meets_by_key('intervals') }}
),

-- a sample of a machine that several runs shared counts once, with the first of them
first_meetings as (
    select *
    from meetings
    qualify row_number() over (partition by {{ interval }} order by training_run_id, machine_name) = 1
),

met as (
    select
        days.usage_month, days.source_name, days.host, days.run_key, days.accelerator_type, days.device_count, days.region_id,
        days.is_document, days.keyed_run_id, days.is_measured, days.device_index, days.sample_to_us, days.is_met_in_month,
        case when days.is_met_in_month then first_meetings.training_run_id else days.met_run_id end as met_run_id,
        case when days.is_met_in_month then first_meetings.machine_name else days.met_machine end as met_machine,
        days.seen_chips
        {%- for name in figures %},
        days.{{ name }}
        {%- endfor %}
    from days
    left join first_meetings using ({{ interval }})
),

-- points name the chips they are of: how many of a machine are seen at one time. Over longer times chips may be numbered anew
seen_chips as (
    select usage_month, source_name, host, met_run_id, met_machine, seen_chips from met
    where seen_chips is not null

    union all

    select usage_month, source_name, host, met_run_id, met_machine, count(distinct device_index) as seen_chips
    from met
    where is_met_in_month and not is_document and met_run_id is not null and sample_count > 0
    group by usage_month, source_name, host, met_run_id, met_machine, is_measured, sample_to_us
),

most_chips as (
    select usage_month, source_name, host, met_run_id, met_machine, max(seen_chips) as seen_chips
    from seen_chips
    group by all
),

counted_samples as (
    select
        usage_month,
        source_name,
        host,
        run_key,
        keyed_run_id,
        met_run_id,
        met_machine,
        accelerator_type,
        device_count,
        region_id,
        is_document,
        cast(sum(sample_count) as bigint) as sample_count,
        cast(sum(measured_us) as decimal(38, 0)) as measured_us,
        cast(sum(present_us) as decimal(38, 0)) as present_us
    from met
    group by all
)

select
    usage_month,
    source_name,
    host,
    counted_samples.run_key,
    coalesce(met_run_id, counted_samples.keyed_run_id, '') as training_run_id,
    met_machine,
    counted_samples.accelerator_type,
    counted_samples.device_count,
    counted_samples.region_id,
    counted_samples.is_document,
    counted_samples.keyed_run_id is not null as is_known_key,
    counted_samples.sample_count,
    case when met_run_id is null then 0 else counted_samples.sample_count end as matched_sample_count,
    most_chips.seen_chips,
    counted_samples.measured_us,
    counted_samples.present_us
from counted_samples
left join most_chips using (usage_month, source_name, host, met_run_id, met_machine)
