{%- set rows_of = ['int_partial_meters', 'int_power_readings', 'int_telemetry_samples'] %}
{{ config(materialized='by_month', meta={'empty_without': rows_of}) }}
{%- set hour_us = 3600000000 %}
{%- set month = 'substr(cast(usage_month as string), 1, 7)' %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

limits as (
    select
        cast(max(case when doubt = 'watts_against_counter' then value end) as bigint) as watts_against_counter,
        cast(max(case when doubt = 'least_clock_offset_s' then value end) as bigint) * 1000000 as least_clock_offset_us
    from {{ ref('power_doubts') }}
),

keys_of_month as (
    {{ run_keys_of_month() }}
),

holdings as (
    select distinct
        usage_month,
        holdings.training_run_id,
        holdings.resource_id,
        {{ machine_name('holdings.resource_id') }} as machine_name,
        {{ instant_us('holdings.held_from') }} as held_from_us,
        coalesce({{ instant_us('holdings.held_to') }}, months.month_to_us) as held_to_us
    from {{ ref('int_machine_holdings') }} as holdings
    inner join months using (usage_month)
    where not holdings.is_ambiguous and holdings.resource_id is not null
),

-- by clock hour, what a counter and the watts beside it show
counted_hours as (
    select
        usage_month,
        {{ machine_name('readings.host_id') }} as machine_name,
        keys_of_month.training_run_id as keyed_run_id,
        readings.meter,
        readings.device_index,
        min(readings.sample_from_us) as from_us,
        max(readings.sample_to_us) as to_us,
        count(case when readings.is_stuck then 1 end) as stuck_count,
        cast(sum(case
            when readings.moment_uw is not null
                then cast(readings.sample_to_us - readings.sample_from_us as decimal(18, 0))
            else 0
        end) as decimal(38, 0)) as both_us,
        cast(sum(case
            when readings.moment_uw is not null
                then
                    cast(coalesce(readings.most_doubted_uw, readings.power_uw) as decimal(19, 0))
                    * cast(readings.sample_to_us - readings.sample_from_us as decimal(18, 0))
            else 0
        end) as decimal(38, 0)) as counter_uw_us,
        cast(sum(case
            when readings.moment_uw is not null
                then
                    cast(readings.moment_uw as decimal(19, 0))
                    * cast(readings.sample_to_us - readings.sample_from_us as decimal(18, 0))
            else 0
        end) as decimal(38, 0)) as moment_uw_us
    from {{ ref('int_power_readings') }} as readings
    inner join months using (usage_month)
    left join keys_of_month using (usage_month, run_key)
    where
        (readings.is_stuck or readings.moment_uw is not null)
        and readings.sample_to_us > months.month_from_us
        and readings.sample_to_us <= months.month_to_us
    group by
        usage_month, readings.host_id, keys_of_month.training_run_id, readings.meter, readings.device_index,
        readings.sample_to_us - 1 - (readings.sample_to_us - 1) % {{ hour_us }}
),

doubted_hours as (
    select
        counted_hours.*,
        coalesce(
            counted_hours.counter_uw_us > limits.watts_against_counter * counted_hours.moment_uw_us
            or counted_hours.moment_uw_us > limits.watts_against_counter * counted_hours.counter_uw_us,
            false
        ) as is_at_odds
    from counted_hours
    cross join limits
),

-- of the runs that held the machine then
hours_of_runs as (
    select distinct doubted_hours.*, holdings.training_run_id, holdings.resource_id
    from doubted_hours
    inner join holdings
        on
            doubted_hours.usage_month = holdings.usage_month
            and (
                doubted_hours.machine_name = holdings.machine_name
                or (doubted_hours.machine_name is null and doubted_hours.keyed_run_id = holdings.training_run_id)
            )
            and doubted_hours.from_us < holdings.held_to_us
            and doubted_hours.to_us > holdings.held_from_us
    where doubted_hours.stuck_count > 0 or doubted_hours.is_at_odds
),

partial_hours as (
    select distinct partial.*, holdings.training_run_id
    from {{ ref('int_partial_meters') }} as partial
    inner join holdings using (usage_month, resource_id)
    where partial.both_from_us < holdings.held_to_us and partial.both_to_us > holdings.held_from_us
),

-- all samples of a machine against all that is recorded of it in the month, where both begin and end there
sampled as (
    select
        usage_month,
        {{ machine_name('host_id') }} as machine_name,
        min(sample_from_us) as sampled_from_us,
        max(sample_to_us) as sampled_to_us
    from {{ ref('int_telemetry_samples') }}
    where not is_filled and host_id is not null and {{ in_build_months() }}
    group by all
),

recorded as (
    select
        months.usage_month,
        bands.machine_name,
        min(bands.held_from_us) as recorded_from_us,
        max(bands.held_to_us) as recorded_to_us
    from {{ ref('int_holding_bands') }} as bands
    inner join months on bands.held_from_us < months.month_to_us and bands.held_to_us > months.month_from_us
    where bands.machine_name is not null
    group by months.usage_month, bands.machine_name
    having
        min(bands.held_from_us) > max(months.month_from_us)
        and max(bands.held_to_us) < max(months.month_to_us)
        and bool_and(bands.open_month is null)
),

billed as (
    select
        usage_month,
        {{ machine_name('resource_id') }} as machine_name,
        {{ instant_us('min(billed_from)') }} as billed_from_us,
        {{ instant_us('max(billed_to)') }} as billed_to_us
    from {{ ref('int_billed_times') }}
    where resource_id is not null and {{ in_build_months() }}
    group by usage_month, {{ machine_name('resource_id') }}
),

-- the same shift at both ends, of a record that its bill supports
offsets as (
    select
        usage_month,
        machine_name,
        sampled.sampled_from_us - recorded.recorded_from_us as offset_us
    from sampled
    inner join recorded using (usage_month, machine_name)
    left join billed using (usage_month, machine_name)
    cross join limits
    where
        abs(sampled.sampled_from_us - recorded.recorded_from_us) > limits.least_clock_offset_us
        and abs(sampled.sampled_to_us - recorded.recorded_to_us) > limits.least_clock_offset_us
        and abs(sampled.sampled_from_us - recorded.recorded_from_us - (sampled.sampled_to_us - recorded.recorded_to_us))
        <= limits.least_clock_offset_us
        and coalesce(billed.billed_from_us <= recorded.recorded_from_us and billed.billed_to_us >= recorded.recorded_to_us, true)
)

select
    usage_month,
    training_run_id,
    'partial_meter' as field,
    'chips of ' || resource_id || ' in ' || {{ month }} as source_a,
    {{ mean_watts('sum(chips_uw_us)', 'sum(both_us)') }} as value_a,
    meter || ' of ' || resource_id as source_b,
    {{ mean_watts('sum(node_uw_us)', 'sum(both_us)') }} as value_b,
    'chips as read, and the host by the model' as chosen
from partial_hours
group by usage_month, training_run_id, resource_id, meter

union all

select
    usage_month,
    training_run_id,
    'stuck_counter' as field,
    meter || ' watts of ' || resource_id || ' in ' || {{ month }} as source_a,
    'above 0 W in ' || cast(sum(stuck_count) as string) || ' readings' as value_a,
    meter || ' counter of ' || resource_id as source_b,
    'does not move' as value_b,
    'watts' as chosen
from hours_of_runs
where stuck_count > 0
group by usage_month, training_run_id, resource_id, meter

union all

select
    usage_month,
    training_run_id,
    'watts_and_counter' as field,
    meter || ' counter of ' || resource_id || ' in ' || {{ month }} as source_a,
    {{ mean_watts('sum(counter_uw_us)', 'sum(both_us)') }} as value_a,
    meter || ' watts of ' || resource_id as source_b,
    {{ mean_watts('sum(moment_uw_us)', 'sum(both_us)') }} as value_b,
    'the counter, unless it is implausible' as chosen
from hours_of_runs
where is_at_odds
group by usage_month, training_run_id, resource_id, meter

union all

-- listed and not corrected: which of the two clocks is right is not known
select distinct
    usage_month,
    holdings.training_run_id,
    'clock_offset' as field,
    'run records of ' || holdings.resource_id || ' in ' || {{ month }} as source_a,
    '0 s' as value_a,
    'telemetry of ' || holdings.resource_id as source_b,
    cast(cast(floor(offsets.offset_us / 1e6 + 5e-1) as bigint) as string) || ' s' as value_b,
    '0 s' as chosen
from offsets
inner join holdings using (usage_month, machine_name)
