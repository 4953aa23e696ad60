-- Every cost cell's two sides: what the provider's file says and where the ledger put it.
with sides as (
    select
        {{ cell() }}, billing_currency,
        billed_cost as provider_billed_cost,
        billed_cost as provider_effective_cost,
        list_cost as provider_list_cost,
        0 as runs_billed_cost, 0 as runs_effective_cost, cast(0 as decimal(38, 12)) as runs_list_cost,
        0 as residual_billed_cost, 0 as residual_effective_cost, cast(0 as decimal(38, 12)) as residual_list_cost
    from {{ ref('int_provider_cost_totals') }}
    where is_book

    union all

    -- effective cost leaves a month when a commitment is bought and comes back as it is used up
    select
        {{ cell() }}, billing_currency,
        0, amortised_used_cost + amortised_unused_cost - purchased_cost + refunded_cost, cast(0 as decimal(38, 12)),
        0, 0, cast(0 as decimal(38, 12)),
        0, 0, cast(0 as decimal(38, 12))
    from {{ ref('int_commitment_flows') }}

    union all

    select
        {{ cell() }}, billing_currency,
        0, 0, cast(0 as decimal(38, 12)),
        billed_cost, effective_cost, list_cost,
        0, 0, cast(0 as decimal(38, 12))
    from {{ ref('fct_run_cell_costs') }}

    union all

    select
        {{ cell() }}, billing_currency,
        0, 0, cast(0 as decimal(38, 12)),
        0, 0, cast(0 as decimal(38, 12)),
        billed_cost, effective_cost, list_cost
    from {{ ref('fct_residual_costs') }}
)

select
    {{ cell() }},
    billing_currency,
    {%- for side in ['provider', 'runs', 'residual'] %}
    cast(sum({{ side }}_billed_cost) as decimal(38, 12)) as {{ side }}_billed_cost,
    cast(sum({{ side }}_effective_cost) as decimal(38, 12)) as {{ side }}_effective_cost,
    {{ whole_sum(side ~ '_list_cost', 'decimal(38, 12)') }} as {{ side }}_list_cost{% if not loop.last %},{% endif %}
    {%- endfor %}
from sides
group by {{ cell() }}, billing_currency
