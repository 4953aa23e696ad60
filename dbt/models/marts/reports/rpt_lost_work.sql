{{ config(meta={'empty_without': ['fct_lost_work']}) }}

select
    lost.week_start,
    -- of idle machines no team is known, and of some runs none
    coalesce(runs.team, '') as team,
    lost.cause,
    lost.billing_currency,
    cast(sum(lost.effective_cost) as decimal(38, 12)) as effective_cost,
    {{ whole_sum('lost.facility_energy_kwh', 'decimal(38, 9)') }} as facility_energy_kwh,
    {{ whole_sum('lost.modelled_location_based_kgco2e', 'decimal(38, 9)') }} as modelled_location_based_kgco2e,
    count(distinct case when lost.cause <> 'idle' then lost.training_run_id end) as run_count
from {{ ref('fct_lost_work') }} as lost
left join {{ ref('dim_training_runs') }} as runs using (training_run_id)
group by all
