-- of each claim about cost the types of its sides, and from which month on
with types as (
    select distinct
        members.claim_id,
        members.workload_key,
        members.role,
        members.provider_name,
        members.accelerator_type,
        min(pairs.cluster_start) over (partition by members.claim_id, members.workload_key) as first_day
    from {{ ref('int_claim_members') }} as members
    inner join {{ ref('int_claim_pairs') }} as pairs
        on
            members.claim_id = pairs.claim_id and members.workload_key = pairs.workload_key and members.pair_key = pairs.pair_key
    where members.test = 'paired_cost' and pairs.is_closed and pairs.set_aside_because is null
),

ends as (
    select max(window_end) as last_end from {{ ref('int_report_windows') }}
),

-- cost without a type is of every type of its provider, and counts once
matched as (
    select distinct
        types.claim_id, types.workload_key, types.role,
        months.billing_currency, months.usage_month, months.accelerator_type, months.accelerator_cost, months.residual_cost
    from types
    cross join ends
    inner join {{ ref('int_accelerator_months') }} as months
        on
            types.provider_name = months.provider_name and months.accelerator_type in ('', types.accelerator_type)
            and months.usage_month >= date_trunc('month', types.first_day) and months.usage_month < ends.last_end
),

currencies as (
    select
        claim_id, workload_key, role, billing_currency,
        case
            when sum(accelerator_cost) > 0 then cast(sum(residual_cost) as double) / cast(sum(accelerator_cost) as double)
        end as share
    from matched
    group by claim_id, workload_key, role, billing_currency
)

select
    claim_id,
    workload_key
    {%- for role in ['side', 'baseline'] %},
    min(case when role = '{{ role }}' then share end) as {{ role }}_least_share,
    max(case when role = '{{ role }}' then share end) as {{ role }}_share
    {%- endfor %}
from currencies
group by claim_id, workload_key
