-- how many figures a cause moved, or made known or unknown
select
    report_id,
    cause,
    count(*) as figure_count,
    count(*) filter (where datapoint_id like '%/glance/%') as headline_count,
    list_position(['code', 'bill', 'run_record', 'late_log', 'provider_model_version', 'factor_or_seed'], cause) as position
from {{ ref('fct_restatements') }}
where delta <> 0 or (before is null) <> (after is null)
group by all
