with modelled as (
    select
        training_run_id,
        {{ whole('modelled_location_based_kgco2e_low') }} as modelled_low,
        {{ whole('modelled_location_based_kgco2e_high') }} as modelled_high
    from {{ ref('fct_training_run_emissions_modelled') }}
    where factor_set_id = 'location_direct_v1'
    group by all
),

energy as (
    select training_run_id, sum(energy_kwh_time_model) as time_model_kwh
    from {{ ref('fct_training_run_energy') }}
    where facility_energy_kwh is not null
    group by all
)

select
    summary.*,
    dim.region_id,
    dim.sub_account_id,
    dim.cluster_name,
    dim.chip_count,
    dim.attempt_count,
    dim.is_end_known,
    modelled.modelled_low,
    modelled.modelled_high,
    energy.time_model_kwh
from {{ ref('run_summary') }} as summary
inner join {{ ref('dim_training_runs') }} as dim using (training_run_id)
left join modelled using (training_run_id)
left join energy using (training_run_id)
