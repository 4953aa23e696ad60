{{ config(materialized='by_month', meta={'empty_without': ['int_metered_power']}) }}
{%- set reading = 'usage_month, meter, read_by, sample_from_us, sample_to_us' %}
{%- set machine = reading ~ ', machine_name' %}
{#- watts of a host, of a chip that a run holds, and of one that none does -#}
{%- set levels = {
    'weight_uw': ['host.host_power_w_mid', 'power.chip_power_mean_w', 'least(power.chip_power_idle_w_mid, power.chip_power_mean_w)'],
    'least_uw': ['host.host_power_w_low', 'power.chip_power_idle_w_low', 'power.chip_power_idle_w_low'],
    'most_uw': ['host.host_power_w_high', 'power.chip_power_max_w_high', 'power.chip_power_idle_w_high'],
} %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

mapped as (
    select meter, machine, {{ machine_name('meter') }} as meter_name, {{ machine_name('machine') }} as machine_name
    from {{ source('raw', 'shared_meters') }}
),

meters as (
    select distinct meter, meter_name from mapped
),

machines as (
    select distinct machine_name from mapped
),

month_readings as (
    select
        readings.usage_month, readings.boundary, readings.meter, readings.device_index, readings.power_uw,
        readings.power_low_uw, readings.power_high_uw,
        {{ machine_name('readings.host_id') }} as machine_name,
        greatest(readings.sample_from_us, months.month_from_us) as sample_from_us,
        least(readings.sample_to_us, months.month_to_us) as sample_to_us
    from {{ ref('int_metered_power') }} as readings
    inner join months using (usage_month)
    where
        readings.power_uw is not null
        and readings.host_id is not null
        and not readings.is_below_band
        and {{ in_build_months('readings.usage_month') }}
),

-- what a meter of several machines read; of two figures of one time the greater
shared as (
    select
        month_readings.usage_month,
        meters.meter,
        month_readings.meter as read_by,
        month_readings.sample_from_us,
        month_readings.sample_to_us,
        max(month_readings.power_uw) as meter_uw,
        max(month_readings.power_low_uw) as meter_low_uw,
        max(month_readings.power_high_uw) as meter_high_uw
    from month_readings
    inner join meters on month_readings.machine_name = meters.meter_name
    where month_readings.boundary = 'node' and month_readings.sample_from_us < month_readings.sample_to_us
    group by all
),

shares as (
    select shared.*, mapped.machine, mapped.machine_name, shared.sample_to_us - shared.sample_from_us as reading_us
    from shared
    inner join mapped using (meter)
),

-- rows of one machine, both kinds beside the buckets of time that they touch
own as (
    select month_readings.*
    from month_readings
    inner join machines using (machine_name)
    -- an estimate by a process is no reading
    where month_readings.meter <> 'codecarbon'
),

longest as (
    select usage_month, machine_name, max(row_us) as bucket_us
    from (
        select usage_month, machine_name, reading_us as row_us from shares
        union all
        select usage_month, machine_name, sample_to_us - sample_from_us as row_us from own
    ) as times
    group by all
),

{%- for rows in ['shares', 'own'] %}
timed_{{ rows }} as (
    select {{ rows }}.*, longest.bucket_us
    from {{ rows }}
    inner join longest using (usage_month, machine_name)
),

bucketed_{{ rows }} as (
    {{ bucketed('timed_' ~ rows, 'sample_from_us', 'sample_to_us') }}
),
{% endfor %}
own_parts as (
    select
        shares.usage_month, shares.meter, shares.read_by, shares.sample_from_us, shares.sample_to_us, shares.machine_name,
        own.boundary, own.device_index, own.meter as own_meter, shares.reading_us,
        least(own.sample_to_us, shares.sample_to_us) - greatest(own.sample_from_us, shares.sample_from_us) as overlap_us,
        own.power_uw
    from bucketed_shares as shares
    inner join bucketed_own as own using (usage_month, machine_name, bucket)
    where
        own.sample_from_us < shares.sample_to_us
        and own.sample_to_us > shares.sample_from_us
        -- two rows may share two buckets: they meet in the one in which the later of them begins
        and shares.bucket
        = {{ bucket_of('greatest(own.sample_from_us, shares.sample_from_us)').replace('bucket_us', 'shares.bucket_us') }}
),

-- what was read of a machine, or of a chip of it, through the whole of a reading: its mean; of several meters the greatest
own_means as (
    select {{ machine }}, boundary, device_index, max(mean_uw) as mean_uw
    from (
        select
            {{ machine }}, boundary, device_index, own_meter,
            {{ int_div(
                'sum(cast(power_uw as decimal(19, 0)) * cast(overlap_us as decimal(18, 0)))', 'max(reading_us)'
            ) }} as mean_uw
        from own_parts
        group by {{ machine }}, boundary, device_index, own_meter
        having sum(overlap_us) >= max(reading_us)
    ) as whole_readings
    group by all
),

own_of_machines as (
    select
        {{ machine }},
        max(case when boundary = 'node' then mean_uw end) as node_uw,
        sum(case when boundary = 'chip' then mean_uw end) as chips_uw,
        count(case when boundary = 'chip' then 1 end) as chip_count
    from own_means
    group by all
),

holdings as (
    select
        holdings.usage_month,
        {{ machine_name('holdings.resource_id') }} as machine_name,
        holdings.accelerator_type,
        {{ instant_us('holdings.held_from') }} as held_from_us,
        coalesce({{ instant_us('holdings.held_to') }}, months.month_to_us) as held_to_us
    from {{ ref('int_machine_holdings') }} as holdings
    inner join months using (usage_month)
    where holdings.resource_id is not null
),

types_of_machines as (
    select usage_month, machine_name, max(accelerator_type) as accelerator_type
    from holdings
    group by all
),

-- a machine that no run held in the month is of the type of its neighbours, where these are of one
types_of_meters as (
    select types.usage_month, mapped.meter, max(types.accelerator_type) as accelerator_type
    from mapped
    inner join types_of_machines as types using (machine_name)
    group by all
    having min(types.accelerator_type) = max(types.accelerator_type)
),

-- what several runs hold at one time counts once
held_pieces as (
    select usage_month, machine_name, greatest(held_from_us, coalesce(reached_us, held_from_us)) as held_from_us, held_to_us
    from (
        select
            *,
            max(held_to_us) over (
                partition by usage_month, machine_name order by held_from_us, held_to_us
                rows between unbounded preceding and 1 preceding
            ) as reached_us
        from holdings
    ) as holdings_with_reach
),

held_times as (
    select
        {{ machine }},
        sum(least(pieces.held_to_us, shares.sample_to_us) - greatest(pieces.held_from_us, shares.sample_from_us)) as held_us
    from shares
    inner join held_pieces as pieces using (usage_month, machine_name)
    where
        pieces.held_from_us < pieces.held_to_us
        and pieces.held_from_us < shares.sample_to_us
        and pieces.held_to_us > shares.sample_from_us
    group by all
),

-- the model's watts: at rest, or the mean of the type for the time in which runs hold the machine, each at the least and at the
-- most; chips that were read as read
weights as (
    select
        shares.*,
        own.node_uw,
        {%- for level, (of_host, held_chip, free_chip) in levels.items() %}
        {{ to_units(of_host, 6) }} + case
            when own.chip_count >= host.chips_per_node then own.chips_uw
            else {{ int_div(
                'cast(host.chips_per_node as decimal(10, 0)) * ('
                ~ 'cast(' ~ to_units(held_chip, 6) ~ ' as decimal(14, 0)) * coalesce(held.held_us, 0)'
                ~ ' + cast(' ~ to_units(free_chip, 6) ~ ' as decimal(14, 0))'
                ~ ' * (shares.reading_us - coalesce(held.held_us, 0)))', 'shares.reading_us'
            ) }}
        end as {{ level }}{{ ',' if not loop.last }}
        {%- endfor %}
    from shares
    left join own_of_machines as own using ({{ machine }})
    left join held_times as held using ({{ machine }})
    left join types_of_machines as types using (usage_month, machine_name)
    left join types_of_meters using (usage_month, meter)
    left join {{ ref('accelerator_power') }} as power
        on coalesce(types.accelerator_type, types_of_meters.accelerator_type) = power.accelerator_type
    left join {{ ref('host_power') }} as host
        on coalesce(types.accelerator_type, types_of_meters.accelerator_type) = host.accelerator_type
),

-- a meter that reads less than its machines' own sees a part, and where the weight of a machine is unknown that of all is
divided as (
    select
        {{ reading }},
        max(meter_uw) as meter_uw,
        cast(max(meter_uw) - coalesce(sum(node_uw), 0) as decimal(38, 0)) as left_uw,
        cast(greatest(max(meter_low_uw) - coalesce(sum(node_uw), 0), 0) as decimal(38, 0)) as left_low_uw,
        cast(max(meter_high_uw) - coalesce(sum(node_uw), 0) as decimal(38, 0)) as left_high_uw
        {%- for level in levels %},
        cast(sum(case when node_uw is null then {{ level }} end) as decimal(38, 0)) as all_{{ level }}
        {%- endfor %}
    from weights
    group by all
    having
        count(case when node_uw is null and weight_uw is null then 1 end) = 0
        and max(meter_uw) >= coalesce(sum(node_uw), 0)
),

parts as (
    select
        weights.*,
        divided.left_uw,
        divided.all_weight_uw,
        cast(divided.left_uw * weights.weight_uw as decimal(38, 0)) as product,
        -- at the least where it draws the least and its neighbours the most, and the other way round
        {{ int_div(
            'cast(divided.left_low_uw * weights.least_uw as decimal(38, 0))',
            'cast(weights.least_uw + divided.all_most_uw - weights.most_uw as decimal(38, 0))'
        ) }} as part_low_uw,
        {{ cut_up(
            'cast(divided.left_high_uw * weights.most_uw as decimal(38, 0))',
            'cast(weights.most_uw + divided.all_least_uw - weights.least_uw as decimal(38, 0))'
        ) }} as part_high_uw
    from weights
    inner join divided using ({{ reading }})
    where weights.node_uw is null
),

-- whole microwatts, the largest rest first, so that the parts are the whole
rounded as (
    select
        *,
        {{ int_div('product', 'all_weight_uw') }} as part_uw,
        row_number() over (partition by {{ reading }} order by product % all_weight_uw desc, machine) as place,
        left_uw - sum({{ int_div('product', 'all_weight_uw') }}) over (partition by {{ reading }}) as rest_uw
    from parts
)

select
    {{ reading }},
    machine as resource_id,
    'divided' as share,
    cast(part_uw + case when place <= rest_uw then 1 else 0 end as bigint) as power_uw,
    cast(part_low_uw as bigint) as power_low_uw,
    cast(part_high_uw as bigint) as power_high_uw,
    meter_uw
from rounded

union all

-- a machine that was read itself keeps what was read of it
select
    {{ reading }},
    weights.machine as resource_id,
    'own' as share,
    cast(weights.node_uw as bigint) as power_uw,
    cast(null as bigint) as power_low_uw,
    cast(null as bigint) as power_high_uw,
    divided.meter_uw
from weights
inner join divided using ({{ reading }})
where weights.node_uw is not null

union all

-- where all were, what is left is of none of them: switches, losses, whatever else the meter feeds
select
    {{ reading }},
    cast(null as string) as resource_id,
    'rest' as share,
    cast(left_uw as bigint) as power_uw,
    cast(null as bigint) as power_low_uw,
    cast(null as bigint) as power_high_uw,
    meter_uw
from divided
where all_weight_uw is null and left_uw > 0
