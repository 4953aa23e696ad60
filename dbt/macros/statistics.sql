{# What the statistics of report models are made of (docs/methodology/comparison.md). Doubles are never added up, as the order of rows would decide
   the last digits: a logarithm is made exact first. #}

{# An exact sum over a run's months as a double; null where one of them is unknown. #}
{% macro sum_as_double(x) -%}
case when count(*) = count({{ x }}) then cast(sum({{ x }}) as double) end
{%- endmacro %}

{# The natural logarithm at twelve decimals, half away from zero; null for what is not above 0. A cast of the double would round halves otherwise
   on the other engine: it is made whole units by IEEE steps. No double has a logarithm of 1000 or more. #}
{% macro exact_log(x) -%}
case
            when {{ x }} > 0
                then cast({{ from_units('cast(sign(ln(' ~ x ~ ')) * floor(abs(ln(' ~ x ~ ')) * 1e12 + 5e-1) as bigint)', 12) }} as decimal(18, 12))
        end
{%- endmacro %}

{# The mean of exact logarithms at twelve decimals, half away from zero, over a group or a window; null without any. Divided as whole numbers: of two
   logarithms every other mean is a tie, which a quotient of doubles leaves to the engine. #}
{% macro mean_log(x, over='') -%}
{%- set total, n = 'sum(' ~ x ~ ')' ~ over, 'cast(count(' ~ x ~ ')' ~ over ~ ' as decimal(18, 0))' -%}
{%- set doubled = 'cast(2 * ' ~ to_units('abs(' ~ total ~ ')', 12) ~ ' + ' ~ n ~ ' as decimal(38, 0))' -%}
case
            when count({{ x }}){{ over }} > 0
                then cast({{ from_units(
                    'case when ' ~ total ~ ' < 0 then -1 else 1 end * ' ~ int_div(doubled, 'cast(2 * ' ~ n ~ ' as decimal(38, 0))'), 12
                ) }} as decimal(18, 12))
        end
{%- endmacro %}

{# A ratio or a count in a sentence, at most three decimals and no 0 at the end: 0.78, 5, 1000, on either engine. #}
{% macro in_words(x) -%}
{{ replace_all('cast(cast(' ~ x ~ ' as decimal(38, 3)) as string)', '[.]?0+$', '') }}
{%- endmacro %}

{# ln e of the t mixture with g = 1, at nine decimals and at most that of 1e12; null below two values. Without a spread it takes the limit.
   x2 is t squared over v, as one works it out from mean and spread. #}
{% macro log_e_value(n, mean, spread) -%}
{%- set x2 = '((' ~ mean ~ ') * (' ~ mean ~ ') * ' ~ n ~ ' / (' ~ spread ~ ' * ' ~ spread ~ ') / (' ~ n ~ ' - 1e0))' -%}
cast(case
        when {{ n }} < 2 then null
        when {{ spread }} = 0 and ({{ mean }}) = 0 then -5e-1 * ln(1e0 + {{ n }})
        else least(27.631021116e0, case
            when {{ spread }} = 0 then 5e-1 * ({{ n }} - 1e0) * ln(1e0 + {{ n }})
            else -5e-1 * ln(1e0 + {{ n }}) + {{ n }} / 2e0 * (ln(1e0 + {{ x2 }}) - ln(1e0 + {{ x2 }} / (1e0 + {{ n }})))
        end)
    end as decimal(18, 9))
{%- endmacro %}

{# Half the interval that is the inversion of e at ln E; null where it is endless. #}
{% macro sequence_half_width(n, spread, log_e_needed) -%}
{%- set k = 'exp(2e0 / ' ~ n ~ ' * (cast(' ~ log_e_needed ~ ' as double) + 5e-1 * ln(1e0 + ' ~ n ~ ')))' -%}
case
        when {{ k }} < 1e0 + {{ n }}
            then {{ spread }} / sqrt(cast({{ n }} as double)) * sqrt(({{ n }} - 1e0) * ({{ k }} - 1e0) / (1e0 - {{ k }} / (1e0 + {{ n }})))
    end
{%- endmacro %}

{# Families of figures that e-BH takes together; null for what is never tested. Location-based energy in the chip view is a copy of the energy. #}
{% macro figure_family(kpi) -%}
case
        when {{ kpi }} in ('cost_per_run_to_target', 'cost_per_run_of_fixed_work') then 'primary'
        when {{ kpi }} like 'cost%' then 'unit_cost'
        when {{ kpi }} like 'energy%' or {{ kpi }} like 'sci%' then 'energy'
        when {{ kpi }} in ('mfu_ratio', 'goodput_ratio', 'held_time_utilisation_ratio') then 'utilisation'
    end
{%- endmacro %}

{# The deciding pairs behind each look at a whole series, with its day; `columns` are more of the look. #}
{% macro pairs_behind_looks(condition='true', columns=[]) -%}
select
        looks.quarter_end,
        {%- for column in columns %}
        looks.{{ column }},
        {%- endfor %}
        pairs.*
    from {{ ref('int_comparison_looks') }} as looks
    inner join {{ ref('int_comparison_settled_pairs') }} as pairs
        on
            looks.workload_key = pairs.workload_key and looks.kpi = pairs.kpi and looks.factor_view = pairs.factor_view
            and looks.basis_class = pairs.basis_class and looks.quarter_end >= pairs.closed_on
    where looks.series = 'all' and looks.stratum_kind = '' and {{ condition }}
{%- endmacro %}

{# Half quarters in which a launch of a registered pair still goes on and will change what they are: they wait. #}
{% macro half_quarters_that_wait() -%}
select distinct workload_key, cluster_start
    from {{ ref('int_comparison_promises') }}
    where is_registered and is_running and promise in ('to_target', 'fixed_work') and cluster_start is not null
{%- endmacro %}

{# Whether strata differ: a one-way F test at 1 % over the logarithms of `pairs`, by group; strata of fewer than three pairs are one rest.
   What follows `with pairs as (...),` in a model. #}
{% macro strata_test(group) -%}
grouped as (
    select
        *,
        case when count(*) over (partition by {{ group }}, stratum) >= 3 then stratum else 'rest' end as in_stratum
    from pairs
    where log_ratio is not null
),

centred as (
    select
        {{ group }}, in_stratum,
        {{ mean_log('log_ratio', ' over (partition by ' ~ group ~ ')') }} as mean_of_all,
        {{ mean_log('log_ratio', ' over (partition by ' ~ group ~ ', in_stratum)') }} as mean_of_stratum,
        log_ratio
    from grouped
),

deviations as (
    select
        {{ group }}, in_stratum,
        cast(mean_of_stratum - mean_of_all as decimal(18, 12)) as between_strata,
        cast(log_ratio - mean_of_stratum as decimal(18, 12)) as within_stratum
    from centred
),

sums as (
    select
        {{ group }},
        count(*) as pair_count,
        count(distinct in_stratum) as stratum_count,
        cast(sum(between_strata * between_strata) as double) as squares_between,
        cast(sum(within_stratum * within_stratum) as double) as squares_within
    from deviations
    group by {{ group }}
),

tested as (
    select
        *,
        stratum_count - 1 as numerator_df,
        pair_count - stratum_count as denominator_df,
        case
            when squares_within > 0
                then squares_between / (stratum_count - 1) / (squares_within / (pair_count - stratum_count))
        end as f_value
    from sums
    where stratum_count > 1 and pair_count > stratum_count
),

quantiles as (
    select
        tested.*,
        f.f_99,
        row_number() over (
            partition by {{ group }} order by f.numerator_df desc, f.denominator_df desc
        ) as place
    from tested
    inner join {{ ref('dim_f_quantiles') }} as f
        on tested.numerator_df >= f.numerator_df and tested.denominator_df >= f.denominator_df
)

select
    {{ group }},
    stratum_count,
    pair_count,
    {{ significant('f_value') }} as f_value,
    f_99 as f_needed,
    case when squares_within > 0 then f_value > f_99 else squares_between > 0 end as is_different
from quantiles
where place = 1
{%- endmacro %}
