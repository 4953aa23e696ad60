{{ config(materialized='view') }}

-- of all months: the refund of a one-time fee may come long after the plan that it names by the end of its ARN
with plans as (
    select payer_account_id, plan_id, min(plan_arn) as plan_arn, min(usage_month) as first_month
    from {{ ref('int_saving_plan_names') }}
    group by all
)

select
    {{ cell_of('flows') }},
    flows.billing_currency,
    flows.commitment_kind,
    coalesce(plans.plan_arn, flows.commitment_id) as commitment_id,
    flows.bought_for,
    flows.purchased_cost,
    flows.refunded_cost,
    flows.amortised_used_cost,
    flows.amortised_unused_cost,
    flows.stated_row_count
from {{ ref('int_stated_commitment_flows') }} as flows
left join plans
    on
        flows.payer_account_id = plans.payer_account_id
        and flows.commitment_id = plans.plan_id
        and plans.first_month <= flows.usage_month
