{%- set compared = 'window_start, window_end, workload_key, kpi, factor_view' %}
{%- set words = {
    'cost_per_run_to_target': 'cost per run to target', 'cost_per_run_of_fixed_work': 'cost per run of fixed work',
    'cost_per_million_tokens': 'cost per 1M useful tokens',
    'cost_per_exaflop': 'cost per useful EFLOP', 'energy_kwh_per_million_tokens': 'energy per 1M useful tokens',
    'location_based_gco2e_per_million_tokens': 'location-based emissions per 1M useful tokens',
    'market_based_gco2e_per_million_tokens': 'market-based emissions per 1M useful tokens',
    'sci_gco2e_per_million_tokens': 'operational SCI per 1M useful tokens', 'mfu_ratio': 'model FLOP utilisation',
    'held_time_utilisation_ratio': 'utilisation of held time', 'goodput_ratio': 'goodput',
} %}

-- workloads with finished runs on both sides in the window, or in pairs of it
with shown as (
    select window_start, window_end, workload_key
    from {{ ref('int_comparison_members') }}
    group by window_start, window_end, workload_key
    having min(accelerator_family) <> max(accelerator_family)
),

kpis as (
    {%- for kpi in words %}
    {{ 'union all' if not loop.first }}
    select '{{ kpi }}' as kpi, '{{ 'deployed' if kpi.startswith('market') else 'chip' }}' as factor_view
    {%- endfor %}
    {%- for kpi in words if kpi.startswith(('energy', 'location', 'sci')) %}
    union all
    select '{{ kpi }}' as kpi, 'deployed' as factor_view
    {%- endfor %}
),

run_medians as (
    select
        members.window_start,
        members.window_end,
        members.workload_key,
        figures.kpi,
        figures.factor_view,
        count(distinct figures.unit) as unit_count,
        median(case when members.accelerator_family = 'trainium' then figures.value end) as trainium_median,
        median(case when members.accelerator_family = 'tpu' then figures.value end) as tpu_median
    from {{ ref('int_comparison_members') }} as members
    inner join {{ ref('int_comparison_figures') }} as figures using (training_run_id)
    where members.is_in_window and figures.setting = '' and figures.value is not null
    group by members.window_start, members.window_end, members.workload_key, figures.kpi, figures.factor_view
),

medians as (
    /* medians */
    select
        shown.window_start,
        shown.window_end,
        shown.workload_key,
        kpis.kpi,
        kpis.factor_view,
        -- not over two currencies
        case when run_medians.unit_count = 1 then {{ significant('run_medians.trainium_median') }} end as trainium_median,
        case when run_medians.unit_count = 1 then {{ significant('run_medians.tpu_median') }} end as tpu_median
    from shown
    cross join kpis
    left join run_medians
        on
            shown.window_start = run_medians.window_start and shown.window_end = run_medians.window_end
            and shown.workload_key = run_medians.workload_key and kpis.kpi = run_medians.kpi
            and kpis.factor_view = run_medians.factor_view
    where kpis.kpi <> 'cost_per_run_of_fixed_work' or run_medians.kpi is not null
    /* end of medians */
),

accelerator_costs as (
    select usage_month, provider_name, billing_currency, effective_cost, cast(0 as decimal(38, 12)) as residual_cost
    from {{ ref('fct_run_cell_costs') }}
    where cost_component = 'accelerator'
    union all
    select usage_month, provider_name, billing_currency, effective_cost, effective_cost as residual_cost
    from {{ ref('fct_residual_costs') }}
    where {{ is_of_accelerators() }}
),

month_shares as (
    select
        usage_month,
        provider_name,
        billing_currency,
        sum(effective_cost) as accelerator_cost,
        sum(residual_cost) as residual_cost
    from accelerator_costs
    group by usage_month, provider_name, billing_currency
),

