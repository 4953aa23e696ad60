{%- set compared = 'window_start, window_end, workload_key, kpi, factor_view' %}
{%- set copied = [
    'mean', 'spread', 'is_skewed', 'total_log', 'total_log_low', 'total_log_high', 'log_e', 'log_e_as_it_is',
    'log_e_with_power', 'm', 'k', 'e_needed', 'log_e_needed', 'log_e_needed_unskewed', 'decided_log_low', 'decided_log_high',
    'log_least_difference', 'claimed_direction', 'standing_direction', 'claimed_at', 'claim_log_e', 'claim_e_needed',
    'claim_log_low', 'claim_log_high', 'claim_m', 'claim_k',
] %}
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
        {%- for side in ['trainium', 'tpu'] %}
        case when run_medians.unit_count = 1 then {{ significant('run_medians.' ~ side ~ '_median') }} end as {{ side }}_median
        {{- ',' if not loop.last }}
        {%- endfor %}
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

joined as (
    select
        medians.*,
        medians.kpi in ('mfu_ratio', 'goodput_ratio', 'held_time_utilisation_ratio') as is_more_better,
        coalesce(windows.pair_count, 0) as pair_count,
        windows.mean as window_mean,
        windows.mean_low,
        windows.mean_high,
        windows.half_width,
        coalesce(decisions.cluster_count, 0) as cluster_count,
        decisions.pair_count as decided_pair_count,
        decisions.sixth_closed_on,
        {%- for column in copied %}
        decisions.{{ column }},
        {%- endfor %}
        case when decisions.standing_direction <> 0 then decisions.claim_mean else decisions.mean end as shown_mean,
        coalesce(decisions.is_claim_refuted or decisions.is_claim_turned, false) as is_claim_opposed,
        {%- for flag in ['is_class_opposed', 'is_equivalent', 'is_power_assumed', 'is_short_of_figures'] %}
        coalesce(decisions.{{ flag }}, false) as {{ flag }},
        {%- endfor %}
        scope.different_strata,
        {%- for kind in ['team', 'software', 'region', 'purchase', 'accelerator'] %}
        coalesce(scope.{{ kind }}_names, 'unknown') as {{ kind }}_names,
        {%- endfor %}
        split_part(scope.purchase_names, ' / ', 1) <> split_part(scope.purchase_names, ' / ', 2) as is_bought_otherwise,
        windows.mean_at_list,
        coalesce(scope.is_time_of_files, false) as is_time_of_files,
        coalesce(set_aside.deciding_count, 0) as registered_count,
        coalesce(set_aside.set_aside_count, 0) as set_aside_count,
        set_aside.set_aside_because,
        coalesce(set_aside.is_in_two_currencies, false) as is_in_two_currencies,
        set_aside.main_reason,
        shares.trainium_share,
        shares.tpu_share,
        -- with both sides' shares, at the worst of the currencies, the other one would be ahead; an unknown one could be up to 1
        case
            when medians.kpi not like 'cost%' or decisions.standing_direction = 0 then false
            when decisions.standing_direction > 0
                then coalesce(
                    exp(decisions.claim_mean) * (1e0 - shares.trainium_share) <= 1e0 - coalesce(shares.tpu_least_share, 0e0), true
                )
            else coalesce(
                exp(decisions.claim_mean) * (1e0 - coalesce(shares.trainium_least_share, 0e0)) >= 1e0 - shares.tpu_share, true
            )
        end as is_withheld
    from medians
    left join {{ ref('int_comparison_window_figures') }} as windows using ({{ compared }})
    left join {{ ref('int_comparison_decisions') }} as decisions
        on
            medians.window_end = decisions.quarter_end and medians.workload_key = decisions.workload_key
            and medians.kpi = decisions.kpi and medians.factor_view = decisions.factor_view
    left join {{ ref('int_comparison_scope') }} as scope
        on
            decisions.quarter_end = scope.quarter_end and decisions.workload_key = scope.workload_key
            and decisions.kpi = scope.kpi and decisions.factor_view = scope.factor_view
            and decisions.basis_class = scope.basis_class
    left join {{ ref('int_comparison_shares') }} as shares
        on
            decisions.quarter_end = shares.quarter_end and decisions.workload_key = shares.workload_key
            and decisions.kpi = shares.kpi and decisions.factor_view = shares.factor_view
            and decisions.basis_class = shares.basis_class
    left join {{ ref('int_comparison_set_aside') }} as set_aside
        on
            medians.window_end = set_aside.quarter_end and medians.workload_key = set_aside.workload_key
            and medians.kpi = set_aside.kpi and medians.factor_view = set_aside.factor_view
),

