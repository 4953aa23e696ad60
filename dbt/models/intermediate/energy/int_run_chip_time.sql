{{ config(materialized='by_month') }}
{%- set span = 'usage_month, resource_id, span_from_us' %}
{%- set seen = [
    'used_ppm_us', 'filled_us', 'filled_ppm_us', 'metered_us', 'metered_uw_us', 'metered_low_uw_us', 'metered_high_uw_us', 'driven_us',
    'driven_ppm_us', 'driven_low_ppm_us', 'driven_high_ppm_us', 'powered_ppm_us', 'power_alone_us',
] %}
{%- set million = 'cast(1000000 as decimal(38, 0))' %}
{%- set node = ['node_uw_us', 'node_low_uw_us', 'node_high_uw_us'] %}
{%- set zero = 'cast(0 as decimal(38, 0)) as ' %}
{%- set of_zeros = ',\n        ' ~ zero %}
with unknown_ends as (
    select distinct usage_month, training_run_id from {{ ref('int_month_holdings') }}
    where held_to is null
),

spans as (
    select
        holders.usage_month,
        holders.resource_id,
        span_from_us,
        holders.training_run_id,
        holders.accelerator_type,
        holders.run_chips,
        cast(times.span_to_us - times.span_from_us as decimal(18, 0)) as span_us,
        times.node_chips,
        times.span_chips,
        times.is_oversubscribed and holders.run_chips is not null as has_part,
        {{ millionths('holders.run_chips') }} as run_parts,
        {{ millionths('times.span_chips') }} as span_parts,
        {{ millionths('greatest(times.node_chips, times.span_chips)') }} as node_parts,
        times.node_uw_us,
        times.node_low_uw_us,
        times.node_high_uw_us,
        times.node_uw_us is not null as is_node_metered,
        -- joules of a machine whose chips no record counts are its only holder's
        times.node_uw_us is not null and holders.run_chips is null and times.holder_count = 1 as is_whole_machine,
        limits.limit_uw
    from {{ ref('int_node_spans') }} as holders
    inner join {{ ref('int_node_times') }} as times using ({{ span }})
    -- a span lies in one limit or in none (int_held_slices)
    left join {{ ref('int_power_limits') }} as limits
        on
            times.usage_month = limits.usage_month
            and times.resource_id = limits.resource_id
            and times.span_from_us >= limits.limited_from_us
            and times.span_from_us < limits.limited_to_us
    where not holders.is_ambiguous
),

shares as (
    select
        {{ span }},
        training_run_id,
        -- more chips promised than the node has: each run has a part of the whole node
        cast(case when has_part then {{ int_div('run_parts', share_unit('run_parts', 'span_parts')) }} else 1 end as bigint)
            as share_numerator,
        cast(case when has_part then {{ int_div('span_parts', share_unit('run_parts', 'span_parts')) }} else 1 end as bigint)
            as share_denominator,
        cast(
            case when has_part then node_chips else {{ int_div('coalesce(run_parts, 0)', million) }} end * span_us
            as decimal(38, 0)
        ) as reserved_us,
        {{ zero ~ (['observed_us'] + seen + node) | join(of_zeros) }}
    from spans

    union all

    select
        {{ span }},
        training_run_id,
        chip_use.share_numerator,
        chip_use.share_denominator,
        case
            when spans.has_part or chip_use.share_denominator = 1 then 0
            else cast(chip_use.pool_chips as decimal(19, 0)) * cast(chip_use.time_us as decimal(18, 0))
        end as reserved_us,
        chip_use.known_us as observed_us,
        {%- for time in seen %}
        chip_use.{{ time }},
        {%- endfor %}
        {{ zero ~ node | join(of_zeros) }}
    from {{ ref('int_chip_use') }} as chip_use
    inner join spans using ({{ span }}, training_run_id)

    union all

    -- the part of a chip beside the run's whole chips
    select
        {{ span }},
        training_run_id,
        cast(run_parts % 1000000 as bigint) as share_numerator,
        cast(1000000 as bigint) as share_denominator,
        span_us as reserved_us,
        {{ zero ~ (['observed_us'] + seen + node) | join(of_zeros) }}
    from spans
    where not has_part and run_parts % 1000000 > 0

    union all

    -- the time of shared chips is counted with them: of whole chips, and of the part of one
    {%- for of_whole_chips in [true, false] %}
    select
        {{ span }},
        training_run_id,
        cast({{ '1' if of_whole_chips else 'spans.run_parts % 1000000' }} as bigint) as share_numerator,
        cast({{ '1' if of_whole_chips else '1000000' }} as bigint) as share_denominator,
        -cast(
            {%- if of_whole_chips %}
            case
                when chip_use.share_denominator > chip_use.pool_chips
                    then {{ int_div('chip_use.share_numerator', '1000000') }}
                else chip_use.share_numerator
            end
            {%- else %} 1{% endif %} as decimal(19, 0)
        ) * cast(chip_use.time_us as decimal(18, 0)) as reserved_us,
        {{ zero ~ (['observed_us'] + seen + node) | join(of_zeros) }}
    from {{ ref('int_chip_use') }} as chip_use
    inner join spans using ({{ span }}, training_run_id)
    where
        not spans.has_part
        and chip_use.share_denominator > {{ '1' if of_whole_chips else 'chip_use.pool_chips and spans.run_parts % 1000000 > 0' }}

    union all
    {% endfor %}

    -- of what was read at the node a run has its chips' part; that of free chips is idle reserve
    select
        {{ span }},
        training_run_id,
        cast(case
            when is_whole_machine or run_parts = node_parts then 1
            else coalesce({{ int_div('run_parts', share_unit('run_parts', 'node_parts')) }}, 0)
        end as bigint) as share_numerator,
        cast(case
            when is_whole_machine or run_parts = node_parts then 1
            else coalesce({{ int_div('node_parts', share_unit('run_parts', 'node_parts')) }}, 1)
        end as bigint) as share_denominator,
        cast(0 as decimal(38, 0)) as reserved_us,
        {{ zero ~ (['observed_us'] + seen) | join(of_zeros) }},
        {{ node | join(', ') }}
    from spans
    where is_node_metered
)

select
    usage_month,
    training_run_id,
    resource_id,
    spans.accelerator_type,
    shares.share_numerator,
    shares.share_denominator,
    spans.is_node_metered,
    spans.limit_uw,
    -- nor is the energy of a part where the run held another machine until an unknown time
    bool_and(spans.run_chips is not null and unknown_ends.training_run_id is null) as is_chips_known,
    bool_and((spans.run_chips is not null or spans.is_whole_machine) and unknown_ends.training_run_id is null) as is_part_known,
    cast(sum(shares.reserved_us) as decimal(38, 0)) as reserved_us,
    cast(sum(shares.observed_us) as decimal(38, 0)) as observed_us,
    {%- for time in seen %}
    cast(sum(shares.{{ time }}) as decimal(38, 0)) as {{ time }},
    {%- endfor %}
    {%- for energy in node %}
    cast(sum(shares.{{ energy }}) as decimal(38, 0)) as {{ energy }}{{ ',' if not loop.last }}
    {%- endfor %}
from shares
inner join spans using ({{ span }}, training_run_id)
left join unknown_ends using (usage_month, training_run_id)
group by all
