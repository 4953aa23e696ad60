select
    training_run_id, source_name, sub_account_id, service_code, region_id, billing_currency,
    cast(sum(effective_cost) as decimal(38, 12)) as effective_cost
from {{ ref('fct_run_cell_costs') }}
group by all