-- the first that applies
reasoned as (
    select
        *,
        case
            when pair_count = 0 and cluster_count = 0 and registered_count = 0 and main_reason is null
                then case
                    when trainium_median is null or tpu_median is null then 'no_data'
                    when factor_view = 'chip' then 'unpaired'
                    else 'view_is_descriptive'
                end
            when factor_view = 'deployed' then 'view_is_descriptive'
            when cluster_count = 0 and registered_count > 0 then 'too_few'
            when cluster_count = 0 then main_reason
            when cluster_count < 6 then 'too_few_clusters'
            when is_claim_opposed or is_class_opposed or different_strata is not null then 'heterogeneous'
            when is_power_assumed then 'assumed_power'
            when is_equivalent then 'decided'
            when standing_direction <> 0 and is_withheld then 'residual_share'
            when standing_direction <> 0 then 'decided'
            when is_skewed and log_e >= log_e_needed_unskewed then 'skewed'
            when log_e_as_it_is >= log_e_needed and coalesce(log_e_with_power < log_e_needed, true) then 'power'
            else 'sample'
        end as verdict_reason
    from joined
),

decided as (
    select
        *,
        case
            when verdict_reason in ('no_data', 'unpaired', 'promise_broken') then 'not_comparable'
            when verdict_reason in ('view_is_descriptive', 'too_few', 'too_few_clusters', 'labelled_later', 'promise_unknown')
                then 'descriptive'
            when verdict_reason <> 'decided' then 'undecided'
            when is_equivalent then 'equivalent'
            when (standing_direction > 0) = is_more_better then 'tpu'
            else 'trainium'
        end as verdict,
        -- a claim that is not made anew shows the look that made it
        verdict_reason = 'decided' and not is_equivalent and claimed_direction = 0 as is_from_earlier,
        case kpi
            {%- for kpi, text in words.items() %}
            when '{{ kpi }}' then '{{ text }}'
            {%- endfor %}
        end || case when factor_view = 'deployed' then ' (deployed)' else '' end as kpi_words,
        cast(cluster_count as string) || ' half quarter' || case when cluster_count = 1 then '' else 's' end as in_clusters,
        case
            when verdict_reason in ('view_is_descriptive', 'no_data', 'unpaired', 'promise_broken') then null
            when sixth_closed_on is not null then sixth_closed_on
            when cluster_count >= 4 then cast(window_end + interval 3 month as date)
            when cluster_count >= 2 then cast(window_end + interval 6 month as date)
            else cast(window_end + interval 9 month as date)
        end as first_verdict_possible
    from reasoned
),

-- of strata that differ the one that lacks the fewest clusters
strata_in_turn as (
    select
        window_end, workload_key, kpi, factor_view, stratum,
        row_number() over (
            partition by window_end, workload_key, kpi, factor_view
            order by cluster_count desc, pair_count desc, stratum_kind, stratum
        ) as place
    from {{ ref('rpt_comparison_strata') }}
    where is_different and verdict in ('descriptive', 'undecided')
),

