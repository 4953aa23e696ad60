{%- set devices = ['int_node_device_spans', 'int_device_times'] %}
{{ config(materialized='by_month', meta={'empty_without': devices, 'by_day': 'usage_day'}) }}
{%- set node = 'usage_month, usage_day, resource_id' %}
{%- set span = node ~ ', span_from_us' %}
{%- set power_times = sums_of_power() %}
{%- set times = dict({
    'known_chips': 'known_us', 'used_ppm': 'used_ppm_us', 'filled_chips': 'filled_us', 'filled_ppm': 'filled_ppm_us',
}, **power_times) %}
{%- set chip_number = "cast(split_part(substr(device_id, length(host_key) + 2), '|', 1) as bigint)" %}
{%- set one = 'cast(1 as bigint) as ' %}
{%- set one_chip = one ~ ['share_numerator', 'share_denominator', 'pool_chips'] | join(',\n    ' ~ one) %}
{%- set is_known = 'coalesce(utilisation_ppm, power_uw, driver_ppm) is not null' %}

with devices as (
    select * from {{ ref('int_node_device_spans') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

device_times as (
    select * from {{ ref('int_device_times') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

plain_spans as (
    select *, true as is_plain from {{ ref('int_plain_spans') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

times as (
    select * from {{ ref('int_node_times') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

spans as (
    select * from {{ ref('int_node_spans') }}
    where {{ in_build_months() }} {{ and_in_built_days() }}
),

-- no more devices than chips are held (or than the node has, while no run holds it), none of them is a run's own, and a silent
-- one is a gap: of a plain span all count all the time
other_devices as (
    select
        devices.*,
        max(devices.observed_to_us - devices.observed_from_us) over (partition by {{ span }}) as bucket_us
    from devices
    left join plain_spans using ({{ span }})
    where plain_spans.is_plain is null
),

bucketed_devices as (
    {{ bucketed('other_devices', 'observed_from_us', 'observed_to_us') }}
),

slices as (
    {{ slices('other_devices', span ~ ', bucket_us', 'observed_from_us', 'observed_to_us') }}
),

slice_devices as (
    select
        {{ span }},
        slices.slice_from, slices.slice_to,
        devices.device_id,
        devices.host_key,
        devices.owner_run_id,
        devices.utilisation_ppm,
        devices.power_uw, devices.power_low_uw, devices.power_high_uw,
        devices.driver_ppm, devices.driver_low_ppm, devices.driver_high_ppm,
        devices.is_filled,
        devices.is_own_view,
        case when devices.is_filled then 2 else 0 end
        + case when devices.is_measured or coalesce(devices.power_uw, devices.driver_ppm) is not null then 0 else 1 end
            as evidence_rank,
        coalesce(ranked_devices.device_rank, 0) as device_rank
    from slices
    inner join bucketed_devices as devices using ({{ span }}, bucket_us)
    left join {{ ref('int_device_ranks') }} as ranked_devices using ({{ span }}, device_id)
    where
        {{ bucket_of('slices.slice_from') }} = devices.bucket
        and devices.observed_from_us <= slices.slice_from
        and devices.observed_to_us >= slices.slice_to
),

devices_of_machines as (
    select
        devices.*,
        hosts.host_chips,
        coalesce(hosts.living_chips, hosts.host_chips) as living_chips,
        coalesce({{ chip_number }} - {{ chip_number }} % hosts.living_chips, 0) as first_of_machine,
        not devices.is_filled and not {{ is_power_alone() }} as is_living
    from slice_devices as devices
    inner join {{ ref('int_node_hosts') }} as hosts using ({{ node }}, host_key)
),

placed_on_hosts as (
    select
        *,
        row_number() over (
            partition by {{ span }}, slice_from, host_key
            order by case when is_own_view then 0 else 1 end, evidence_rank, device_rank, device_id
        ) as place_on_host,
        row_number() over (
            partition by {{ span }}, slice_from, host_key, first_of_machine
            order by case when is_living then 0 else 1 end, device_id
        ) as place_on_machine
    from devices_of_machines
),

owners as (
    select {{ span }}, training_run_id as owner_run_id, run_chips from spans
),

-- first each run has the chips that carry its key, as many as it holds
placed_with_owners as (
    select
        devices.*,
        times.node_chips, times.held_chips, times.is_tpu,
        coalesce(
            row_number() over (
                partition by {{ span }}, devices.slice_from, owner_run_id
                order by devices.evidence_rank, devices.device_rank, devices.device_id
            ) <= owners.run_chips,
            false
        ) as is_own
    from placed_on_hosts as devices
    inner join times using ({{ span }})
    left join owners using ({{ span }}, owner_run_id)
    where devices.place_on_host <= devices.host_chips
),

own_use as (
    select
        {{ span }},
        slice_from,
        owner_run_id as training_run_id,
        slice_to - slice_from as slice_us,
        cast(count(*) as bigint) as chips,
        count(case when not is_filled and {{ is_known }} then 1 end) as known_chips,
        sum(case when is_filled then 0 else coalesce(utilisation_ppm, 0) end) as used_ppm,
        count(case when is_filled then utilisation_ppm end) as filled_chips,
        sum(case when is_filled then coalesce(utilisation_ppm, 0) else 0 end) as filled_ppm
        {%- for count in power_times %},
        sum({{ power_of_chip(count) }}) as {{ count }}
        {%- endfor %}
    from placed_with_owners
    where is_own
    group by all
),

-- then the others, the most used first, as long as chips are held; what is left is free
placed as (
    select
        *,
        sum(case when is_own then 1 else 0 end) over (partition by {{ span }}, slice_from) as own_chips,
        row_number() over (
            partition by {{ span }}, slice_from, is_own order by evidence_rank, device_rank, device_id
        ) as place
    from placed_with_owners
),

shared_places as (
    select
        *,
        not is_own and place <= held_chips - own_chips as is_shared,
        not is_own and place > held_chips - own_chips and place <= node_chips - own_chips as is_free
    from placed
),

slice_use as (
    select
        {{ span }},
        slice_from,
        slice_to - slice_from as slice_us,
        own_chips,
        held_chips - own_chips as chips,
        sum(case when is_shared and not is_filled and {{ is_known }} then 1 else 0 end)
        -- where a machine lives, a chip of it that is silent is idle
        + case
            when is_tpu
                then greatest(
                    least(
                        least(
                            sum(case
                                when place_on_machine = 1 and is_living then living_chips else 0
                            end),
                            held_chips
                        )
                        - sum(case when (is_own or is_shared) and not is_filled then 1 else 0 end),
                        held_chips - own_chips - sum(case when is_shared then 1 else 0 end)
                    ),
                    0
                )
            else 0
        end as known_chips,
        sum(case when is_shared and not is_filled then coalesce(utilisation_ppm, 0) else 0 end) as used_ppm,
        sum(case when is_shared and is_filled and utilisation_ppm is not null then 1 else 0 end) as filled_chips,
        sum(case when is_shared and is_filled then coalesce(utilisation_ppm, 0) else 0 end) as filled_ppm,
        sum(case when is_free then coalesce(utilisation_ppm, 0) else 0 end) as free_used_ppm
        {%- for count in power_times %},
        sum(case when is_shared then {{ power_of_chip(count) }} else 0 end) as {{ count }},
        sum(case when is_free then {{ power_of_chip(count) }} else 0 end) as free_{{ count }}
        {%- endfor %}
    from shared_places
    group by {{ span }}, slice_from, slice_to, own_chips, held_chips, is_tpu
),

-- chips that are shared: of a whole span, or of a slice in which some run has chips of its own
pools as (
    select
        {{ span }},
        case when own_chips > 0 then slice_from end as slice_from,
        chips,
        sum(cast(slice_us as decimal(18, 0))) as time_us
        {%- for count, time in times.items() %},
        sum(cast({{ count }} as decimal(19, 0)) * cast(slice_us as decimal(18, 0))) as {{ time }}
        {%- endfor %}
    from slice_use
    group by {{ span }}, case when own_chips > 0 then slice_from end, chips

    union all

    select
        {{ span }},
        cast(null as bigint) as slice_from,
        max(times.held_chips) as chips,
        max(cast(times.span_to_us - times.span_from_us as decimal(18, 0))) as time_us,
        sum(device_times.known_us) as known_us,
        sum(device_times.used_ppm_us) as used_ppm_us,
        0 as filled_us,
        0 as filled_ppm_us
        {%- for time in power_times.values() %},
        sum(device_times.{{ time }}) as {{ time }}
        {%- endfor %}
    from device_times
    inner join plain_spans using ({{ span }})
    inner join times using ({{ span }})
    group by {{ span }}
),

half_held as (
    select {{ span }}, {{ millionths('held_chips - span_chips') }} as free_parts
    from times
    where held_chips > span_chips
),

run_pools as (
    select
        {{ span }},
        training_run_id,
        -- more chips promised than there are: the node by what was promised; else what a run still lacks of what all lack
        case
            when times.is_oversubscribed then {{ millionths('holders.run_chips') }}
            else {{ millionths('holders.run_chips - coalesce(own_use.chips, 0)') }}
        end as part,
        case when times.is_oversubscribed then {{ millionths('times.span_chips') }} else {{ millionths('pools.chips') }} end
            as whole,
        cast(pools.chips as bigint) as pool_chips,
        pools.time_us
        {%- for time in times.values() %},
        pools.{{ time }}
        {%- endfor %}
    from pools
    inner join times using ({{ span }})
    inner join spans as holders using ({{ span }})
    left join own_use using ({{ span }}, slice_from, training_run_id)
)

select
    {{ span }},
    training_run_id,
    cast(case when part = whole then 1 else {{ int_div('part', share_unit('part', 'whole')) }} end as bigint) as share_numerator,
    cast(case when part = whole then 1 else {{ int_div('whole', share_unit('part', 'whole')) }} end as bigint)
        as share_denominator,
    case when part = whole then cast(1 as bigint) else pool_chips end as pool_chips,
    cast(sum(time_us) as decimal(38, 0)) as time_us
    {%- for time in times.values() %},
    cast(sum({{ time }}) as decimal(38, 0)) as {{ time }}
    {%- endfor %}
from run_pools
where part > 0
group by all

union all

select
    {{ span }},
    training_run_id,
    {{ one_chip }},
    cast(sum(slice_us) as decimal(38, 0)) as time_us
    {%- for count, time in times.items() %},
    cast(sum(cast({{ count }} as decimal(19, 0)) * cast(slice_us as decimal(18, 0))) as decimal(38, 0)) as {{ time }}
    {%- endfor %}
from own_use
group by all

union all

select
    {{ span }},
    cast(null as string) as training_run_id,
    {{ one_chip }},
    cast(sum(slice_us) as decimal(38, 0)) as time_us,
    cast(0 as decimal(38, 0)) as known_us,
    cast(sum(cast(free_used_ppm as decimal(19, 0)) * cast(slice_us as decimal(18, 0))) as decimal(38, 0)) as used_ppm_us,
    cast(0 as decimal(38, 0)) as filled_us,
    cast(0 as decimal(38, 0)) as filled_ppm_us
    {%- for count, time in power_times.items() %},
    cast(sum(cast(free_{{ count }} as decimal(19, 0)) * cast(slice_us as decimal(18, 0))) as decimal(38, 0)) as {{ time }}
    {%- endfor %}
from slice_use
where free_used_ppm > 0 or free_metered_chips > 0 or free_driven_chips > 0
group by all

union all

select
    {{ span }},
    cast(null as string) as training_run_id,
    {{ one_chip }},
    cast(max(times.span_to_us - times.span_from_us) as decimal(38, 0)) as time_us,
    cast(0 as decimal(38, 0)) as known_us,
    cast(sum(device_times.used_ppm_us) as decimal(38, 0)) as used_ppm_us,
    cast(0 as decimal(38, 0)) as filled_us,
    cast(0 as decimal(38, 0)) as filled_ppm_us
    {%- for time in power_times.values() %},
    cast(sum(device_times.{{ time }}) as decimal(38, 0)) as {{ time }}
    {%- endfor %}
from device_times
inner join plain_spans using ({{ span }})
inner join times using ({{ span }})
where times.held_chips = 0
group by {{ span }}
having sum(device_times.used_ppm_us + device_times.metered_us + device_times.driven_us) > 0

union all

-- of chips of which runs hold parts what is left of them is free
select
    {{ span }},
    cast(null as string) as training_run_id,
    {{ one_chip }},
    cast(sum(pools.time_us) as decimal(38, 0)) as time_us,
    cast(0 as decimal(38, 0)) as known_us,
    {%- for time in ['used_ppm_us'] + power_times.values() | list %}
    {%- if loop.index == 2 %}
    cast(0 as decimal(38, 0)) as filled_us,
    cast(0 as decimal(38, 0)) as filled_ppm_us,
    {%- endif %}
    {{ int_div(
        'cast(sum(' ~ int_div('cast(pools.' ~ time ~ ' * half_held.free_parts as decimal(38, 0))', 'cast(pools.chips as decimal(38, 0))')
        ~ ') as decimal(38, 0))', 'cast(1000000 as decimal(38, 0))'
    ) }} as {{ time }}{{ ',' if not loop.last }}
    {%- endfor %}
from pools
inner join half_held using ({{ span }})
where pools.chips > 0
group by {{ span }}
