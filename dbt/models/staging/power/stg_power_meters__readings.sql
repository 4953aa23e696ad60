{%- set counter -%}
case
        when coalesce(counter_j, cast(counter_j__text as double)) >= 0 and coalesce(counter_j, cast(counter_j__text as double)) < 1e15
            then cast(floor(coalesce(counter_j, cast(counter_j__text as double)) * 1e3 + 5e-1) as bigint)
    end as counter_mj
{%- endset %}
{%- set place = 'meter, host, run' %}
{%- set hour_us = 3600000000 %}
{%- set widest_us = 172800000000 %}

with delivered as (
    {{ telemetry_samples('power_meters', has_power=true, also=["coalesce(series, '') as series", counter]) | indent(4) }}
),

readings as (
    select
        *,
        coalesce(host_id, '') as host,
        coalesce(run_key, '') as run,
        -- points of outlets and sensors, and of counters: what they say of a node needs the points around them
        meter in ('pdu', 'bmc') and sample_from_us is null and (component is not null or counter_mj is not null) as is_part
    from delivered
),

parts as (
    select
        {{ place }}, series, sample_to_us,
        max(power_uw) as power_uw,
        max(counter_mj) as counter_mj,
        true as is_read
    from readings
    where is_part
    group by all
),

instants as (
    select distinct {{ place }}, series = '' as is_whole, sample_to_us from parts
),

members as (
    select distinct {{ place }}, series = '' as is_whole, series from parts
),

-- at each instant when each part was read last, and when it will be read next
seen as (
    select
        {{ place }}, is_whole, series, sample_to_us,
        max(case when parts.is_read then sample_to_us end) over (
            partition by {{ place }}, series order by sample_to_us rows between unbounded preceding and current row
        ) as last_us,
        min(case when parts.is_read then sample_to_us end) over (
            partition by {{ place }}, series order by sample_to_us rows between current row and unbounded following
        ) as next_us
    from instants
    inner join members using ({{ place }}, is_whole)
    left join parts using ({{ place }}, series, sample_to_us)
),

-- outlets are read one after the other: a node draws what each of them showed last, known where each is
sums as (
    select
        seen.meter, seen.host, seen.run, seen.is_whole, seen.sample_to_us,
        count(*) as part_count,
        case when count(*) = count(last_read.power_uw) then cast(sum(last_read.power_uw) as bigint) end as power_uw,
        case when count(*) = count(last_read.counter_mj) then cast(sum(last_read.counter_mj) as bigint) end as counter_mj
    from seen
    left join parts as last_read
        on
            seen.meter = last_read.meter
            and seen.host = last_read.host
            and seen.run = last_read.run
            and seen.series = last_read.series
            -- a join on equality alone: with a condition of one side every pair of rows is compared
            and case when seen.last_us >= seen.sample_to_us - {{ hour_us }} then seen.last_us end = last_read.sample_to_us
    where seen.last_us >= seen.sample_to_us - {{ hour_us }} or seen.next_us <= seen.sample_to_us + {{ hour_us }}
    group by all
),

-- and the sum of several is that of the time since one of them was read before
nodes as (
    select
        *,
        case
            when part_count > 1 then lag(sample_to_us) over (partition by {{ place }}, is_whole order by sample_to_us)
        end as since_us
    from sums
),

{{ counter_steps('nodes', place ~ ', is_whole', 'counter_mj', 6 * hour_us) }},

-- CodeCarbon writes a run again and again with all that it used since its start, which whole seconds of its clock blur
runs_of_counters as (
    select distinct {{ place }}, series, sample_from_us, sample_to_us, counter_mj
    from readings
    where meter = 'codecarbon' and sample_from_us is not null and counter_mj is not null
),

starts as (
    select
        *,
        case
            when sample_from_us - lag(sample_from_us) over (
                partition by {{ place }}, series order by sample_from_us, sample_to_us
            ) <= 2000000 then 0
            else 1
        end as is_start
    from runs_of_counters
),