shown_look as (
    select
        *,
        verdict_reason in ('too_few_clusters', 'sample', 'skewed', 'decided') as is_for_clusters,
        case when is_from_earlier then claim_log_low else decided_log_low end as shown_log_low,
        case when is_from_earlier then claim_log_high else decided_log_high end as shown_log_high,
        case when is_from_earlier then claim_log_e else log_e end as shown_log_e,
        case when is_from_earlier then claim_e_needed else e_needed end as shown_e_needed,
        case when is_from_earlier then claim_m else m end as shown_m,
        case when is_from_earlier then claim_k else k end as shown_k
    from decided
),

completed as (
    select
        decided.*,
        case when decided.is_for_clusters then plans.clusters_needed end as clusters_needed,
        case when decided.is_for_clusters then plans.plan_power end as plan_power,
        case when decided.verdict_reason = 'heterogeneous' then strata_in_turn.stratum end as pairs_needed_stratum
    from shown_look as decided
    left join {{ ref('int_comparison_needs') }} as plans
        on
            decided.window_end = plans.quarter_end and decided.workload_key = plans.workload_key
            and decided.kpi = plans.kpi and decided.factor_view = plans.factor_view
    left join strata_in_turn
        on
            decided.window_end = strata_in_turn.window_end and decided.workload_key = strata_in_turn.workload_key
            and decided.kpi = strata_in_turn.kpi and decided.factor_view = strata_in_turn.factor_view and strata_in_turn.place = 1
)

