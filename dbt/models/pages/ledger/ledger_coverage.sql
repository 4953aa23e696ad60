select
    usage_month, provider_name, billing_currency,
    cast(sum(effective_cost) as decimal(38, 12)) as effective_cost,
    cast(sum(effective_cost_with_energy) as decimal(38, 12)) as effective_cost_with_energy,
    cast(sum(effective_cost_with_carbon) as decimal(38, 12)) as effective_cost_with_carbon
from {{ ref('rpt_coverage') }}
group by all
