with parts as (
    select quarters.quarter, costs.provider_name, costs.billing_currency, true as is_run, costs.effective_cost, costs.billed_cost
    from {{ ref('fct_run_cell_costs') }} as costs
    {{ of_quarters() }}
    union all
    select quarters.quarter, costs.provider_name, costs.billing_currency, false as is_run, costs.effective_cost, costs.billed_cost
    from {{ ref('fct_residual_costs') }} as costs
    {{ of_quarters() }}
)

select
    quarter,
    provider_name,
    billing_currency,
    {%- for measure in ('effective', 'billed') %}
    coalesce(sum({{ measure }}_cost) filter (where is_run), 0) as run_{{ measure }}_cost,
    coalesce(sum({{ measure }}_cost) filter (where not is_run), 0) as rest_{{ measure }}_cost,
    coalesce(sum({{ measure }}_cost), 0) as all_{{ measure }}_cost,
    {%- endfor %}
    grouping(provider_name) > 0 as is_total
from parts
group by grouping sets ((quarter, provider_name, billing_currency), (quarter, billing_currency))
