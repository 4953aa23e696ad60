{%- set place = 'source_name, provider_name, payer_account_id, sub_account_id, service_code, region_id' -%}
{%- set report = 'source_name, provider_name, payer_account_id, sub_account_id, provider_model_version, usage_month' -%}
{{ config(materialized='by_month', meta={'empty_without': ['int_carbon_period_rows']}) }}

-- a report under its last month, of those that are not the book; where two end with one month, the longer
with compared as (
    select *, replace(lower(provider_model_version), 'v', '') as version_number
    from {{ ref('int_carbon_period_rows') }}
    where not is_book and period_end = cast(usage_month + interval 1 month as date) and {{ in_build_months() }}
    qualify dense_rank() over (partition by {{ report }} order by period_start) = 1
),

reports as (
    select distinct {{ report }}, version_number, period_start, period_end
    from compared
),

-- the book's rows of the months of a report, in the report's model version
booked as (
    select
        reports.source_name,
        carbon_rows.provider_name,
        carbon_rows.payer_account_id,
        carbon_rows.sub_account_id,
        carbon_rows.service_code,
        carbon_rows.region_id,
        reports.provider_model_version,
        reports.usage_month,
        carbon_rows.usage_month as booked_month,
        {{ masses('carbon_rows') }}
    from {{ ref('int_carbon_rows') }} as carbon_rows
    inner join reports
        on
            carbon_rows.provider_name = reports.provider_name
            and carbon_rows.payer_account_id = reports.payer_account_id
            and replace(lower(carbon_rows.provider_model_version), 'v', '') = reports.version_number
            and carbon_rows.usage_month >= reports.period_start
            and carbon_rows.usage_month < reports.period_end
            and carbon_rows.is_elected
),

booked_months as (
    select
        source_name, provider_name, payer_account_id, provider_model_version, usage_month,
        count(distinct booked_month) as booked_month_count
    from booked
    group by all
),

known_months as (
    select distinct usage_month as known_month from {{ source('raw', 'months') }}
),

months_of_reports as (
    select {{ report }}, reports.period_start, count(*) as month_count
    from reports
    inner join known_months
        on known_months.known_month >= reports.period_start and known_months.known_month < reports.period_end
    group by all
),

stated_cells as (
    select {{ place }}, provider_model_version, usage_month, count(*) as stated_count, {{ whole_sums(mass_names(), 9) }}
    from compared
    group by all
),

booked_cells as (
    select
        {{ place }}, provider_model_version, usage_month,
        count(*) as booked_count
        {%- for mass in mass_names() %},
        {{ whole_sum('booked.' ~ mass, 'decimal(38, 9)') }} as booked_{{ mass }}
        {%- endfor %}
    from booked
    inner join reports using ({{ report }})
    group by all
),

cells as (
    select {{ place }}, provider_model_version, usage_month from stated_cells
    union
    select {{ place }}, provider_model_version, usage_month from booked_cells
),

compared_cells as (
    select
        {{ place }},
        provider_model_version,
        usage_month,
        substr(cast(months_of_reports.period_start as string), 1, 7) || '..' || substr(cast(usage_month as string), 1, 7)
            as period,
        months_of_reports.month_count = coalesce(booked_months.booked_month_count, 0) as is_whole,
        stated_cells.stated_count is not null as is_stated,
        coalesce(stated_cells.stated_count, 0) + coalesce(booked_cells.booked_count, 0) as figure_count,
        booked_cells.booked_count is null as is_empty
        {%- for mass in mass_names() %},
        stated_cells.{{ mass }},
        booked_cells.booked_{{ mass }}
        {%- endfor %}
    from cells
    inner join months_of_reports using ({{ report }})
    left join stated_cells using ({{ place }}, provider_model_version, usage_month)
    left join booked_cells using ({{ place }}, provider_model_version, usage_month)
    left join booked_months using (source_name, provider_name, payer_account_id, provider_model_version, usage_month)
),

measured as (
    {%- for mass in mass_names() if mass != 'provider_scope_3_unsplit_kgco2e' %}
    select
        {{ place }}, provider_model_version, usage_month, period, is_whole, is_stated, figure_count,
        '{{ mass }}' as measure,
        {{ mass }} as stated,
        -- a month that is published and does not have the cell has no emissions in it
        case when is_whole and is_empty then cast(0 as decimal(38, 9)) when is_whole then booked_{{ mass }} end as booked
    from compared_cells
    {{ 'union all' if not loop.last }}
    {%- endfor %}
)

select
    {{ cell() }},
    provider_model_version,
    measure,
    stated,
    booked,
    {{ exact_sum(['stated', '-booked'], 9) }} as difference,
    period || ': ' || case
        when not is_whole then 'the book does not have every month of it in this model version'
        when not is_stated then 'the report has no such cell, where the book has ' || cast(booked as string)
        when booked is null then 'a month of the book does not have this figure'
        -- each figure of either side is written in grams
        when abs({{ exact_sum(['stated', '-booked'], 9) }}) <= cast(0.001 as decimal(4, 3)) * figure_count
            then 'the same within a gram for each of ' || cast(figure_count as string) || ' rows'
        else 'the months of the book add up to ' || cast(booked as string)
    end as reason
from measured
where stated is not null or (booked is not null and not is_stated)
