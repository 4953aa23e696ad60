{{ config(meta={'empty_without': ['int_comparison_promises']}) }}
{%- set key = 'workload_key, pair_key, kpi, factor_view, setting' %}
{%- set ends = ['', '_low', '_high'] %}
{%- set prices = {'': 'effective_cost', 'price: list': 'on_demand_list_cost', 'idle: loaded': 'loaded_cost'} %}

with run_figures as (
    select
        runs.workload_key,
        runs.pair_key,
        runs.accelerator_family,
        runs.is_reached,
        figures.kpi,
        figures.factor_view,
        figures.setting,
        figures.unit,
        figures.first_basis,
        figures.last_basis,
        figures.is_power_assumed,
        {{ double_to_decimal('figures.amount', 6) }} as amount
        {%- for end in ends %},
        {{ exact_log('figures.value' ~ end) }} as log_value{{ end }}
        {%- endfor %}
    from {{ ref('int_compared_runs') }} as runs
    inner join {{ ref('int_comparison_figures') }} as figures on runs.training_run_id = figures.training_run_id
    where runs.pair_key is not null and figures.kpi not like 'cost_per_run%'
),

-- of a side the geometric mean of the runs that reached, where each of them has the figure
figure_sides as (
    select
        {{ key }},
        accelerator_family,
        min(unit) as unit,
        count(case when is_reached then 1 end) as run_count,
        min(case when is_reached then first_basis end) as first_basis,
        max(case when is_reached then last_basis end) as last_basis,
        bool_or(is_reached and is_power_assumed) as is_power_assumed,
        case when min(unit) <> '1' and count(*) = count(amount) then cast(sum(amount) as double) end as total
        {%- for end in ends %},
        case
            when count(case when is_reached then 1 end) = count(case when is_reached then log_value{{ end }} end)
                then {{ mean_log('case when is_reached then log_value' ~ end ~ ' end') }}
        end as log_value{{ end }}
        {%- endfor %}
    from run_figures
    group by {{ key }}, accelerator_family
),

sides as (
    -- the primary figure: the cost of all launches of a side over those that reached
    {%- for setting, cost in prices.items() %}
    select
        sides.workload_key,
        sides.pair_key,
        promises.primary_kpi as kpi,
        'chip' as factor_view,
        '{{ setting }}' as setting,
        sides.accelerator_family,
        sides.cost_unit as unit,
        sides.reached as run_count,
        cast(null as string) as first_basis,
        cast(null as string) as last_basis,
        false as is_power_assumed,
        cast(sides.{{ cost }} as double) as total,
        sides.{{ cost }} is not null as is_known,
        cast(sides.{{ cost }} as double) / nullif(sides.reached, 0) as value,
        cast(null as double) as value_low,
        cast(null as double) as value_high,
        {{ exact_log('cast(sides.' ~ cost ~ ' as double) / nullif(sides.reached, 0)') }} as log_value,
        cast(null as decimal(18, 12)) as log_value_low,
        cast(null as decimal(18, 12)) as log_value_high
    from {{ ref('int_comparison_sides') }} as sides
    inner join {{ ref('int_comparison_promises') }} as promises
        on sides.workload_key = promises.workload_key and sides.pair_key = promises.pair_key

    union all
    {% endfor %}
    select
        {{ key }},
        accelerator_family,
        unit,
        run_count,
        first_basis,
        last_basis,
        is_power_assumed,
        total,
        log_value is not null as is_known,
        {%- for end in ends %}
        exp(cast(log_value{{ end }} as double)) as value{{ end }},
        {%- endfor %}
        log_value,
        log_value_low,
        log_value_high
    from figure_sides
),

-- every figure that one of the two sides has, and the primary one also where neither has it
figures as (
    select {{ key }}, min(unit) as unit from sides
    group by {{ key }}
    having bool_or(is_known) or (kpi like 'cost_per_run%' and setting = '')
),

