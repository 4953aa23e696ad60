{{ config(materialized='view') }}
{%- set place = 'usage_month, provider_name, account_id, region_id' %}
{%- set tonnes = {
    'provider_scope_1_tco2e': 'provider_scope_1_kgco2e',
    'provider_scope_2_location_based_tco2e': 'provider_scope_2_location_based_kgco2e',
    'provider_scope_2_market_based_tco2e': 'provider_scope_2_market_based_kgco2e',
    'provider_scope_3_location_based_tco2e': 'provider_scope_3_location_based_kgco2e',
    'provider_scope_3_market_based_tco2e': 'provider_scope_3_market_based_kgco2e',
    'provider_total_location_based_tco2e': 'provider_total_location_based_kgco2e',
    'provider_total_market_based_tco2e': 'provider_total_market_based_kgco2e',
} %}

with masses as (
    {%- for table in ['fct_run_cell_emissions', 'fct_residual_emissions'] %}
    select
        usage_month, provider_name, sub_account_id as account_id, region_id, source_name, provider_model_version
        {%- for mass in tonnes.values() %},
        {% if 'scope_3' in mass -%}
        coalesce({{ mass }}, provider_scope_3_unsplit_kgco2e) as {{ mass }}
        {%- else -%}
        {{ mass }}
        {%- endif %}
        {%- endfor %}
    from {{ ref(table) }}
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
),

emissions as (
    select
        {{ place }},
        min(source_name) as first_source,
        max(source_name) as last_source,
        min(provider_model_version) as first_version,
        max(provider_model_version) as last_version,
        {{ whole_sums(tonnes.values() | list, 9) }}
    from masses
    group by {{ place }}
),

-- bounds are of a run's month; of a part of it in one of several regions they are unknown
run_months as (
    select
        training_run_id,
        usage_month,
        count(*) as region_count
    from {{ ref('fct_training_run_emissions_modelled') }}
    where factor_set_id = 'location_direct_v1'
    group by training_run_id, usage_month
),

uses as (
    select
        modelled.usage_month,
        coalesce(runs.provider_name, '') as provider_name,
        coalesce(runs.sub_account_id, '') as account_id,
        modelled.region_id,
        modelled.facility_energy_kwh,
        case when run_months.region_count = 1 then energy.facility_energy_kwh_low end as facility_energy_kwh_low,
        case when run_months.region_count = 1 then energy.facility_energy_kwh_high end as facility_energy_kwh_high,
        case when energy.energy_basis = 'measured' then 0 else 1 end as is_modelled
    from {{ ref('fct_training_run_emissions_modelled') }} as modelled
    inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
    inner join run_months using (training_run_id, usage_month)
    left join {{ ref('fct_training_run_energy') }} as energy using (training_run_id, usage_month)
    where modelled.factor_set_id = 'location_direct_v1' and {{ holds_chips('runs', 'energy') }}
),

energies as (
    select
        {{ place }},
        max(is_modelled) as is_modelled,
        {{ whole_sums(['facility_energy_kwh', 'facility_energy_kwh_low', 'facility_energy_kwh_high'], 9) }}
    from uses
    group by {{ place }}
),

places as (
    select
        {{ place }},
        energies.is_modelled,
        energies.facility_energy_kwh,
        energies.facility_energy_kwh_low,
        energies.facility_energy_kwh_high,
        emissions.first_source,
        emissions.last_source,
        emissions.first_version,
        emissions.last_version
        {%- for mass in tonnes.values() %},
        emissions.{{ mass }}
        {%- endfor %}
    from emissions
    full outer join energies using ({{ place }})
)

select
    substr(cast(places.usage_month as string), 1, 7) || '|' || places.provider_name || '|' || places.account_id || '|'
    || places.region_id as activity_id,
    places.usage_month as period_start,
    cast(places.usage_month + interval 1 month - interval 1 day as date) as period_end,
    places.provider_name as supplier,
    places.account_id,
    accounts.account_name,
    places.region_id,
    regions.region_name,
    regions.country_code,
    '3.1' as ghg_category,
    'Purchased goods and services: cloud' as ghg_category_name,
    places.facility_energy_kwh as training_activity_kwh,
    places.facility_energy_kwh_low as training_activity_kwh_low,
    places.facility_energy_kwh_high as training_activity_kwh_high
    {%- for name, mass in tonnes.items() %},
    {{ thousandth('places.' ~ mass) }} as {{ name }}
    {%- endfor %},
    case when places.first_source is not null then 'primary: reported by the supplier' end as emissions_data_quality,
    case
        when places.is_modelled = 1 then 'modelled: chips, host, network, storage, PUE'
        when places.is_modelled = 0 then 'measured by the organisation'
    end as activity_data_quality,
    'Tonnes are of all usage of the account in the region, kWh of its training runs alone: take one, never both' as method,
    case
        when places.first_source is null then 'no emissions of the supplier'
        else places.provider_name || ' carbon export '
            || case when places.first_source = places.last_source then places.first_source else 'of several sources' end
            || case
                when places.first_version = places.last_version then ', model version ' || places.first_version
                else ', several model versions'
            end
    end as source
from places
left join {{ ref('dim_accounts') }} as accounts using (provider_name, account_id)
left join {{ ref('dim_regions') }} as regions using (provider_name, region_id)
