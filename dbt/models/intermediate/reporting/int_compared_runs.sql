{%- set boundaries = ['chip', 'chip_host', 'it', 'facility'] %}
{%- set ends = ['', '_low', '_high'] %}

with finished as (
    select
        training_run_id,
        workload_key,
        pair_key,
        accelerator_family,
        coalesce(accelerator_type, 'unknown') as accelerator_type,
        coalesce(region_id, 'unknown') as region_id,
        ended_at,
        case when useful_tokens > 0 then cast(useful_tokens as double) / 1e6 end as million_tokens,
        case when model_flops > 0 then model_flops / 1e18 end as exaflop
    from {{ ref('dim_training_runs') }}
    where
        accelerator_family in ('trainium', 'tpu') and workload_key is not null and ended_at is not null
        and state = 'succeeded' and is_target_reached is distinct from false
),

-- strict, without promotions; no cost where a month is not billed or the bills are in two currencies
run_costs as (
    select
        training_run_id,
        min(billing_currency) as billing_currency,
        cast(sum(effective_cost) as double) as effective_cost,
        case when count(*) = count(list_cost) then cast(sum(list_cost) as double) end as list_cost,
        cast(sum(idle_share_effective_cost) as double) as idle_cost
    from {{ ref('fct_training_run_costs') }}
    where cost_component <> 'credit'
    group by training_run_id
    having count(distinct billing_currency) = 1 and bool_and(status <> 'not_published')
),

-- half a total is not a total: null where one of the months is
run_energy as (
    select
        training_run_id
        {%- for boundary in boundaries %}{% for end in ends %},
        {{ sum_as_double(boundary ~ '_energy_kwh' ~ end) }} as {{ boundary }}_kwh{{ end }}
        {%- endfor %}{% endfor %},
        {{ sum_as_double('idle_share_facility_energy_kwh') }} as idle_share_kwh,
        {{ sum_as_double('reserved_chip_hours') }} as reserved_chip_hours,
        -- a driver's share of full power is of watts that a table gives
        min(case when energy_basis = 'measured' then 'measured' else 'modelled' end) as first_basis,
        max(case when energy_basis = 'measured' then 'measured' else 'modelled' end) as last_basis,
        bool_or(power_confidence = 'assumed') as is_power_assumed
    from {{ ref('fct_training_run_energy') }}
    group by training_run_id
),

run_modelled as (
    select
        training_run_id
        {%- for end in ends %},
        {{ sum_as_double('modelled_location_based_kgco2e' ~ end) }} as modelled_kg{{ end }}
        {%- endfor %}
    from {{ ref('fct_training_run_emissions_modelled') }}
    where factor_set_id = 'location_direct_v1'
    group by training_run_id
),

own_factors as (
    select
        training_run_id
        {%- for end in ends %},
        {{ sum_as_double('modelled_location_based_kgco2e' ~ end) }} as own_factor_kg{{ end }}
        {%- endfor %}
    from {{ ref('fct_training_run_emissions_modelled') }}
    where factor_set_id = 'user'
    group by training_run_id
),

-- two versions of a provider's model are never added
run_emissions as (
    select
        training_run_id,
        {{ sum_as_double('provider_scope_2_location_based_kgco2e') }} as provider_location_kg,
        {{ sum_as_double('provider_scope_2_market_based_kgco2e') }} as provider_market_kg
    from {{ ref('fct_training_run_emissions') }}
    group by training_run_id
    having count(distinct provider_model_version) = 1
),

-- the chip view's grid, on both sides: that of AWS us-east-1, the newest factor of the default set
factors_of_us_east_1 as (
    select
        cast(factors.value as double) as kg_per_kwh,
        row_number() over (order by factors.data_year desc, factors.known_from desc, factors.factor_id) as place
    from {{ ref('dim_emission_factors') }} as factors
    inner join {{ ref('dim_regions') }} as regions on factors.grid_zone = regions.grid_zone
    where regions.provider_name = 'AWS' and regions.region_id = 'us-east-1' and factors.factor_set_id = 'location_direct_v1'
),

reference_factor as (
    select max(kg_per_kwh) as kg_per_kwh from factors_of_us_east_1
    where place = 1
),

-- as many peak operations as the chips could have done in the time the run held them
peaks as (
    select accelerator_type, cast(peak_bf16_tflops as double) * 1e12 * 3600e0 as peak_flop_per_chip_hour
    from {{ ref('dim_accelerators') }}
)

select
    finished.*,
    run_costs.billing_currency,
    run_costs.effective_cost,
    run_costs.list_cost,
    run_costs.effective_cost + run_costs.idle_cost as loaded_cost,
    {%- for boundary in boundaries %}{% for end in ends %}
    run_energy.{{ boundary }}_kwh{{ end }},
    {%- endfor %}{% endfor %}
    run_energy.first_basis,
    run_energy.last_basis,
    run_energy.is_power_assumed,
    1e0 + run_energy.idle_share_kwh / case when run_energy.facility_kwh > 0 then run_energy.facility_kwh end as loading,
    progress.goodput_ratio,
    peaks.peak_flop_per_chip_hour * run_energy.reserved_chip_hours / 1e18 as peak_exaflop,
    {%- for end in ends %}
    run_modelled.modelled_kg{{ end }},
    own_factors.own_factor_kg{{ end }},
    {%- endfor %}
    run_emissions.provider_location_kg,
    run_emissions.provider_market_kg,
    reference_factor.kg_per_kwh as reference_kg_per_kwh
from finished
left join {{ ref('fct_run_progress') }} as progress on finished.training_run_id = progress.training_run_id
left join run_costs on finished.training_run_id = run_costs.training_run_id
left join run_energy on finished.training_run_id = run_energy.training_run_id
left join run_modelled on finished.training_run_id = run_modelled.training_run_id
left join own_factors on finished.training_run_id = own_factors.training_run_id
left join run_emissions on finished.training_run_id = run_emissions.training_run_id
left join peaks on finished.accelerator_type = peaks.accelerator_type
cross join reference_factor