tellings as (
    select
        *,
        sum(is_start) over (
            partition by {{ place }}, series
            order by sample_from_us, sample_to_us
            rows between unbounded preceding and current row
        ) as telling
    from starts
),

retold as (
    select
        {{ place }}, series, sample_from_us, sample_to_us, counter_mj,
        lag(sample_to_us) over (partition by {{ place }}, series, telling order by sample_to_us, counter_mj) as before_us,
        lag(counter_mj) over (partition by {{ place }}, series, telling order by sample_to_us, counter_mj) as before_mj
    from tellings
),

-- a row per reading: of a counter what it went on by since it was read before
stretches as (
    select
        readings.*,
        coalesce(counted.before_us, retold.before_us, readings.sample_from_us) as from_us,
        coalesce(counted.is_awaited, false) as is_awaited,
        case
            when retold.sample_to_us is not null then retold.counter_mj - coalesce(retold.before_mj, 0)
            -- over two days it is unknown when it was used; a counter that went back was reset
            when readings.sample_to_us - counted.before_us <= {{ widest_us }} then counted.grown
            when readings.meter in ('pdu', 'bmc') and readings.sample_from_us is not null then readings.counter_mj
        end as used_mj,
        coalesce(nodes.power_uw, case when not readings.is_part then readings.power_uw end) as stated_uw,
        case when readings.sample_to_us - nodes.since_us <= {{ hour_us }} then nodes.since_us end as since_us
    from readings
    left join nodes
        on
            readings.meter = nodes.meter
            and readings.host = nodes.host
            and readings.run = nodes.run
            and (readings.series = '') = nodes.is_whole
            and case when readings.is_part then readings.sample_to_us end = nodes.sample_to_us
    left join counter_steps as counted
        on
            readings.meter = counted.meter
            and readings.host = counted.host
            and readings.run = counted.run
            and (readings.series = '') = counted.is_whole
            and case when readings.is_part then readings.sample_to_us end = counted.sample_to_us
    left join retold
        on
            readings.meter = retold.meter
            and readings.host = retold.host
            and readings.run = retold.run
            and readings.series = retold.series
            and readings.sample_from_us = retold.sample_from_us
            and readings.sample_to_us = retold.sample_to_us
            and readings.counter_mj = retold.counter_mj
),

-- a counter that does not move while watts are drawn beside it is stuck, and shows nothing
counters as (
    select
        *,
        case
            when used_mj >= 0 and from_us < sample_to_us and not is_awaited
                then cast(
                    {{ int_div(
                        'cast(used_mj as decimal(28, 0)) * 1000000000',
                        'cast(sample_to_us - from_us as decimal(38, 0))'
                    ) }} as bigint
                )
        end as counter_uw,
        coalesce(used_mj = 0 and stated_uw > 0 and not is_awaited and meter <> 'codecarbon', false) as is_stuck,
        -- a switch is no machine, and of a machine without its accelerators it cannot be known what it draws
        component is not null and meter in ('mlperf', 'codecarbon') as is_no_machine
    from stretches
)

select
    source_name,
    source_object,
    row_number,
    document_hash,
    run_key,
    host_id,
    device_index,
    device_count,
    accelerator_type,
    region_id,
    case when used_mj is not null and not is_stuck then from_us else coalesce(sample_from_us, since_us) end as sample_from_us,
    sample_to_us,
    is_measured,
    utilisation_ppm,
    case when not is_part then component end as component,
    boundary,
    case
        when is_no_machine or is_awaited then null
        when counter_uw is not null and not is_stuck then counter_uw
        else stated_uw
    end as power_uw,
    driver_ppm,
    meter,
    sdk_version,
    is_sampled,
    -- what outlets showed last is of one moment too, though it counts since the reading before
    (used_mj is null or is_stuck) and sample_from_us is null as is_moment,
    counter_uw is not null and not is_stuck as is_counter,
    is_stuck,
    coalesce(sample_from_us, since_us) as moment_from_us,
    -- what CodeCarbon states beside its counter is the mean since its start
    case when counter_uw is not null and not is_stuck and meter <> 'codecarbon' then stated_uw end as moment_uw
from counters
