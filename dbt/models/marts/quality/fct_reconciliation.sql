{#-
  An invoice has rows of other usage months: each build puts its few rows in anew, and what Google states of it, whichever months it
  builds.
-#}
{%- set of_invoices -%}
measure = 'invoiced_cost'
or (method = 'cross_check' and provider_name = 'Google Cloud' and sub_account_id || service_code = '')
{%- endset -%}
{{ config(materialized='by_month', meta={'also_replaced': of_invoices, 'rebuilt_for': 'status'}) }}
{%- set money_of_cell
    = 'provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, billing_currency' %}
{%- set total = 'provider_name, payer_account_id, usage_month, billing_currency' %}
with book_cells as (
    select {{ money_of_cell }}, cast(sum(billed_cost) as decimal(38, 12)) as book_billed_cost
    from {{ ref('int_provider_cost_totals') }}
    where is_book
    group by all
),

-- the same money in an export that is not the book; null where the book has no such cell
other_exports as (
    select
        {{ cell_of('totals') }},
        totals.billing_currency,
        totals.billed_cost as other_billed_cost,
        book_cells.book_billed_cost
    from {{ ref('int_provider_cost_totals') }} as totals
    left join book_cells using ({{ money_of_cell }})
    where not totals.is_book
),

-- every row of Google's twice: once on the invoice that it names, once in its month of use
invoice_sides as (
    select
        source_name, payer_account_id, billing_currency, invoice_month as usage_month,
        invoiced_cost,
        cast(0 as decimal(38, 12)) as used_cost,
        case when usage_month <> invoice_month then line_count else 0 end as other_month_count,
        0 as other_invoice_count,
        true as is_invoiced
    from {{ ref('int_gcp_invoice_months') }}
    where invoice_month is not null

    union all

    select
        source_name, payer_account_id, billing_currency, usage_month,
        cast(0 as decimal(38, 12)) as invoiced_cost,
        invoiced_cost as used_cost,
        0 as other_month_count,
        case when invoice_month = usage_month then 0 else line_count end as other_invoice_count,
        false as is_invoiced
    from {{ ref('int_gcp_invoice_months') }}
),

invoices as (
    select
        source_name, payer_account_id, billing_currency, usage_month,
        bool_or(is_invoiced) as is_invoiced,
        cast(sum(other_month_count) as bigint) as other_month_count,
        cast(sum(other_invoice_count) as bigint) as other_invoice_count,
        {{ sums(['invoiced_cost', 'used_cost'], 12) }}
    from invoice_sides
    group by all
),

-- which charge types of a final month differ from what the provider states by itself
differing_types as (
    select
        {{ total }},
        {{ in_one_text(
            "charge_type || ': ' || cast(stated_cost as string) || ' stated, ' || cast(billed_cost as string) || ' billed'"
        ) }} as reason
    from {{ ref('int_provider_totals') }}
    where charge_type <> '' and not is_met
    group by all
),

balances as (
    {%- for measure in ['billed_cost', 'effective_cost', 'list_cost', 'contracted_cost'] %}
    select
        {{ cell() }},
        '{{ measure }}' as measure,
        billing_currency as unit_or_currency,
        '' as provider_model_version,
        provider_{{ measure }} as provider_total,
        runs_{{ measure }} as runs_total,
        residual_{{ measure }} as residual_total,
        cast(0 as decimal(38, 12)) as quarantined_total,
        cast(null as double) as weight_coverage_ratio,
        true as is_elected
    from {{ ref('int_cost_conservation') }}
    {% if measure in ['list_cost', 'contracted_cost'] -%}
    -- half a total is not a total: a cell with a charge that has no such price has none
    where provider_{{ measure }} is not null and runs_{{ measure }} is not null and residual_{{ measure }} is not null
    {% endif %}
    union all
    {% endfor %}
    select
        {{ cell() }}, measure, 'kgCO2e' as unit_or_currency, provider_model_version
        {%- for total in ['provider_total', 'runs_total', 'residual_total', 'quarantined_total'] %},
        cast({{ total }} as decimal(38, 12)) as {{ total }}
        {%- endfor %},
        weight_coverage_ratio,
        is_elected
    from {{ ref('int_carbon_conservation') }}
)

select
    {{ cell() }},
    measure,
    unit_or_currency,
    provider_model_version,
    'conservation' as method,
    provider_total,
    runs_total,
    residual_total,
    quarantined_total,
    {{ exact_sum(['provider_total', '-runs_total', '-residual_total', '-quarantined_total'], 12) }} as difference,
    cast(null as decimal(38, 12)) as modelled_total,
    cast(null as double) as ratio,
    weight_coverage_ratio,
    cast(null as string) as reason,
    is_elected
from balances

union all

select
    {{ cell() }},
    'billed_cost' as measure,
    billing_currency as unit_or_currency,
    '' as provider_model_version,
    'cross_check' as method,
    cast(book_billed_cost as decimal(38, 12)) as provider_total,
    cast(null as decimal(38, 12)) as runs_total,
    cast(null as decimal(38, 12)) as residual_total,
    cast(null as decimal(38, 12)) as quarantined_total,
    {{ exact_sum(['book_billed_cost', '-other_billed_cost'], 12) }} as difference,
    cast(null as decimal(38, 12)) as modelled_total,
    case when book_billed_cost <> 0 then round(cast(other_billed_cost as double) / cast(book_billed_cost as double), 9) end
        as ratio,
    cast(null as double) as weight_coverage_ratio,
    case when book_billed_cost is null then 'the book source has no such cell' end as reason,
    -- the book's own rows have this money already
    false as is_elected
from other_exports

union all

select
    source_name, 'Google Cloud' as provider_name, payer_account_id, '' as sub_account_id, '' as service_code, '' as region_id,
    -- of these rows the month of the invoice
    usage_month,
    'invoiced_cost' as measure,
    billing_currency as unit_or_currency,
    '' as provider_model_version,
    'cross_check' as method,
    invoiced_cost as provider_total,
    cast(null as decimal(38, 12)) as runs_total,
    cast(null as decimal(38, 12)) as residual_total,
    cast(null as decimal(38, 12)) as quarantined_total,
    {{ exact_sum(['invoiced_cost', '-used_cost'], 12) }} as difference,
    cast(null as decimal(38, 12)) as modelled_total,
    cast(null as double) as ratio,
    cast(null as double) as weight_coverage_ratio,
    'invoice month ' || substr(cast(usage_month as string), 1, 7) || ': ' || cast(other_month_count as string)
    || ' rows of other usage months on it, ' || cast(other_invoice_count as string) || ' rows of this usage month not on it'
        as reason,
    false as is_elected
from invoices
where is_invoiced

union all

-- what the provider states by itself that a final month costs: of Google Cloud the month of the invoice
select
    totals.source_name, totals.provider_name, totals.payer_account_id, '' as sub_account_id, '' as service_code, '' as region_id,
    totals.usage_month,
    'billed_cost' as measure,
    totals.billing_currency as unit_or_currency,
    '' as provider_model_version,
    'cross_check' as method,
    totals.stated_cost as provider_total,
    cast(null as decimal(38, 12)) as runs_total,
    cast(null as decimal(38, 12)) as residual_total,
    cast(null as decimal(38, 12)) as quarantined_total,
    totals.difference,
    cast(null as decimal(38, 12)) as modelled_total,
    cast(null as double) as ratio,
    cast(null as double) as weight_coverage_ratio,
    case when totals.billed_cost is null then 'no bill of this month is in this currency' else differing_types.reason end
        as reason,
    false as is_elected
from {{ ref('int_provider_totals') }} as totals
left join differing_types using ({{ total }})
where totals.charge_type = '' and totals.is_final

union all

-- a carbon report of a quarter or a year beside the months of the book, under its last month
select
    {{ cell() }},
    measure,
    'kgCO2e' as unit_or_currency,
    provider_model_version,
    'cross_check' as method,
    cast(stated as decimal(38, 12)) as provider_total,
    cast(null as decimal(38, 12)) as runs_total,
    cast(null as decimal(38, 12)) as residual_total,
    cast(null as decimal(38, 12)) as quarantined_total,
    cast(difference as decimal(38, 12)) as difference,
    cast(null as decimal(38, 12)) as modelled_total,
    case when stated <> 0 then round(cast(booked as double) / cast(stated as double), 9) end as ratio,
    cast(null as double) as weight_coverage_ratio,
    reason,
    false as is_elected
from {{ ref('int_carbon_period_checks') }}

union all

select
    {{ cell() }}, measure, unit_or_currency, provider_model_version, method, provider_total, runs_total, residual_total,
    quarantined_total, difference, modelled_total, ratio, weight_coverage_ratio, reason, false as is_elected
from {{ ref('int_modelled_reconciliation') }}
