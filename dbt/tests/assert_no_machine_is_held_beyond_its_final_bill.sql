-- What counts as held after the cut is no longer than a final bill shows of the machine. Records may say more: they are reported.
{{ config(meta={'dagster': {'ref': {'name': 'fct_training_run_energy'}}}) }}
with spans as (
    select distinct usage_month, resource_id, span_from_us, span_to_us from {{ ref('int_node_spans') }}
    where {{ of_built_months() }}
),

held as (
    select usage_month, resource_id, sum(span_to_us - span_from_us) as held_us
    from spans
    group by all
),

finals as (
    select distinct usage_month, resource_id from {{ ref('int_held_slices') }}
    where is_final and {{ of_built_months() }}
),

billed as (
    select usage_month, resource_id, sum(billed_us) as billed_us
    from {{ ref('int_billed_times') }}
    group by all
)

select held.usage_month, held.resource_id, held.held_us, billed.billed_us
from held
inner join finals using (usage_month, resource_id)
inner join billed using (usage_month, resource_id)
where held.held_us > billed.billed_us
