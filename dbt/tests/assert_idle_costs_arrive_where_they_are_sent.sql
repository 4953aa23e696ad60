-- The fully loaded view moves idle cost inside a cell and loses nothing: what residuals spread is what runs receive.
{{ config(meta={'dagster': {'ref': {'name': 'fct_residual_costs'}}}) }}
with sent as (
    select
        {{ cell() }}, billing_currency,
        spread_billed_cost as idle_billed_cost,
        spread_effective_cost as idle_effective_cost
    from {{ ref('fct_residual_costs') }}
    where {{ of_built_months() }}
),

received as (
    select
        {{ cell() }}, billing_currency,
        idle_share_billed_cost as idle_billed_cost,
        idle_share_effective_cost as idle_effective_cost
    from {{ ref('fct_run_cell_costs') }}
    where {{ of_built_months() }}
)

{{ unequal_sums(
    'sent', 'received', cell() ~ ', billing_currency', ['idle_billed_cost', 'idle_effective_cost'], 12, zero_if_missing=true
) }}
