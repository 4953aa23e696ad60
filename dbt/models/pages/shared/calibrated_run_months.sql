-- of two kinds of meters the one whose watts the models take
select
    energy.training_run_id,
    energy.usage_month,
    watts.accelerator_type,
    watts.window_count,
    watts.workload_count,
    watts.host_count,
    watts.busy_w,
    watts.spread_w,
    watts.first_measured_at,
    watts.last_measured_at
from {{ ref('fct_training_run_energy') }} as energy
inner join {{ ref('dim_training_runs') }} as runs using (training_run_id)
inner join {{ ref('fct_power_calibration') }} as watts
    on
        runs.accelerator_type = watts.accelerator_type and coalesce(runs.sdk_version, '') = watts.sdk_version
        and energy.usage_month = watts.valid_from_month
where energy.power_confidence = 'calibrated' and watts.refused_reason is null
qualify row_number() over (
    partition by energy.training_run_id, energy.usage_month
    order by watts.coverage_promised is null, watts.unmetered_share, watts.window_count desc, watts.source_kind
) = 1
