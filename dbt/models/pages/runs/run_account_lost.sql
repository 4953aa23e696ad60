select training_run_id, cause, billing_currency, cast(sum(effective_cost) as decimal(38, 12)) as effective_cost
from {{ ref('fct_lost_work') }}
group by all
