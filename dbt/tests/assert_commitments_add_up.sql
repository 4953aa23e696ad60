-- a test of several models names one here, or Dagster does not show it as an asset check
{{ config(meta={'dagster': {'ref': {'name': 'fct_costs_by_commitment'}}}) }}
{%- set measures = ['billed_cost', 'effective_cost'] %}
-- the whole bill by cell and component, and each commitment's month, whatever it did: rows of zeros may be missing in either

with published as (
    {%- for table in ['fct_run_cell_costs', 'fct_residual_costs'] %}
    select {{ cell() }}, billing_currency, cost_component, {{ measures | join(', ') }}
    from {{ ref(table) }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

cells as (
    select {{ cell() }}, billing_currency, cost_component, {{ sums(measures, 12) }}
    from published
    where {{ of_built_months() }}
    group by all
),

parts as (
    select {{ cell() }}, billing_currency, cost_component, {{ sums(measures, 12) }}
    from {{ ref('fct_costs_by_commitment') }}
    where {{ of_built_months() }}
    group by all
),

flows as (
    select
        provider_name,
        payer_account_id,
        commitment_id,
        usage_month,
        billing_currency,
        cast(sum(case when commitment_part = 'purchase' then billed_cost else 0 end) as decimal(38, 12)) as paid_cost,
        cast(sum(case when commitment_part = 'used' then effective_cost else 0 end) as decimal(38, 12)) as used_cost,
        cast(sum(case when commitment_part = 'unused' then effective_cost else 0 end) as decimal(38, 12)) as unused_cost
    from {{ ref('fct_costs_by_commitment') }}
    where commitment_kind <> '' and {{ of_built_months() }}
    group by all
),

prepaid as (
    select * from {{ ref('fct_prepaid') }}
    where {{ of_built_months() }}
)

select
    'cell' as what,
    provider_name,
    payer_account_id,
    usage_month,
    billing_currency,
    cost_component as of_what,
    cells.effective_cost as published_cost,
    parts.effective_cost as parts_cost
from cells
full outer join parts using ({{ cell() }}, billing_currency, cost_component)
where
    coalesce(cells.billed_cost, 0) <> coalesce(parts.billed_cost, 0)
    or coalesce(cells.effective_cost, 0) <> coalesce(parts.effective_cost, 0)

union all

select
    'commitment' as what,
    provider_name,
    payer_account_id,
    usage_month,
    billing_currency,
    commitment_id as of_what,
    prepaid.amortised_used_cost as published_cost,
    flows.used_cost as parts_cost
from prepaid
full outer join flows using (provider_name, payer_account_id, commitment_id, usage_month, billing_currency)
where
    coalesce(prepaid.purchased_cost, 0)
    <> {{ exact_sum(['coalesce(flows.paid_cost, 0)', 'coalesce(prepaid.refunded_cost, 0)'], 12) }}
    or coalesce(prepaid.amortised_used_cost, 0) <> coalesce(flows.used_cost, 0)
    or coalesce(prepaid.amortised_unused_cost, 0) <> coalesce(flows.unused_cost, 0)
