{%- set boundaries = ['chip', 'chip_host', 'it', 'facility'] %}
{%- set ends = ['', '_low', '_high'] %}

with finished as (
    select * from {{ ref('int_comparison_launches') }}
    where accelerator_family in ('trainium', 'tpu')
),

-- strict, without promotions; unknown where a month is not billed, where no bill has a row of the run, and where a part has no
-- price
run_costs as (
    select
        training_run_id,
        case
            when count(distinct case when status <> 'no_cell' then billing_currency end) = 1
                then min(case when status <> 'no_cell' then billing_currency end)
        end as billing_currency,
        {{ whole_sums(['effective_cost'], 12) }},
        case
            when count(*) = count(on_demand_list_cost) then cast(sum(on_demand_list_cost) as decimal(38, 12))
        end as on_demand_list_cost,
        cast(sum(idle_share_effective_cost) as decimal(38, 12)) as idle_cost,
        case
            when count(*) = count(reporting_currency_effective_cost)
                then cast(sum(reporting_currency_effective_cost) as decimal(38, 12))
        end as converted_cost
    from {{ ref('fct_training_run_costs') }}
    where cost_component <> 'credit'
    group by training_run_id
    having bool_and(status <> 'not_published') and count(case when status <> 'no_cell' then 1 end) > 0
),

reporting as (
    select max(quote_currency) as currency from {{ ref('dim_fx_rates') }}
    where is_to_reporting_currency
),

currencies as (
    select
        finished.workload_key,
        run_costs.billing_currency,
        count(*) as run_count,
        count(run_costs.converted_cost) as converted_count
    from finished
    inner join run_costs on finished.training_run_id = run_costs.training_run_id
    group by finished.workload_key, run_costs.billing_currency
),

ranked_currencies as (
    select
        *,
        row_number() over (
            partition by workload_key
            order by case when billing_currency is null then 2 else 1 end, run_count desc, billing_currency
        ) as place
    from currencies
),

-- of a workload that was billed in several currencies: the reporting currency where fx_rates has a rate for each of its months,
-- else that of most runs
workload_units as (
    select
        ranked_currencies.workload_key,
        case
            when
                (count(*) > 1 or max(ranked_currencies.billing_currency) is null)
                and sum(ranked_currencies.run_count) = sum(ranked_currencies.converted_count)
                then max(reporting.currency)
            else max(case when ranked_currencies.place = 1 then ranked_currencies.billing_currency end)
        end as unit
    from ranked_currencies
    cross join reporting
    group by ranked_currencies.workload_key
),

-- half a total is not a total: null where one of the months is
run_energy as (
    select
        training_run_id
        {%- for boundary in boundaries %}{% for end in ends %},
        {{ sum_as_double(boundary ~ '_energy_kwh' ~ end) }} as {{ boundary }}_kwh{{ end }}
        {%- endfor %}{% endfor %},
        {{ sum_as_double('idle_share_facility_energy_kwh') }} as idle_share_kwh,
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
)

select
    finished.training_run_id,
    finished.workload_key,
    finished.pair_key,
    finished.accelerator_family,
    finished.accelerator_type,
    finished.region_id,
    finished.team,
    finished.software,
    finished.purchase,
    finished.model_name,
    finished.started_at,
    finished.ended_at,
    finished.ended_at is null as is_running,
    finished.is_reached,
    finished.promise,
    finished.target_metric,
    finished.target_direction,
    finished.target_value,
    finished.planned_target_metric,
    finished.planned_target_direction,
    finished.planned_target_value,
    finished.planned_tokens,
    finished.useful_tokens,
    finished.tokens,
    finished.model_flops,
    cast(finished.useful_tokens as double) / 1e6 as million_tokens,
    finished.model_flops / 1e18 as exaflop,
    run_costs.billing_currency,
    workload_units.unit as cost_unit,
    -- a cost that cannot be given in the currency of its workload is known all the same
    run_costs.effective_cost is not null as is_cost_known,
    case
        when run_costs.billing_currency = workload_units.unit then run_costs.effective_cost
        when workload_units.unit = reporting.currency then run_costs.converted_cost
    end as effective_cost,
    case when run_costs.billing_currency = workload_units.unit then run_costs.on_demand_list_cost end as on_demand_list_cost,
    case
        when run_costs.billing_currency = workload_units.unit
            then cast({{ exact_sum(['run_costs.effective_cost', 'run_costs.idle_cost'], 12) }} as decimal(38, 12))
    end as loaded_cost,
    {%- for boundary in boundaries %}{% for end in ends %}
    run_energy.{{ boundary }}_kwh{{ end }},
    {%- endfor %}{% endfor %}
    run_energy.first_basis,
    run_energy.last_basis,
    run_energy.is_power_assumed,
    1e0 + run_energy.idle_share_kwh / case when run_energy.facility_kwh > 0 then run_energy.facility_kwh end as loading,
    progress.goodput_ratio,
    progress.mfu_ratio,
    progress.held_time_utilisation_ratio,
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
left join workload_units on finished.workload_key = workload_units.workload_key
left join run_energy on finished.training_run_id = run_energy.training_run_id
left join run_modelled on finished.training_run_id = run_modelled.training_run_id
left join own_factors on finished.training_run_id = own_factors.training_run_id
left join run_emissions on finished.training_run_id = run_emissions.training_run_id
cross join reference_factor
cross join reporting
