-- the last month with costs that had ended when the publication was built
select
    least(
        cast(max(costs.usage_month) + interval 1 month as date),
        (select cast(date_trunc('month', max(builds.started_at)) as date) from {{ source('ops', 'builds') }} as builds)
    ) as window_end
from {{ ref('fct_training_run_costs') }} as costs