select
    window_start,
    window_end,
    workload_key,
    kpi,
    factor_view,
    pair_count,
    {{ significant('exp(window_mean)') }} as geometric_mean_ratio,
    {{ significant('exp(window_mean - half_width)') }} as ratio_low,
    {{ significant('exp(window_mean + half_width)') }} as ratio_high,
    verdict,
    case verdict_reason
        when 'no_data'
            then 'No ' || kpi_words || case
                when kpi = 'goodput_ratio' and trainium_median is null and tpu_median is null
                    then ': no source has the time of useful steps.'
                when is_in_two_currencies
                    then ': the sides are billed in two currencies. A source of kind fx_rates converts them.'
                else ' is known of ' || case
                    when trainium_median is null and tpu_median is null then 'either side'
                    when trainium_median is null then 'Trainium'
                    else 'TPU'
                end || '.'
            end
        when 'unpaired'
            then case
                when is_in_two_currencies
                    then 'The sides are billed in two currencies: a source of kind fx_rates converts them.'
                else 'No pair has a figure above 0 on both sides: medians only.'
            end
        when 'view_is_descriptive'
            then case
                when kpi like 'market%' then 'What is reported market-based describes contracts, not machines: never a verdict.'
                else 'Each side with the grid and PUE of its own region: describes the places, never a verdict.'
            end
        when 'promise_broken' then 'The runs of a pair do not share the same promise of model, target or work: see the pairs.'
        when 'promise_unknown' then 'Model, or target and tokens, are not on record: described, not tested.'
        when 'labelled_later'
            then 'No pair was registered before its later side began: described, not tested. A registered plan could decide from '
                || cast(first_verdict_possible as string) || '.'
        when 'mixed_basis' then 'Energy is measured on one side and modelled on the other: the two are not compared.'
        when 'assumed_power'
            then 'The power of a chip compared here is assumed, not published: a measured figure would decide it.'
        when 'too_few'
            then 'No half quarter is closed in which both sides reached the target: a verdict is possible from '
                || cast(first_verdict_possible as string) || '.'
        when 'too_few_clusters'
            then in_clusters || ', and six are needed: a verdict is possible from '
                || cast(first_verdict_possible as string) || '.'
        when 'heterogeneous'
            then case
                when is_claim_opposed
                    then 'The last four quarters contradict what all ' || in_clusters || ' say together: no figure for both.'
                when is_class_opposed then 'Measured and modelled energy decide differently: no figure for both.'
                else 'The ratio differs by ' || different_strata || ' more than by chance (F test, 1 %): see the strata.'
            end
        when 'residual_share'
            then case
                when trainium_share is null or tpu_share is null
                    then 'The share of accelerator cost that no run carries is not known on both sides.'
                else 'With the accelerator cost that no run carries (shares ' || {{ in_words('trainium_share') }} || ' and '
                    || {{ in_words('tpu_share') }} || ') the other side would be ahead.'
            end
        when 'skewed' then 'A few launches carry this: ' || in_clusters || ' with skewed ratios are not enough yet.'
        when 'power'
            then 'The difference is within what the power figures allow: a meter would decide it, more pairs would not; of '
                || accelerator_names || ' (Trainium / TPU), at the boundary IT.'
        when 'sample'
            then case
                when is_short_of_figures and log_e_as_it_is >= log_e_needed
                    then 'More than a tenth of the pairs lacks a figure on one side, whose extremes decide otherwise. Set aside: '
                        || coalesce(set_aside_because, 'none') || '.'
                when shown_log_low is null
                    then 'The deciding interval of ' || in_clusters || ' is endless: no figure could decide yet.'
                else 'The deciding interval of ' || in_clusters || ' is ' || {{ in_words('exp(shown_log_low)') }} || ' to '
                    || {{ in_words('exp(shown_log_high)') }} || ': it includes 1 and more than the least difference that matters.'
            end
        else case
            when verdict = 'equivalent'
                then 'The sides do not differ by ' || {{ in_words('(exp(log_least_difference) - 1e0) * 100e0') }}
                || ' % or more in ' || kpi_words || ': '
            else 'TPU''s ' || kpi_words || ' is ' || {{ in_words('exp(shown_mean)') }} || ' times Trainium''s: '
        end
        || 'deciding interval ' || {{ in_words('exp(shown_log_low)') }} || ' to ' || {{ in_words('exp(shown_log_high)') }} || ', '
        || in_clusters || ', ' || cast(shown_k as string) || ' of ' || cast(shown_m as string) || ' claimed.'
        || case
            when is_from_earlier then ' Claimed by ' || cast(claimed_at as string) || '; it stands.' else ''
        end
        || case
            when verdict = 'equivalent' then ''
            when shown_log_low > log_least_difference or shown_log_high < -log_least_difference then ''
            else ' It may be by less than matters.'
        end
        || case when is_skewed then ' A few launches carry this.' else '' end
        || ' It holds for teams ' || team_names || '; software ' || software_names || '; regions ' || region_names
        || '; bought ' || replace(purchase_names, '_', ' ') || '; types ' || accelerator_names || ' (Trainium / TPU).'
        || case
            when kpi like 'cost_per_run%' and is_bought_otherwise and mean_at_list is not null
                then ' At list prices the ratio of the pairs of these dates is ' || {{ in_words('exp(mean_at_list)') }} || '.'
            else ''
        end
        || case
            when is_time_of_files then ' When pairs were registered is known by times of files, which anybody can set.' else ''
        end
    end as reason,
    trainium_median,
    tpu_median,
    {{ significant('trainium_share') }} as trainium_residual_share,
    {{ significant('tpu_share') }} as tpu_residual_share,
    {{ significant('exp(mean_low - half_width)') }} as ratio_corner_low,
    {{ significant('exp(mean_high + half_width)') }} as ratio_corner_high,
    case
        when clusters_needed is not null
            then cast(
                ceil(greatest(clusters_needed - cluster_count, 0) * cast(decided_pair_count as double) / cluster_count) as bigint
            )
    end as pairs_needed,
    verdict_reason,
    cluster_count,
    set_aside_count,
    set_aside_because,
    {{ significant('exp(cast(shown_log_e as double))') }} as e_value,
    {{ significant('shown_e_needed') }} as e_needed,
    {{ significant('exp(total_log)') }} as total_ratio,
    {{ significant('exp(total_log_low)') }} as total_ratio_low,
    {{ significant('exp(total_log_high)') }} as total_ratio_high,
    {{ significant('exp(shown_log_low)') }} as decided_low,
    {{ significant('exp(shown_log_high)') }} as decided_high,
    clusters_needed,
    pairs_needed_stratum,
    plan_power,
    first_verdict_possible
from completed
