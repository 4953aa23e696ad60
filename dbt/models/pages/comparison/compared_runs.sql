{%- set side = 'window_start, window_end, workload_key, accelerator_family' %}
-- compared are finished runs with a workload
with runs as (
    select
        windows.window_start,
        windows.window_end,
        runs.*,
        runs.workload_key is not null and runs.state = 'succeeded' and coalesce(runs.is_target_reached, true) as is_compared
    from {{ ref('dim_training_runs') }} as runs
    inner join {{ ref('int_report_windows') }} as windows on runs.ended_at < windows.window_end
    where runs.accelerator_family in ('trainium', 'tpu')
),

-- those of the window, each with whether its pair has a finished run on both sides, in the window or before
ended as (
    select
        *,
        is_compared and pair_key is not null
        and min(accelerator_family) filter (where is_compared) over pair
        <> max(accelerator_family) filter (where is_compared) over pair as is_paired
    from runs
    window pair as (partition by window_start, window_end, workload_key, pair_key)
    qualify ended_at >= window_start
),

calibrated_types as (
    select {{ side }}, calibrated.accelerator_type, {{ windows_in_words() }} as calibrated_from
    from {{ ref('calibrated_run_months') }} as calibrated
    inner join ended using (training_run_id)
    where ended.is_compared
    group by {{ side }}, calibrated.accelerator_type
),

calibrations as (
    select
        {{ side }},
        string_agg(accelerator_type || ': ' || calibrated_from, '; ' order by accelerator_type) as calibrated_from
    from calibrated_types
    group by {{ side }}
),

energy as (
    select
        {{ side }}
        {%- for used in ['energy_basis', 'power_confidence'] %}{% set words = "replace(energy." ~ used ~ ", '_', ' ')" %},
        string_agg(distinct {{ words }}, ', ' order by {{ words }})
        filter (where energy.facility_energy_kwh is not null) as {{ used }}
        {%- endfor %},
        {{ exact_ratio(covered_chip_hours('telemetry_coverage_ratio'), 'sum(reserved_chip_hours)') }} as coverage_ratio
    from {{ ref('fct_training_run_energy') }} as energy
    inner join ended using (training_run_id)
    where ended.is_compared
    group by {{ side }}
),

counts as (
    select
        {{ side }},
        string_agg(distinct accelerator_type, ', ' order by accelerator_type) as accelerator_types,
        string_agg(distinct region_id, ', ' order by region_id) as regions,
        count(*) as ended_count,
        count(*) filter (where state <> 'succeeded') as unfinished_count,
        count(*) filter (where state = 'succeeded' and is_target_reached = false) as target_missed_count,
        count(*) filter (where is_compared) as compared_count,
        count(*) filter (where is_compared and useful_tokens > 0) as with_tokens_count,
        count(*) filter (where is_paired) as paired_count
    from ended
    group by {{ side }}
)

select
    counts.*,
    energy.energy_basis,
    energy.power_confidence,
    calibrations.calibrated_from,
    energy.coverage_ratio
from counts
left join energy using ({{ side }})
left join calibrations using ({{ side }})
