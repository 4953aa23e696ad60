{{ config(materialized='by_month') }}
{%- set machine = 'usage_month, resource_id, provider_name, payer_account_id' %}

with charges as (
    select
        *,
        held_resource_id as name,
        least(charge_period_end, cast(usage_month as timestamp) + interval 1 month) as period_end
    from {{ ref('int_named_charges') }}
    -- of a machine that no record names only hours of capacity blocks are known here: they are not all of its time
    where {{ in_build_months() }} and is_usage and is_accelerator_type and is_recorded and not is_twin
    -- the parts of its pods are of one time of the machine
    and coalesce(part_number, 1) = 1
),

-- of a row that is many hours of a machine the first is shown, and all are as long
hours_of_groups as (
    select
        usage_month,
        source_name || '|' || source_object || '|' || cast(row_number as string) as line_id,
        {{ each_of('hours_from') }} as hour_from
    from {{ ref('int_aws_line_groups') }}
    where {{ in_build_months() }} and line_count > 1
),

timed_charges as (
    select
        charges.*,
        coalesce(hours.hour_from, charges.charge_period_start) as billed_from,
        {{ timestamp_of(
            instant_us('coalesce(hours.hour_from, charges.charge_period_start)')
            ~ ' + ' ~ instant_us('charges.period_end') ~ ' - ' ~ instant_us('charges.charge_period_start')
        ) }} as billed_to,
        {{ microseconds('charges.charge_period_start', 'charges.period_end') }} as period_us
    from charges
    left join hours_of_groups as hours on charges.usage_month = hours.usage_month and charges.line_id = hours.line_id
    where charges.period_end > charges.charge_period_start
),

-- one interval of a machine may be billed in several rows (chips, a commitment)
intervals as (
    select
        usage_month,
        name as resource_id,
        provider_name,
        payer_account_id,
        billed_from,
        billed_to,
        least(sum(coalesce(billed_us, period_us)), max(period_us)) as billed_us
    from timed_charges
    group by all
),

intervals_with_reach as (
    select
        *,
        max(billed_to) over (
            partition by {{ machine }} order by billed_from, billed_to rows between unbounded preceding and 1 preceding
        ) as reached
    from intervals
),

stretches as (
    select
        *,
        sum(case when reached >= billed_from then 0 else 1 end) over (
            partition by {{ machine }} order by billed_from, billed_to rows between unbounded preceding and current row
        ) as stretch
    from intervals_with_reach
)

select
    {{ machine }},
    min(billed_from) as billed_from,
    max(billed_to) as billed_to,
    cast(least(sum(billed_us), {{ microseconds('min(billed_from)', 'max(billed_to)') }}) as decimal(38, 0)) as billed_us
from stretches
group by {{ machine }}, stretch
