{{ config(materialized='by_month') }}
{%- set node = 'usage_month, resource_id' %}
{%- set reading -%}
    readings.usage_month, readings.meter, readings.host_id, readings.run_key, readings.sample_from_us, readings.sample_to_us
{%- endset %}

with keys_of_month as (
    {{ run_keys_of_month() }}
),

months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

holdings as (
    select
        holdings.usage_month,
        holdings.training_run_id,
        holdings.resource_id,
        {{ machine_name('holdings.resource_id') }} as machine_name,
        holdings.is_ambiguous,
        holdings.node_count,
        {{ instant_us('holdings.held_from') }} as held_from_us,
        coalesce({{ instant_us('holdings.held_to') }}, months.month_to_us) as held_to_us
    from {{ ref('int_machine_holdings') }} as holdings
    inner join months using (usage_month)
    where holdings.resource_id is not null
),

-- one machine each; the reading of one of several machines under a name is not that of all
nodes as (
    select {{ node }}, machine_name
    from holdings
    group by all
    having max(coalesce(node_count, 1)) = 1
),

readings as (
    select
        {{ reading }},
        readings.power_uw,
        {{ machine_name('readings.host_id') }} as machine_name,
        keys_of_month.training_run_id as keyed_run_id
    from {{ ref('int_power_readings') }} as readings
    left join keys_of_month using (usage_month, run_key)
    where readings.boundary = 'node' and readings.power_uw is not null and {{ in_build_months('readings.usage_month') }}

    union all

    select
        months.usage_month,
        readings.meter,
        readings.host_id,
        readings.run_key,
        readings.sample_from_us,
        readings.sample_to_us,
        readings.power_uw,
        {{ machine_name('readings.host_id') }} as machine_name,
        readings.run_key as keyed_run_id
    from {{ ref('int_scheduler_readings') }} as readings
    inner join months on readings.sample_from_us < months.month_to_us and readings.sample_to_us > months.month_from_us
),

-- a reading with the key of a known run is of a node that this run holds then
readings_of_hosts as (
    select distinct {{ node }}, readings.meter, readings.sample_from_us, readings.sample_to_us, readings.power_uw
    from readings
    inner join nodes using (usage_month, machine_name)
    left join holdings using ({{ node }})
    where
        readings.keyed_run_id is null
        or (
            readings.keyed_run_id = holdings.training_run_id
            and readings.sample_from_us < holdings.held_to_us
            and readings.sample_to_us > holdings.held_from_us
        )
),

-- one that names no machine of its run is of the machine, where the run holds only one then
held_by_run as (
    select
        readings.*,
        holdings.resource_id,
        coalesce(holdings.node_count, 1) as node_count,
        min(holdings.resource_id) over (partition by {{ reading }}) as first_resource_id,
        max(holdings.resource_id) over (partition by {{ reading }}) as last_resource_id
    from readings
    inner join holdings
        on
            readings.usage_month = holdings.usage_month
            and readings.keyed_run_id = holdings.training_run_id
            and readings.sample_from_us < holdings.held_to_us
            and readings.sample_to_us > holdings.held_from_us
    left join nodes as named on readings.usage_month = named.usage_month and readings.machine_name = named.machine_name
    where named.resource_id is null
),

readings_of_nodes as (
    select * from readings_of_hosts

    union

    select usage_month, resource_id, meter, sample_from_us, sample_to_us, power_uw
    from held_by_run
    where first_resource_id = last_resource_id and node_count = 1
),

ranked_readings as (
    select
        {{ node }},
        greatest(readings.sample_from_us, months.month_from_us) as sample_from_us,
        least(readings.sample_to_us, months.month_to_us) as sample_to_us,
        readings.power_uw,
        -- a meter before what a scheduler adds up, and that before an estimate by a process
        case readings.meter when 'slurm' then 2 when 'codecarbon' then 3 else 1 end as meter_rank,
        max(readings.sample_to_us) over (
            partition by {{ node }} order by readings.sample_from_us range between unbounded preceding and 1 preceding
        ) as reached_us
    from readings_of_nodes as readings
    inner join months using (usage_month)
    where readings.sample_from_us < months.month_to_us and readings.sample_to_us > months.month_from_us
),

-- readings this close together leave no gap
gapless_readings as (
    select
        {{ node }},
        meter_rank,
        power_uw,
        case
            when sample_from_us > reached_us and sample_from_us - reached_us <= {{ telemetry_gap_us() }} then reached_us
            else sample_from_us
        end as from_us,
        sample_to_us as to_us
    from ranked_readings
),

timed_readings as (
    select *, max(to_us - from_us) over (partition by {{ node }}) as bucket_us
    from gapless_readings
),

bucketed_readings as (
    {{ bucketed('timed_readings', 'from_us', 'to_us') }}
),

slices as (
    {{ slices('timed_readings', node ~ ', bucket_us', 'from_us', 'to_us') }}
),

slice_readings as (
    select
        {{ node }},
        slices.slice_from,
        slices.slice_to,
        bucketed_readings.power_uw,
        bucketed_readings.meter_rank,
        min(bucketed_readings.meter_rank) over (partition by {{ node }}, slices.slice_from) as best_rank
    from slices
    inner join bucketed_readings using ({{ node }}, bucket_us)
    where
        {{ bucket_of('slices.slice_from') }} = bucketed_readings.bucket
        and bucketed_readings.from_us <= slices.slice_from
        and bucketed_readings.to_us >= slices.slice_to
)

select
    {{ node }},
    slice_from as from_us,
    slice_to as to_us,
    -- of two meters the greater: one may see a part of the node only
    max(power_uw) as power_uw
from slice_readings
where meter_rank = best_rank
group by {{ node }}, slice_from, slice_to
