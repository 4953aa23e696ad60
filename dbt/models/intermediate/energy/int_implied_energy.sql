{{ config(materialized='by_month') }}

with run_regions as (
    select
        training_run_id,
        usage_month,
        provider_name,
        region_id,
        min(provider_model_version) as first_version,
        max(provider_model_version) as last_version,
        {{ whole_sum('provider_scope_2_location_based_kgco2e', 'decimal(38, 9)') }} as kgco2e
    from {{ ref('fct_run_cell_emissions') }}
    where {{ in_build_months() }}
    group by all
),

with_factors as (
    select
        run_regions.*,
        case
            -- AWS states that its grid factors of these two do not give the energy again
            when run_regions.provider_name = 'AWS' and region_id in ('ca-central-1', 'af-south-1') then null
            when run_regions.kgco2e = 0 then cast(0 as decimal(38, 9))
            when factors.value > 0 then {{ from_units(int_div(
                'cast(2 * ' ~ to_units('run_regions.kgco2e', 9) ~ ' * 1000000000 + ' ~ to_units('factors.value', 9)
                ~ ' as decimal(38, 0))',
                'cast(2 * ' ~ to_units('factors.value', 9) ~ ' as decimal(38, 0))'
            ), 9) }}
        end as energy_kwh
    from run_regions
    left join {{ ref('int_region_factors') }} as factors using (usage_month, provider_name, region_id)
)

select
    training_run_id,
    usage_month,
    -- masses of two versions of a method never meet in one sum
    case
        when min(first_version) = max(last_version) then {{ whole_sum('energy_kwh', 'decimal(38, 9)') }}
    end as implied_energy_kwh
from with_factors
group by training_run_id, usage_month
