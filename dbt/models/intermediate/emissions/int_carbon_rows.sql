{{ config(materialized='by_month') }}
{%- set shared %}{{ cell() }}, source_object, row_number, provider_model_version, is_elected, is_global, is_negative,
    {{ masses() }}{% endset %}

with gcp_rows_of_projects as (
    select
        emissions.*,
        coalesce(emissions.project_number, projects.project_number, emissions.project_id, '') as sub_account_id
    from {{ ref('stg_gcp_carbon__emissions') }} as emissions
    left join {{ ref('int_gcp_projects') }} as projects
        on emissions.usage_month = projects.usage_month and emissions.project_id = projects.project_id
    where emissions.is_book
),

gcp_rows as (
    select
        *,
        row_number() over (
            partition by {{ cell() }}, location_id, provider_model_version, {{ masses() }}
            order by source_object, row_number
        ) as copy_number
    from gcp_rows_of_projects
),

rows_of_book as (
    select {{ shared }}, false as is_copy
    from {{ ref('stg_aws_carbon__emissions') }}
    where is_book and period_end is null

    union all

    select {{ shared }}, false as is_copy
    from {{ ref('int_carbon_period_shares') }}

    union all

    select {{ shared }}, copy_number > 1 as is_copy
    from gcp_rows
),

-- AWS's console writes the name of a region where its export has the code
placed_rows as (
    select
        {%- for column in ['source_name', 'provider_name', 'payer_account_id', 'sub_account_id', 'service_code'] %}
        rows_of_book.{{ column }},
        {%- endfor %}
        coalesce(named.region_id, rows_of_book.region_id) as region_id,
        rows_of_book.usage_month, rows_of_book.source_object, rows_of_book.row_number, rows_of_book.provider_model_version,
        rows_of_book.is_elected, rows_of_book.is_global, rows_of_book.is_negative,
        {{ masses('rows_of_book') }},
        rows_of_book.is_copy
    from rows_of_book
    left join {{ ref('regions') }} as named
        on rows_of_book.provider_name = named.provider_name and rows_of_book.region_id = named.carbon_region_name
)

select
    placed_rows.*,
    case
        when placed_rows.is_negative then 'negative_emission'
        when not placed_rows.is_global and regions.region_id is null then 'unknown_region'
        when placed_rows.is_copy then 'duplicate_row'
    end as quarantine_reason
from placed_rows
left join {{ ref('regions') }} as regions using (provider_name, region_id)