window_shares as (
    select
        windows.window_start,
        windows.window_end,
        months.provider_name,
        case
            when sum(months.accelerator_cost) > 0
                then cast(sum(months.residual_cost) as double) / cast(sum(months.accelerator_cost) as double)
        end as residual_share
    from {{ ref('int_report_windows') }} as windows
    cross join month_shares as months
    where months.usage_month >= windows.window_start and months.usage_month < windows.window_end
    group by windows.window_start, windows.window_end, months.provider_name, months.billing_currency
),

shares as (
    /* residual shares */
    -- of several currencies the greatest share
    select
        window_start,
        window_end,
        max(case when provider_name = 'AWS' then residual_share end) as trainium_residual_share,
        max(case when provider_name = 'Google Cloud' then residual_share end) as tpu_residual_share
    from window_shares
    group by window_start, window_end
    /* end of residual shares */
),

joined as (
    select
        medians.window_start,
        medians.window_end,
        medians.workload_key,
        medians.kpi,
        medians.factor_view,
        medians.trainium_median,
        medians.tpu_median,
        shares.trainium_residual_share,
        shares.tpu_residual_share,
        coalesce(tests.pair_count, 0) as pair_count,
        tests.mean,
        tests.mean_low,
        tests.mean_high,
        tests.spread,
        tests.half_width,
        tests.margin,
        tests.test_level,
        tests.is_modelled,
        tests.is_simpson,
        tests.is_power_assumed,
        tests.is_basis_mixed,
        tests.is_open_by_power,
        tests.is_different,
        case
            when tests.pair_count is null and (medians.trainium_median is null or medians.tpu_median is null) then 'no_data'
            when tests.pair_count is null then 'unpaired'
            when medians.factor_view = 'deployed' then 'view_is_descriptive'
            when tests.pair_count < 5 then 'too_few'
            when tests.is_modelled and tests.is_power_assumed then 'assumed_power'
            when tests.is_modelled and tests.is_basis_mixed then 'mixed_basis'
            when tests.is_simpson then 'simpson'
            when tests.is_skewed then 'skewed'
            when tests.is_modelled and (tests.is_open_by_power or (tests.is_different and not tests.is_different_at_corners))
                then 'power'
            when
                tests.is_different
                and coalesce(
                    abs(shares.trainium_residual_share - shares.tpu_residual_share) > 1e0 - exp(-abs(tests.mean)), true
                )
                then 'residual_share'
            else 'none'
        end as verdict_reason,
        case
            when not coalesce(tests.is_different, false) then 'undecided'
            when (tests.mean > 0) = tests.is_more_better then 'tpu'
            else 'trainium'
        end as better,
        -- the distance to be shown: of a modelled figure that of the nearer corner
        case
            when not tests.is_modelled then abs(tests.mean)
            when not tests.is_open_by_power then least(abs(tests.mean_low), abs(tests.mean_high))
        end as distance
    from medians
    left join {{ ref('int_comparison_tests') }} as tests
        on
            medians.window_start = tests.window_start and medians.window_end = tests.window_end
            and medians.workload_key = tests.workload_key and medians.kpi = tests.kpi
            and medians.factor_view = tests.factor_view
    left join shares on medians.window_start = shares.window_start and medians.window_end = shares.window_end
),

decided as (
    select
        *,
        case verdict_reason
            when 'no_data' then 'not_comparable'
            when 'unpaired' then 'not_comparable'
            when 'view_is_descriptive' then 'descriptive'
            when 'too_few' then 'descriptive'
            when 'none' then better
            else 'undecided'
        end as verdict,
        case
            when verdict_reason = 'unpaired' then 5
            when verdict_reason = 'none' and better <> 'undecided' then 0
            when verdict_reason = 'too_few' and is_modelled and (is_power_assumed or is_basis_mixed) then null
            when verdict_reason = 'too_few' and pair_count = 1 then 4
            -- beyond a million spreads to the difference no number of pairs will do
            when verdict_reason in ('too_few', 'none', 'power') and distance * 1e4 > spread
                then greatest(
                    5, cast(floor(margin * margin * pair_count / (distance * distance)) as bigint) + 1, pair_count + 1
                ) - pair_count
        end as pairs_needed,
        case kpi
            {%- for kpi, text in words.items() %}
            when '{{ kpi }}' then '{{ text }}'
            {%- endfor %}
        end || case when factor_view = 'deployed' then ' (deployed)' else '' end as kpi_words,
        cast(pair_count as string) || case when pair_count = 1 then ' pair' else ' pairs' end as in_pairs
    from joined
)

