{%- set look = 'quarter_end, workload_key, kpi, factor_view, basis_class' %}

-- strata of the series that decides, of the kinds that differ and of the others; e and verdict where they differ
with windows as (
    select distinct window_end as quarter_end from {{ ref('int_report_windows') }}
),

looks as (
    select
        looks.*,
        tests.is_different,
        decisions.m,
        decisions.k,
        decisions.log_least_difference,
        abs(looks.skewness) > 1.25e0 as is_skewed,
        cast(
            decisions.log_e_needed_unskewed + case when abs(looks.skewness) > 1.25e0 then ln(8e0) else 0 end as decimal(18, 9)
        ) as log_e_needed,
        coalesce(shifts.shift_low, 0e0) as shift_low,
        coalesce(shifts.shift_high, 0e0) as shift_high
    from {{ ref('int_comparison_looks') }} as looks
    inner join windows on looks.quarter_end = windows.quarter_end
    inner join {{ ref('int_comparison_decisions') }} as decisions
        on
            looks.quarter_end = decisions.quarter_end and looks.workload_key = decisions.workload_key
            and looks.kpi = decisions.kpi and looks.factor_view = decisions.factor_view
            and looks.basis_class = decisions.basis_class
    left join {{ ref('int_comparison_strata_tests') }} as tests
        on
            looks.quarter_end = tests.quarter_end and looks.workload_key = tests.workload_key and looks.kpi = tests.kpi
            and looks.factor_view = tests.factor_view and looks.basis_class = tests.basis_class
            and looks.stratum_kind = tests.stratum_kind
    left join {{ ref('int_comparison_shifts') }} as shifts
        on
            looks.quarter_end = shifts.quarter_end and looks.workload_key = shifts.workload_key
            -- location-based energy in the chip view is the energy times a constant: its power terms are those of the energy
            and shifts.kpi = case
                when looks.kpi = 'location_based_gco2e_per_million_tokens' then 'energy_kwh_per_million_tokens' else looks.kpi
            end
            and looks.factor_view = shifts.factor_view and looks.basis_class = shifts.basis_class
    where looks.series = 'all' and looks.stratum_kind <> ''
),

moved as (
    select
        *,
        mean + shift_low as least_mean,
        mean + shift_high as greatest_mean
    from looks
),

intervals as (
    select
        *,
        case
            when least_mean > 0 or greatest_mean < 0
                then least(
                    {{ log_e_value('cluster_count', 'least_mean', 'spread') }},
                    {{ log_e_value('cluster_count', 'greatest_mean', 'spread') }}
                )
        end as log_e_moved,
        {{ sequence_half_width('cluster_count', 'spread', 'log_e_needed') }} as half_width,
        coalesce(is_different, false) and cluster_count >= 6 as is_decided_alone
    from moved
)

select
    quarter_end as window_end,
    workload_key,
    kpi,
    factor_view,
    stratum_kind,
    stratum,
    pair_count,
    cluster_count,
    {{ significant('exp(mean)') }} as geometric_mean_ratio,
    coalesce(is_different, false) as is_different,
    case when is_decided_alone then {{ significant('exp(cast(log_e_moved as double))') }} end as e_value,
    case when is_decided_alone then {{ significant('exp(cast(log_e_needed as double))') }} end as e_needed,
    case when is_decided_alone then {{ significant('exp(least_mean - half_width)') }} end as decided_low,
    case when is_decided_alone then {{ significant('exp(greatest_mean + half_width)') }} end as decided_high,
    case
        when not is_decided_alone then 'descriptive'
        when least_mean - half_width >= -log_least_difference and greatest_mean + half_width <= log_least_difference
            then 'equivalent'
        when coalesce(log_e_moved < log_e_needed, true) then 'undecided'
        when
            is_skewed and {{ figure_family('kpi') }} = 'primary'
            and not coalesce(case when mean > 0 then total_log_low > 0 else total_log_high < 0 end, false)
            then 'undecided'
        when (mean > 0) = (kpi in ('mfu_ratio', 'goodput_ratio', 'held_time_utilisation_ratio')) then 'tpu'
        else 'trainium'
    end as verdict
from intervals
