{%- set reasons = ('run', 'idle', 'unused_commitment', 'unlogged', 'no_record') %}
-- what runs cost has the type that the bill names; a correction without use has none
with accelerator_costs as (
    select usage_month, provider_name, billing_currency, 'not named' as accelerator_type, 'run' as reason, effective_cost
    from {{ ref('fct_run_cell_costs') }}
    where cost_component = 'accelerator'

    union all

    select
        usage_month,
        provider_name,
        billing_currency,
        unnest([accelerator_type, 'not named']) as accelerator_type,
        'run' as reason,
        unnest([effective_cost, -effective_cost]) as effective_cost
    from {{ ref('fct_purchase_costs') }}

    union all

    select
        usage_month,
        provider_name,
        billing_currency,
        coalesce(nullif(accelerator_type, ''), 'not named') as accelerator_type,
        reason,
        effective_cost
    from {{ ref('fct_residual_costs') }}
    where cost_component = 'accelerator' or accelerator_type <> ''
),

costs as (
    select windows.window_start, windows.window_end, accelerator_costs.*
    from accelerator_costs
    inner join {{ ref('int_report_windows') }} as windows
        on accelerator_costs.usage_month >= windows.window_start and accelerator_costs.usage_month < windows.window_end
)

select
    window_start,
    window_end,
    provider_name,
    billing_currency,
    accelerator_type,
    {%- for reason in reasons %}
    coalesce(sum(effective_cost) filter (where reason = '{{ reason }}'), 0) as {{ reason }}_cost,
    {%- endfor %}
    coalesce(sum(effective_cost) filter (where reason not in {{ reasons }}), 0) as other_cost,
    coalesce(sum(effective_cost) filter (where reason <> 'run'), 0) as residual_cost,
    sum(effective_cost) as accelerator_cost,
    {{ exact_ratio('residual_cost', 'accelerator_cost') }} as residual_ratio,
    grouping(accelerator_type) > 0 as is_total
from costs
group by grouping sets (
    (window_start, window_end, provider_name, billing_currency, accelerator_type),
    (window_start, window_end, provider_name, billing_currency)
)
having
    grouping(accelerator_type) > 0 or accelerator_type <> 'not named' or bool_or(reason <> 'run')
    or sum(effective_cost) <> 0
