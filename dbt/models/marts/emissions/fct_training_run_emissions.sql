{{ config(materialized='by_month', meta={'rebuilt_for': 'status'}) }}
{#- two payers may have two versions: their masses never meet in one sum -#}
{%- set is_known = 'run_months.is_carbon_published and masses.version_count = 1' %}
with cells_of_periods as (
    select distinct {{ cell() }}, provider_model_version, true as is_of_period
    from {{ ref('int_carbon_period_shares') }}
),

masses as (
    select
        shares.training_run_id,
        usage_month,
        provider_name,
        min(provider_model_version) as provider_model_version,
        count(distinct provider_model_version) as version_count,
        bool_or(service_code = 'Other' or coalesce(cells_of_periods.is_of_period, false)) as is_weak,
        {{ whole_sums(mass_names(), 9) }}
    from {{ ref('fct_run_cell_emissions') }} as shares
    left join cells_of_periods using ({{ cell() }}, provider_model_version)
    group by all
),

idle_shares as (
    select
        training_run_id,
        usage_month,
        provider_name,
        {{ whole_sums(['location_based_kgco2e', 'market_based_kgco2e'], 9) }}
    from {{ ref('int_idle_emission_shares') }}
    where is_elected
    group by all
)

select
    training_run_id,
    usage_month,
    provider_name,
    case when {{ is_known }} then masses.provider_model_version end as provider_model_version
    {%- for mass in mass_names() %},
    case when {{ is_known }} then masses.{{ mass }} end as {{ mass }}
    {%- endfor %}
    {%- for method in ['location', 'market'] %},
    case
        when {{ is_known }} and idle_shares.training_run_id is not null then idle_shares.{{ method }}_based_kgco2e
        when {{ is_known }} and masses.provider_total_{{ method }}_based_kgco2e is not null then cast(0 as decimal(38, 9))
    end as idle_share_{{ method }}_based_kgco2e
    {%- endfor %},
    cast(3 as bigint) as reporter_scope,
    cast(1 as bigint) as reporter_scope_3_category,
    -- products inside Other are divided by a key AWS does not publish, and months of a quarter or a year by ours
    case when coalesce(masses.is_weak, true) then 'low' else 'medium' end as allocation_confidence,
    case
        when not run_months.is_carbon_published then 'not_published'
        when masses.training_run_id is null then 'no_cell'
        when run_months.is_carbon_final then 'final'
        else 'preliminary'
    end as status
from {{ ref('int_run_months') }} as run_months
left join masses using (training_run_id, usage_month, provider_name)
left join idle_shares using (training_run_id, usage_month, provider_name)
