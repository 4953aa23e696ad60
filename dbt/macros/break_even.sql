{#
  After how many runs a port has paid for itself, per workload and direction: what it takes once over the mean saving of a run, over all matched
  pairs there are. The saving of a pair is what the run took on one side less what its twin took on the other; replicates are averaged first.
  Interval: t, 98 %, from five pairs; of a modelled figure moved to the worse corner of the power bounds at each end. One-time amounts are taken
  as stated, so runs = amount / saving turns the ends of the interval round.
  amount: a column of int_compared_runs, unit: its unit, measure: as in dim_porting_costs; `named` are the names of its columns.
#}
{% macro break_even(amount, unit, measure, named, is_modelled) -%}
{%- set ends = ['', '_low', '_high'] if is_modelled else [''] -%}
with sides as (
    select
        workload_key,
        pair_key,
        accelerator_family,
        {{ unit }} as unit,
        bool_or({{ 'coalesce(is_power_assumed, true)' if is_modelled else 'false' }}) as is_assumed
        {%- for end in ends %},
        case
            when count(*) = count({{ amount }}{{ end }}) then cast(avg(cast({{ amount }}{{ end }} as decimal(24, 9))) as decimal(19, 6))
        end as amount{{ end }}
        {%- endfor %}
    from {{ ref('int_compared_runs') }}
    where pair_key is not null and is_reached
    group by workload_key, pair_key, accelerator_family, {{ unit }}
),

directions as (
    select 'trainium' as from_family, 'tpu' as to_family
    union all
    select 'tpu' as from_family, 'trainium' as to_family
),

savings as (
    select
        origins.workload_key,
        directions.from_family,
        directions.to_family,
        origins.unit,
        origins.is_assumed or targets.is_assumed as is_assumed,
        cast(origins.amount - targets.amount as decimal(19, 6)) as saving,
        {%- if is_modelled %}
        cast(origins.amount_low - targets.amount_high as decimal(19, 6)) as saving_low,
        cast(origins.amount_high - targets.amount_low as decimal(19, 6)) as saving_high
        {%- else %}
        cast(origins.amount - targets.amount as decimal(19, 6)) as saving_low,
        cast(origins.amount - targets.amount as decimal(19, 6)) as saving_high
        {%- endif %}
    from sides as origins
    inner join directions on origins.accelerator_family = directions.from_family
    inner join sides as targets
        on
            directions.to_family = targets.accelerator_family and origins.workload_key = targets.workload_key
            and origins.pair_key = targets.pair_key and origins.unit = targets.unit
    where origins.amount is not null and targets.amount is not null
),

deviations as (
    select
        *,
        cast(saving - cast(
            cast(sum(saving) over (partition by workload_key, from_family, unit) as double)
            / cast(count(*) over (partition by workload_key, from_family, unit) as double)
        as decimal(19, 6)) as decimal(19, 6)) as deviation
    from savings
),

means as (
    select
        workload_key,
        from_family,
        to_family,
        unit,
        count(*) as pair_count,
        bool_or(is_assumed) as is_assumed,
        cast(sum(saving) as double) / count(*) as saving,
        cast(sum(saving_low) as double) / count(*) as corner_low,
        cast(sum(saving_high) as double) / count(*) as corner_high,
        case
            when count(*) > 1 then sqrt(cast(sum(deviation * deviation) as double) / (count(*) - 1)) / sqrt(cast(count(*) as double))
        end as standard_error
    from deviations
    group by workload_key, from_family, to_family, unit
    -- a workload that was billed in two currencies has no one saving
    qualify count(*) over (partition by workload_key, from_family) = 1
),

intervals as (
    select
        means.*,
        case when means.pair_count >= 5 then means.corner_low - quantiles.t_1 * means.standard_error end as saving_low,
        case when means.pair_count >= 5 then means.corner_high + quantiles.t_1 * means.standard_error end as saving_high,
        ports.one_time_amount,
        ports.unit as port_unit
    from means
    inner join {{ ref('dim_t_quantiles') }} as quantiles
        on greatest(4, least(means.pair_count - 1, 120)) = quantiles.degrees_of_freedom
    left join {{ ref('dim_porting_costs') }} as ports
        on means.workload_key = ports.workload_key and means.to_family = ports.to_family and ports.measure = '{{ measure }}'
),

reasoned as (
    select
        *,
        case
            when pair_count < 5 then 'Fewer than five pairs (' || cast(pair_count as string) || '): no saving is shown.'
            when is_assumed then 'No saving is shown: the power of a chip compared here is assumed, not published.'
            when saving_high < 0 then 'No break-even: a run takes more there, not less.'
            when saving_low <= 0 then 'No break-even is shown: the 98 % interval of the saving includes 0.'
            when one_time_amount is null then 'A saving is shown; what the port takes once is not in user_inputs.'
            when port_unit <> unit then 'The port is stated in ' || port_unit || ', the runs in ' || unit || ': no figure for both.'
        end as why_not
    from intervals
)

select
    workload_key,
    from_family,
    to_family,
    {%- if named.unit %}
    unit as {{ named.unit }},
    {%- endif %}
    {{ significant('saving') }} as {{ named.saving }},
    {{ significant('saving_low') }} as {{ named.low }},
    {{ significant('saving_high') }} as {{ named.high }},
    cast(case when port_unit = unit then one_time_amount end as decimal(38, {{ named.scale }})) as {{ named.one_time }},
    case when why_not is null then {{ significant('cast(one_time_amount as double) / saving') }} end as break_even_runs,
    case when why_not is null then {{ significant('cast(one_time_amount as double) / saving_high') }} end as break_even_runs_low,
    case when why_not is null then {{ significant('cast(one_time_amount as double) / saving_low') }} end as break_even_runs_high,
    coalesce(
        why_not,
        'Paid back after ' || {{ in_words('cast(one_time_amount as double) / saving') }} || ' runs, 98 % interval '
        || {{ in_words('cast(one_time_amount as double) / saving_high') }} || ' to '
        || {{ in_words('cast(one_time_amount as double) / saving_low') }} || ', from ' || cast(pair_count as string) || ' pairs.'
    ) as reason
from reasoned
{%- endmacro %}
