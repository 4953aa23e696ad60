select
    quarter,
    provider_name,
    billing_currency,
    {{ whole('effective_cost') }} as effective_cost,
    {{ whole('effective_cost_with_energy') }} as effective_cost_with_energy,
    {{ exact_ratio('sum(effective_cost_with_energy)', 'sum(effective_cost)') }} as energy_coverage_ratio,
    {{ whole('effective_cost_with_carbon') }} as effective_cost_with_carbon,
    {{ exact_ratio('sum(effective_cost_with_carbon)', 'sum(effective_cost)') }} as carbon_coverage_ratio,
    grouping(provider_name) > 0 as is_total
from {{ ref('rpt_coverage') }}
{{ of_quarters() }}
group by grouping sets ((quarter, provider_name, billing_currency), (quarter, billing_currency))