select
    window_start,
    window_end,
    workload_key,
    kpi,
    factor_view,
    pair_count,
    -- withheld where strata point in different directions
    case when not is_simpson then {{ significant('exp(mean)') }} end as geometric_mean_ratio,
    case when not is_simpson and pair_count >= 5 then {{ significant('exp(mean - half_width)') }} end as ratio_low,
    case when not is_simpson and pair_count >= 5 then {{ significant('exp(mean + half_width)') }} end as ratio_high,
    verdict,
    case verdict_reason
        when 'no_data'
            then 'No ' || kpi_words || case
                when kpi = 'goodput_ratio' and trainium_median is null and tpu_median is null
                    then ': no source tells the time of useful steps.'
                else ' is known of ' || case
                    when trainium_median is null and tpu_median is null then 'either side'
                    when trainium_median is null then 'Trainium'
                    else 'TPU'
                end || '.'
            end
        when 'unpaired' then 'No pair_key has a figure above 0 on both sides: medians only. Five pairs would be tested.'
        when 'view_is_descriptive'
            then case
                when kpi like 'market%' then 'What is reported market-based describes contracts, not machines: never a verdict.'
                else 'Each side with the grid and PUE of its own region: describes the places, never a verdict.'
            end
        when 'too_few' then 'Fewer than five pairs (' || cast(pair_count as string) || '): described, not tested.'
        when 'assumed_power'
            then 'The power of a chip compared here is assumed, not published: a measured interval would decide it.'
        when 'mixed_basis' then 'Energy is measured on one side and modelled on the other: the two are not compared.'
        when 'simpson' then 'The ratio is below 1 in one stratum and above 1 in another: no figure for all, see the strata.'
        when 'skewed' then 'The ratios of ' || in_pairs || ' are too skewed for an interval of their mean.'
        when 'power'
            then 'The difference is within the bounds of the power figures: a measured interval would decide it.'
        when 'residual_share'
            then case
                when trainium_residual_share is null or tpu_residual_share is null
                    then 'The share of accelerator cost that no run carries is not known on both sides.'
                else 'Shares of accelerator cost that no run carries differ more than the sides do: '
                    || {{ in_words('trainium_residual_share') }} || ' and ' || {{ in_words('tpu_residual_share') }} || '.'
            end
        else case
            when verdict <> 'undecided'
                then 'TPU''s ' || kpi_words || ' is ' || {{ in_words('exp(mean)') }} || ' times Trainium''s, 98 % interval '
                    || {{ in_words('exp(mean - half_width)') }} || ' to ' || {{ in_words('exp(mean + half_width)') }} || ', '
                    || in_pairs || '.'
            when abs(mean) > half_width
                then 'The 98 % interval of ' || in_pairs || ' excludes 1, but not corrected for the other figures tested.'
            else 'The 98 % interval of ' || in_pairs || ' includes 1.'
        end
    end as reason,
    trainium_median,
    tpu_median,
    {{ significant('trainium_residual_share') }} as trainium_residual_share,
    {{ significant('tpu_residual_share') }} as tpu_residual_share,
    case when not is_simpson and pair_count >= 5 then {{ significant('exp(mean_low - half_width)') }} end as ratio_corner_low,
    case when not is_simpson and pair_count >= 5 then {{ significant('exp(mean_high + half_width)') }} end as ratio_corner_high,
    pairs_needed,
    verdict_reason
from decided