paired as (
    select
        figures.workload_key,
        figures.pair_key,
        figures.kpi,
        figures.factor_view,
        figures.setting,
        figures.unit,
        promises.promise,
        promises.promise_broken_field,
        promises.registered_by,
        promises.evidence_of_time,
        promises.is_registered,
        promises.settled_at,
        promises.cluster_start,
        promises.cluster_end,
        promises.is_running,
        case when not promises.is_running then promises.closed_on end as closed_on,
        figures.kpi like 'cost_per_run%' as is_primary,
        -- what rests on power: not what a provider allocates
        (figures.kpi like 'energy%' or figures.kpi like 'location%' or figures.kpi like 'sci%')
        and figures.setting <> 'factors: allocated by the provider' as is_of_power,
        figures.factor_view = 'deployed' or figures.setting = 'factors: allocated by the provider' as is_of_places
        {%- for family in ['trainium', 'tpu'] %},
        {{ family }}_side.launches as {{ family }}_launches,
        {{ family }}_side.reached as {{ family }}_reached,
        coalesce({{ family }}_side.is_running, false) as {{ family }}_is_running,
        {{ family }}_side.accelerator_type as {{ family }}_accelerator_type,
        {{ family }}_side.region_id as {{ family }}_region_id,
        {{ family }}_side.purchase as {{ family }}_purchase,
        {{ family }}_side.software as {{ family }}_software,
        {{ family }}_side.team as {{ family }}_team,
        {{ family }}_side.is_cost_known and {{ family }}_side.effective_cost is null as {{ family }}_is_in_other_currency,
        {{ family }}.run_count as {{ family }}_run_count,
        {{ family }}.total as {{ family }}_total,
        {{ family }}.value as {{ family }}_value,
        {{ family }}.value_low as {{ family }}_value_low,
        {{ family }}.value_high as {{ family }}_value_high,
        {{ family }}.first_basis as {{ family }}_first_basis,
        {{ family }}.last_basis as {{ family }}_last_basis,
        {{ family }}.is_power_assumed as {{ family }}_is_power_assumed,
        {{ family }}.log_value as {{ family }}_log_value,
        {{ family }}.log_value_low as {{ family }}_log_value_low,
        {{ family }}.log_value_high as {{ family }}_log_value_high,
        coalesce({{ family }}.is_known, false) as {{ family }}_is_known
        {%- endfor %}
    from figures
    inner join {{ ref('int_comparison_promises') }} as promises
        on figures.workload_key = promises.workload_key and figures.pair_key = promises.pair_key
    {%- for family in ['trainium', 'tpu'] %}
    left join {{ ref('int_comparison_sides') }} as {{ family }}_side
        on
            figures.workload_key = {{ family }}_side.workload_key and figures.pair_key = {{ family }}_side.pair_key
            and {{ family }}_side.accelerator_family = '{{ family }}'
    left join sides as {{ family }}
        on
            figures.workload_key = {{ family }}.workload_key and figures.pair_key = {{ family }}.pair_key
            and figures.kpi = {{ family }}.kpi and figures.factor_view = {{ family }}.factor_view
            and figures.setting = {{ family }}.setting and {{ family }}.accelerator_family = '{{ family }}'
    {%- endfor %}
),

classed as (
    select
        *,
        case
            when not is_of_power then null
            when
                least(trainium_first_basis, tpu_first_basis) = greatest(trainium_last_basis, tpu_last_basis)
                then least(trainium_first_basis, tpu_first_basis)
            when coalesce(trainium_first_basis, tpu_first_basis) is not null then 'mixed'
        end as basis_class,
        is_of_power and coalesce(trainium_is_power_assumed or tpu_is_power_assumed, true) as is_power_assumed,
        -- a side that was launched and never reached has a cost, which counts in its cluster: no figure is missing
        case
            when trainium_is_known = tpu_is_known then null
            when trainium_is_known then 'tpu'
            else 'trainium'
        end as missing_side
    from paired
),

used as (
    select
        *,
        case
            when promise = 'broken' then 'promise_broken'
            when coalesce(trainium_launches, 0) = 0 or coalesce(tpu_launches, 0) = 0 then 'unpaired'
            when settled_at is null then 'running'
            when
                kpi like 'cost%' and not (trainium_is_known and tpu_is_known)
                and (trainium_is_in_other_currency or tpu_is_in_other_currency)
                then 'currency'
            when not (trainium_is_known and tpu_is_known) then 'no_figure'
            when is_of_places then 'view_is_descriptive'
            when promise = 'unknown' then 'promise_unknown'
            when not is_registered then 'labelled_later'
            when basis_class = 'mixed' then 'mixed_basis'
            when is_power_assumed then 'assumed_power'
        end as use_reason
    from classed
)

select
    workload_key,
    pair_key,
    kpi,
    factor_view,
    setting,
    unit,
    promise,
    promise_broken_field,
    registered_by,
    evidence_of_time,
    is_registered,
    basis_class,
    is_power_assumed,
    settled_at,
    cluster_start,
    cluster_end,
    closed_on
    {%- for family in ['trainium', 'tpu'] %},
    {{ family }}_accelerator_type,
    {{ family }}_region_id,
    {{ family }}_purchase,
    {{ family }}_software,
    {{ family }}_team,
    coalesce({{ family }}_run_count, 0) as {{ family }}_run_count,
    coalesce({{ family }}_launches, 0) as {{ family }}_launches,
    {{ family }}_value,
    {{ family }}_value_low,
    {{ family }}_value_high,
    {{ family }}_is_running,
    {{ family }}_total,
    coalesce({{ family }}_reached, 0) as {{ family }}_reached
    {%- endfor %},
    cast(tpu_log_value - trainium_log_value as decimal(18, 12)) as log_ratio,
    cast(tpu_log_value_low - trainium_log_value_high as decimal(18, 12)) as log_ratio_low,
    cast(tpu_log_value_high - trainium_log_value_low as decimal(18, 12)) as log_ratio_high,
    missing_side,
    case
        when use_reason is null then 'decides'
        when use_reason in ('promise_broken', 'unpaired') then 'not_comparable'
        when use_reason in ('view_is_descriptive', 'promise_unknown', 'labelled_later') then 'descriptive'
        else 'set_aside'
    end as use,
    use_reason
from used
