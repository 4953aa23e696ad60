-- prices side by side rank nothing: beside them is the newest verdict of the workload at what was paid
with verdicts as (
    select workload_key, verdict
    from {{ ref('rpt_trainium_vs_tpu') }}
    where kpi in {{ primary_kpis() }}
    qualify row_number() over (
        partition by workload_key order by window_end desc, window_start, verdict = 'not_comparable', kpi desc
    ) = 1
)

select
    options.workload_key,
    options.accelerator_type,
    options.region_id,
    options.purchase_option,
    options.billing_currency,
    cast(options.cost_per_run as decimal(38, 12)) as option_cost,
    verdicts.verdict,
    options.price_source,
    options.price_date
from {{ ref('rpt_purchase_options') }} as options
left join verdicts using (workload_key)
