{{ config(materialized='by_month') }}

with provider_rows as (
    select
        {{ cell() }},
        provider_model_version,
        {{ cell_id() }} || '|' || provider_model_version as cell_id,
        bool_and(is_elected) as is_elected
        {%- for mass in mass_names() %},
        {{ whole_sum(mass, 'decimal(38, 9)') }} as {{ mass }},
        cast(sum(case when quarantine_reason is not null then {{ mass }} else 0 end) as decimal(38, 9)) as quarantined_{{ mass }}
        {%- endfor %}
    from {{ ref('int_carbon_rows') }}
    where {{ in_build_months() }}
    group by all
),

runs as (
    select
        cell_id,
        {{ sums(mass_names(), 9) }}
    from {{ ref('int_carbon_splits') }}
    where part_id <> '~residual' and {{ in_build_months() }}
    group by all
),

residuals as (
    select
        cell_id,
        {{ sums(mass_names(), 9) }}
    from {{ ref('int_residual_emissions') }}
    where {{ in_build_months() }}
    group by all
),

coverage as (
    select
        provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month,
        cast(sum(weighted_line_count) as double) / cast(sum(usage_line_count) as double) as weight_coverage_ratio
    from {{ ref('int_carbon_weights') }}
    where {{ in_build_months() }}
    group by all
),

-- all masses of a cell in one row: eight joins of all cells took eight times the memory
cells as (
    select
        provider_rows.*
        {%- for mass in mass_names() %},
        coalesce(runs.{{ mass }}, 0) as runs_{{ mass }},
        coalesce(residuals.{{ mass }}, 0) as residual_{{ mass }}
        {%- endfor %},
        {{ nine_digits('coverage.weight_coverage_ratio') }} as weight_coverage_ratio
    from provider_rows
    left join runs using (cell_id)
    left join residuals using (cell_id)
    left join coverage using (provider_name, payer_account_id, sub_account_id, service_code, region_id, usage_month)
)
{% for mass in mass_names() %}
select
    {{ cell() }},
    '{{ mass }}' as measure,
    provider_model_version,
    is_elected,
    {{ mass }} as provider_total,
    runs_{{ mass }} as runs_total,
    residual_{{ mass }} as residual_total,
    quarantined_{{ mass }} as quarantined_total,
    weight_coverage_ratio
from cells
-- half a total is not a total: a mass the provider left out of any row of the cell has nothing to be compared
where {{ mass }} is not null
{% if not loop.last %}union all{% endif %}
{% endfor %}
