-- the one definition of waste: what nobody used, and what was lost; a lost attempt's cost is part of what runs cost
with parts as (
    select
        usage_month, cause, billing_currency, effective_cost, facility_energy_kwh,
        nullif(training_run_id, '') as training_run_id
    from {{ ref('fct_lost_work') }}

    union all

    -- the energy of a reservation that nobody used is not known
    select
        usage_month, reason as cause, billing_currency, effective_cost, null as facility_energy_kwh,
        null as training_run_id
    from {{ ref('fct_residual_costs') }}
    where reason = 'unused_commitment'
),

-- the quarter before is beside its successor, as far as anything is published of it
of_quarters as (
    select quarters.quarter, parts.*, parts.usage_month < quarters.quarter_start as is_prior
    from parts
    inner join {{ ref('report_quarters') }} as quarters
        on parts.usage_month >= quarters.prior_start and parts.usage_month < quarters.quarter_end
),

bills as (
    select quarter, billing_currency, sum(effective_cost) as all_effective_cost
    from {{ ref('bill_parts') }}
    group by all
)

select
    quarter,
    coalesce(cause, 'total') as cause,
    billing_currency,
    coalesce(sum(effective_cost) filter (where not is_prior), 0) as effective_cost,
    {{ exact_ratio(
        'coalesce(sum(effective_cost) filter (where not is_prior), 0)', 'any_value(all_effective_cost)'
    ) }} as share_ratio,
    sum(effective_cost) filter (where is_prior) as prior_effective_cost,
    case
        when count(*) filter (where not is_prior) = count(facility_energy_kwh) filter (where not is_prior)
            then sum(facility_energy_kwh) filter (where not is_prior)
    end as facility_energy_kwh,
    nullif(count(distinct training_run_id) filter (where not is_prior), 0) as run_count,
    grouping(cause) > 0 as is_total,
    coalesce(list_position(['idle', 'unused_commitment', 'failed', 'interrupted'], cause), 5) as position
from of_quarters
left join bills using (quarter, billing_currency)
group by grouping sets ((quarter, billing_currency, cause), (quarter, billing_currency))
