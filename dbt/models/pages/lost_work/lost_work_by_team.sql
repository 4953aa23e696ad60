select
    quarters.quarter, lost.cause, coalesce(runs.team, case when lost.cause = 'idle' then 'no run' end) as team,
    lost.billing_currency, {{ lost_work_measures() }}
from {{ ref('fct_lost_work') }} as lost
{{ of_quarters() }}
left join {{ ref('dim_training_runs') }} as runs using (training_run_id)
group by all
