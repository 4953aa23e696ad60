with cells as (
    select * from {{ ref('fct_reconciliation') }}
    {{ of_quarters() }}
    where method = 'conservation'
),

billed as (
    select
        quarter,
        unit_or_currency,
        count(*) as billed_cells
    from cells
    where measure = 'billed_cost'
    group by all
),

book as (
    {%- for table in ['fct_run_cell_emissions', 'fct_residual_emissions'] %}
    select
        source_name,
        payer_account_id,
        usage_month,
        provider_model_version
    from {{ ref(table) }}
    {{ 'union' if not loop.last }}
    {%- endfor %}
)

select
    quarter,
    measure,
    unit_or_currency,
    provider_model_version,
    count(*) as cell_count,
    count(*) filter (where difference is distinct from 0) as cells_that_differ,
    {%- for amount in ['provider_total', 'runs_total', 'residual_total', 'quarantined_total', 'difference'] %}
    -- a cell without a list total has no row: its measure then has no whole
    case
        when count(*) = count({{ amount }}) and (min(measure) not like '%_cost' or count(*) >= max(billed_cells))
            then sum({{ amount }})
    end as {{ amount }},
    {%- endfor %}
    case
        when min(measure) like '%_cost' or bool_and(book.usage_month is not null) then 'the book'
        when bool_or(book.usage_month is not null) then 'the book in part'
        else 'another version'
    end as stands_in,
    min(weight_coverage_ratio) as lowest_weight_coverage_ratio,
    measure in ('{{ mass_names() | join("', '") }}') as is_mass
from cells
left join billed using (quarter, unit_or_currency)
left join book using (source_name, payer_account_id, usage_month, provider_model_version)
group by all
