{%- set look = 'quarter_end, workload_key, kpi, factor_view, basis_class' %}
{%- set families = ['trainium', 'tpu'] %}
{%- set shared = ['overhead', 'pue_method', 'rails', 'host_share'] %}
{%- set apart = ['sensor', 'own'] %}

with look_pairs as (
    {{ pairs_behind_looks(
        "looks.cluster_count >= 6 and looks.factor_view = 'chip' and " ~ figure_family('looks.kpi') ~ " = 'energy'"
    ) }}
),

sides as (
    {%- for family in families %}
    select
        {{ look }},
        '{{ family }}' as family,
        pair_key,
        {{ family }}_accelerator as accelerator_type,
        greatest(coalesce(-{{ family }}_log_low, 0), 0) as log_low,
        greatest(coalesce({{ family }}_log_high, 0), 0) as log_high
    from look_pairs
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

widths as (
    select
        {{ look }}, family,
        count(*) as pair_count,
        {{ mean_log('log_low') }} as log_low,
        {{ mean_log('log_high') }} as log_high
    from sides
    group by {{ look }}, family
),

-- the mean of a term over the pairs: a pair of a type without factors counts with none
terms as (
    select
        sides.quarter_end, sides.workload_key, sides.kpi, sides.factor_view, sides.basis_class, sides.family,
        factors.term,
        factors.place,
        sum({{ exact_log('1e0 / factors.low_factor') }}) as log_low_sum,
        sum({{ exact_log('factors.high_factor') }}) as log_high_sum
    from sides
    inner join {{ ref('dim_power_terms') }} as factors
        on sides.accelerator_type = factors.accelerator_type and factors.basis_class in ('', sides.basis_class)
    group by
        sides.quarter_end, sides.workload_key, sides.kpi, sides.factor_view, sides.basis_class, sides.family,
        factors.term, factors.place
),

in_turn as (
    select
        terms.*,
        widths.log_low,
        widths.log_high,
        {%- for end in ['log_low', 'log_high'] %}
        cast(cast(sum(terms.{{ end }}_sum) over (
            partition by terms.quarter_end, terms.workload_key, terms.kpi, terms.factor_view, terms.basis_class, terms.family
            order by terms.place
        ) as double) / cast(widths.pair_count as double) as decimal(18, 12)) as {{ end }}_by_now,
        cast(coalesce(cast(sum(terms.{{ end }}_sum) over (
            partition by terms.quarter_end, terms.workload_key, terms.kpi, terms.factor_view, terms.basis_class, terms.family
            order by terms.place rows between unbounded preceding and 1 preceding
        ) as double) / cast(widths.pair_count as double), 0e0) as decimal(18, 12)) as {{ end }}_before{{ ',' if not loop.last }}
        {%- endfor %}
    from terms
    inner join widths using ({{ look }}, family)
),

sums as (
    select
        {{ look }}, family,
        least(max(log_low), max(log_low_by_now)) as log_low,
        least(max(log_high), max(log_high_by_now)) as log_high
    from in_turn
    group by {{ look }}, family
),

-- a term takes what is left of the figure's own bounds, and at most its own width
taken as (
    select
        {{ look }}, family, term,
        least(log_low, log_low_by_now) - least(log_low, log_low_before) as log_low,
        least(log_high, log_high_by_now) - least(log_high, log_high_before) as log_high
    from in_turn
    union all
    select
        {{ look }}, family, 'own' as term,
        widths.log_low - coalesce(sums.log_low, 0) as log_low,
        widths.log_high - coalesce(sums.log_high, 0) as log_high
    from widths
    left join sums using ({{ look }}, family)
),

-- low and high as 2.5 and 97.5 % points of a log-normal
normals as (
    select
        {{ look }},
        -- less of Trainium, as the ratio is TPU's over Trainium's
        cast(sum(
            cast(case when family = 'tpu' then log_high - log_low else log_low - log_high end as decimal(18, 12))
        ) as double) / 2e0 as middle,
        {%- for term in shared %}
        cast(sum(case when term = '{{ term }}' then
            cast(case when family = 'tpu' then log_high + log_low else -log_high - log_low end as decimal(18, 12)) else 0
        end) as double) / 3.919928e0 as {{ term }},
        {%- endfor %}
        {%- for term in apart %}{% for family in families %}
        cast(sum(case when term = '{{ term }}' and family = '{{ family }}' then
            cast({{ '' if family == 'tpu' else '-' }}(log_high + log_low) as decimal(18, 12)) else 0
        end) as double) / 3.919928e0 as {{ term }}_{{ family }},
        {%- endfor %}{% endfor %}
        count(*) as term_count
    from taken
    group by {{ look }}
),

drawn as (
    select
        normals.quarter_end, normals.workload_key, normals.kpi, normals.factor_view, normals.basis_class,
        draws.draw,
        cast(
            normals.middle
            {%- for term in shared %}
            + normals.{{ term }} * draws.{{ term }}
            {%- endfor %}
            {%- for term in apart %}{% for family in families %}
            + normals.{{ term }}_{{ family }} * draws.{{ term }}_{{ family }}
            {%- endfor %}{% endfor %}
            as decimal(18, 12)
        ) as difference
    from normals
    cross join {{ ref('dim_standard_normals') }} as draws
),

ranked as (
    select
        *,
        row_number() over (partition by {{ look }} order by difference, draw) as place
    from drawn
)

-- of 2,000 the 20th from either end; what is 0 is never left out
select
    {{ look }},
    least(cast(max(case when place = 20 then difference end) as double), 0e0) as shift_low,
    greatest(cast(max(case when place = 1981 then difference end) as double), 0e0) as shift_high
from ranked
group by {{ look }}
