{{ config(meta={'empty_without': ['rpt_comparison_pairs']}) }}
{#- the interval that decided, and its middle; the ratio of the window's pairs is another figure -#}
{%- set low = 'verdicts.decided_low' %}
{%- set high = 'verdicts.decided_high' %}
{%- set middle = 'sqrt(verdicts.decided_low * verdicts.decided_high)' %}
with measures as (
    select 'cost' as measure, 'cost_per_run_to_target' as kpi
    union all
    select 'cost' as measure, 'cost_per_run_of_fixed_work' as kpi
    union all
    select 'emissions' as measure, 'location_based_gco2e_per_million_tokens' as kpi
),

-- of a workload the newest verdict about pairs, of the longest window that ends with it
ranked_verdicts as (
    select
        measures.measure,
        verdicts.*,
        row_number() over (
            partition by measures.measure, verdicts.workload_key
            order by verdicts.window_end desc, verdicts.window_start, verdicts.verdict = 'not_comparable', verdicts.kpi desc
        ) as place
    from {{ ref('rpt_trainium_vs_tpu') }} as verdicts
    inner join measures using (kpi)
    where verdicts.factor_view = 'chip' and verdicts.pair_count > 0
),

-- the same grid and PUE on both sides, as in the verdict: grams of a million tokens are kilograms of the tokens of a run
run_tokens as (
    select
        workload_key,
        pair_key,
        accelerator_family,
        cast(avg(cast(useful_tokens as decimal(24, 0))) as double) / 1e9 as billion_tokens
    from {{ ref('dim_training_runs') }}
    where state = 'succeeded' and pair_key is not null
    group by workload_key, pair_key, accelerator_family
),

-- what a run took on each side, over the pairs of the window
bases as (
    select
        verdicts.measure,
        verdicts.workload_key,
        tokens.accelerator_family as from_family,
        case when verdicts.measure = 'cost' then min(pairs.unit) else 'kgCO2e' end as unit,
        cast(avg(cast(
            case tokens.accelerator_family when 'trainium' then pairs.trainium_value else pairs.tpu_value end
            * case verdicts.measure when 'cost' then 1e0 else tokens.billion_tokens end as decimal(24, 9)
        )) as double) as amount
    from ranked_verdicts as verdicts
    inner join {{ ref('rpt_comparison_pairs') }} as pairs using (window_start, window_end, workload_key, kpi, factor_view)
    inner join run_tokens as tokens using (workload_key, pair_key)
    where
        verdicts.place = 1 and pairs.setting = '' and pairs.ratio is not null
        and tokens.accelerator_family in ('trainium', 'tpu')
    group by verdicts.measure, verdicts.workload_key, tokens.accelerator_family
    having verdicts.measure <> 'cost' or min(pairs.unit) = max(pairs.unit)
),

directions as (
    select
        verdicts.measure,
        verdicts.workload_key,
        bases.from_family,
        case bases.from_family when 'trainium' then 'tpu' else 'trainium' end as to_family,
        bases.unit,
        verdicts.verdict,
        verdicts.reason as verdict_in_words,
        verdicts.pair_count,
        -- what moving leaves of a run: of Trainium the ratio, of TPU one over it
        {%- for end, ratio, other in [('', middle, middle), ('_low', low, high), ('_high', high, low)] %}
        case when bases.from_family = 'trainium' then {{ ratio }} else 1e0 / ({{ other }}) end as remaining{{ end }},
        {%- endfor %}
        bases.amount
    from ranked_verdicts as verdicts
    inner join bases using (measure, workload_key)
    where verdicts.place = 1
),

savings as (
    select
        directions.*,
        {%- for end, of in {'': '', '_low': '_high', '_high': '_low'}.items() %}
        case
            when directions.verdict in ('trainium', 'tpu') then directions.amount * (1e0 - directions.remaining{{ of }})
        end as saving{{ end }},
        {%- endfor %}
        ports.one_time_amount,
        ports.unit as port_unit
    from directions
    left join {{ ref('dim_porting_costs') }} as ports using (workload_key, to_family, measure)
),

reasoned as (
    select
        *,
        case
            when verdict not in ('trainium', 'tpu') then 'No saving is shown, ' || verdict || ': ' || verdict_in_words
            when verdict = from_family then 'No break-even: a run takes more there, not less.'
            when one_time_amount is null then 'A saving is shown; what the port takes once is not in user_inputs.'
            when port_unit <> unit
                then 'The port is stated in ' || port_unit || ', the runs in ' || unit || ': no figure for both.'
        end as why_not
    from savings
)

select
    measure,
    workload_key,
    from_family,
    to_family,
    unit,
    {{ significant('saving') }} as saving,
    {{ significant('saving_low') }} as saving_low,
    {{ significant('saving_high') }} as saving_high,
    case when port_unit = unit then one_time_amount end as one_time_amount
    {%- for name, by in {'runs': 'saving', 'runs_low': 'saving_high', 'runs_high': 'saving_low'}.items() %},
    case when why_not is null then {{ significant('cast(one_time_amount as double) / ' ~ by) }} end as {{ name }}
    {%- endfor %},
    coalesce(
        why_not,
        'Paid back after ' || {{ in_words('cast(one_time_amount as double) / saving') }} || ' runs, '
        || {{ in_words('cast(one_time_amount as double) / saving_high') }} || ' to '
        || {{ in_words('cast(one_time_amount as double) / saving_low') }} || ' by the interval of the verdict.'
    ) as reason
from reasoned
