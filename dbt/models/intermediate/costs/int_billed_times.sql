{{ config(materialized='by_month') }}
{%- set machine = 'usage_month, resource_id, provider_name, payer_account_id' %}

with charges as (
    select
        *,
        held_resource_id as name,
        least(charge_period_end, cast(usage_month as timestamp) + interval 1 month) as period_end
    from {{ ref('int_named_charges') }}
    where {{ in_build_months() }} and is_usage and is_accelerator_type and not is_twin
),

-- one interval of a machine may be billed in several rows (chips, a commitment)
intervals as (
    select
        usage_month,
        name as resource_id,
        provider_name,
        payer_account_id,
        charge_period_start as billed_from,
        period_end as billed_to,
        least(
            sum(coalesce(billed_us, {{ microseconds('charge_period_start', 'period_end') }})),
            max({{ microseconds('charge_period_start', 'period_end') }})
        ) as billed_us
    from charges
    where period_end > charge_period_start
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
