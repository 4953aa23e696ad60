{{ config(materialized='by_month') }}
{%- set measures = ['billed_cost', 'effective_cost', 'list_cost', 'contracted_cost'] %}
{%- set nothing = 'cast(0 as decimal(38, 12))' %}

with sides as (
    select
        {{ cell() }}, billing_currency,
        billed_cost as provider_billed_cost,
        effective_base_cost as provider_effective_cost,
        list_cost as provider_list_cost,
        contracted_cost as provider_contracted_cost
        {%- for side in ['runs', 'residual'] %}{% for measure in measures %},
        {{ nothing }} as {{ side }}_{{ measure }}
        {%- endfor %}{% endfor %}
    from {{ ref('int_provider_cost_totals') }}
    where is_book

    union all

    -- effective cost leaves a month when a commitment is bought and comes back as it is used up
    select
        {{ cell() }}, billing_currency,
        {{ nothing }},
        {{ exact_sum(['amortised_used_cost', 'amortised_unused_cost', '-purchased_cost', 'refunded_cost'], 12) }}
            as provider_effective_cost,
        {{ nothing }}, {{ nothing }},
        {{ nothing }}, {{ nothing }}, {{ nothing }}, {{ nothing }},
        {{ nothing }}, {{ nothing }}, {{ nothing }}, {{ nothing }}
    from {{ ref('int_stated_commitment_flows') }}

    union all

    select
        {{ cell() }}, billing_currency,
        {{ nothing }}, {{ nothing }}, {{ nothing }}, {{ nothing }},
        {{ measures | join(', ') }},
        {{ nothing }}, {{ nothing }}, {{ nothing }}, {{ nothing }}
    from {{ ref('fct_run_cell_costs') }}

    union all

    select
        {{ cell() }}, billing_currency,
        {{ nothing }}, {{ nothing }}, {{ nothing }}, {{ nothing }},
        {{ nothing }}, {{ nothing }}, {{ nothing }}, {{ nothing }},
        {{ measures | join(', ') }}
    from {{ ref('fct_residual_costs') }}
)

select
    {{ cell() }},
    billing_currency,
    {%- for side in ['provider', 'runs', 'residual'] %}
    cast(sum({{ side }}_billed_cost) as decimal(38, 12)) as {{ side }}_billed_cost,
    cast(sum({{ side }}_effective_cost) as decimal(38, 12)) as {{ side }}_effective_cost,
    {{ whole_sum(side ~ '_list_cost', 'decimal(38, 12)') }} as {{ side }}_list_cost,
    {{ whole_sum(side ~ '_contracted_cost', 'decimal(38, 12)') }} as {{ side }}_contracted_cost{% if not loop.last %},{% endif %}
    {%- endfor %}
from sides
group by all
