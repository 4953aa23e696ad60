with target_runs as (
    select * from {{ ref('int_runs_to_target') }}
),

run_energy as (
    select
        training_run_id
        {%- for end in ['', '_low', '_high'] %},
        case when count(*) = count(it_energy_kwh{{ end }}) then sum(it_energy_kwh{{ end }}) end as it_energy_kwh{{ end }}
        {%- endfor %}
    from {{ ref('fct_training_run_energy') }}
    group by all
),

ranked_runs as (
    select
        target_runs.*
        {%- for end in ['', '_low', '_high'] %},
        run_energy.it_energy_kwh{{ end }},
        row_number() over (
            partition by target_runs.workload_key, target_runs.accelerator_type, target_runs.provider_name
            order by run_energy.it_energy_kwh{{ end }}, training_run_id
        ) as place{{ end }}
        {%- endfor %},
        count(*) over (
            partition by target_runs.workload_key, target_runs.accelerator_type, target_runs.provider_name
        ) as run_count,
        count(run_energy.it_energy_kwh) over (
            partition by target_runs.workload_key, target_runs.accelerator_type, target_runs.provider_name
        ) as known_count
    from target_runs
    left join run_energy using (training_run_id)
),

-- the median is exact: the middle run, or half of the two in the middle; unknown where a run's energy is
workloads as (
    select
        workload_key,
        accelerator_type,
        provider_name,
        max(run_count) as run_count,
        max(usage_year) as usage_year
        {%- for end in ['', '_low', '_high'] %},
        case
            when max(known_count) < max(run_count) then null
            when max(run_count) % 2 = 1
                then cast(sum(case when 2 * place{{ end }} = run_count + 1 then it_energy_kwh{{ end }} end) as decimal(21, 6))
            else cast(
                sum(case when 2 * place{{ end }} in (run_count, run_count + 2) then it_energy_kwh{{ end }} end) * 0.5
                as decimal(21, 6)
            )
        end as it_energy_kwh{{ end }}
        {%- endfor %}
    from ranked_runs
    group by workload_key, accelerator_type, provider_name
),

own_regions as (
    select distinct workload_key, accelerator_type, provider_name, region_id, true as is_where_it_ran from target_runs
),

years as (
    select distinct provider_name, usage_year from workloads
),

-- by the rules of energy: the latest year not after that of use, at most four years old, of the region, else of the fleet
place_pues as (
    select
        regions.provider_name,
        regions.region_id,
        years.usage_year,
        pue.data_year,
        pue.pue_ratio,
        pue.region_id = regions.region_id as is_of_region
    from {{ ref('dim_regions') }} as regions
    inner join years using (provider_name)
    inner join {{ ref('dim_pue') }} as pue using (provider_name)
    where pue.region_id in (regions.region_id, '*') and pue.data_year between years.usage_year - 4 and years.usage_year
),

pues as (
    select * from place_pues
    qualify row_number() over (
        partition by provider_name, region_id, usage_year order by is_of_region desc, data_year desc
    ) = 1
),

-- and of emissions: the latest year not after that of use and known by its end
place_factors as (
    select
        regions.provider_name,
        regions.region_id,
        years.usage_year,
        factors.factor_id,
        factors.value,
        factors.data_year,
        factors.known_from
    from {{ ref('dim_regions') }} as regions
    inner join years using (provider_name)
    inner join {{ ref('dim_emission_factors') }} as factors using (grid_zone)
    where
        factors.factor_set_id = 'location_direct_v1'
        and factors.method = 'location_based'
        and factors.basis = 'direct'
        and factors.data_year <= years.usage_year
        and extract(year from factors.known_from) <= years.usage_year
),

factors as (
    select * from place_factors
    qualify row_number() over (
        partition by provider_name, region_id, usage_year order by data_year desc, known_from desc, factor_id
    ) = 1
)

select
    workloads.workload_key,
    workloads.accelerator_type,
    workloads.provider_name,
    regions.region_id,
    coalesce(own_regions.is_where_it_ran, false) as is_where_it_ran,
    workloads.run_count
    {%- for end in ['', '_low', '_high'] %},
    cast(workloads.it_energy_kwh{{ end }} as decimal(38, 9)) as it_energy_kwh{{ end }}
    {%- endfor %},
    cast(pues.pue_ratio as double) as pue_ratio,
    cast(pues.data_year as bigint) as pue_year,
    not pues.is_of_region as is_pue_of_fleet,
    factors.factor_id
    {%- for end in ['', '_low', '_high'] %},
    cast(
        workloads.it_energy_kwh{{ end }} * cast(pues.pue_ratio as decimal(6, 4)) * cast(factors.value as decimal(11, 9))
        as decimal(38, 9)
    ) as what_if_location_based_kgco2e{{ end }}
    {%- endfor %},
    case
        when workloads.it_energy_kwh is null then 'the energy of a run is not known'
        when pues.pue_ratio is null then 'no PUE is known'
        when factors.value is null then coalesce(regions.no_factor_reason, 'no factor of the set covers that year')
    end as not_available_reason
from workloads
inner join {{ ref('dim_regions') }} as regions using (provider_name)
left join own_regions using (workload_key, accelerator_type, provider_name, region_id)
left join pues using (provider_name, region_id, usage_year)
left join factors using (provider_name, region_id, usage_year)
