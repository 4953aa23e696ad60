{%- set look = 'quarter_end, workload_key, kpi, factor_view, basis_class' %}
{%- set kinds = ['team', 'software', 'region', 'purchase', 'accelerator'] %}
{%- set families = ['trainium', 'tpu'] %}

-- what was the same over all clusters is part of the claim, and the sentence names it
with pairs as (
    {{ pairs_behind_looks() }}
),

attributes as (
    {%- for kind in kinds %}{% for family in families %}
    {{ 'union all' if not loop.first }}
    select distinct
        {{ look }},
        '{{ kind }}' as kind,
        '{{ family }}' as family,
        {{ family }}_{{ kind }} as name
    from pairs
    {%- endfor %}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

sides as (
    select
        {{ look }}, kind,
        {%- for family in families %}
        {{ in_one_text("case when family = '" ~ family ~ "' then name end") }} as {{ family }}_names{{ ',' if not loop.last }}
        {%- endfor %}
    from attributes
    group by {{ look }}, kind
),

names as (
    select
        {{ look }}
        {%- for kind in kinds %},
        max(case when kind = '{{ kind }}' then trainium_names || ' / ' || tpu_names end) as {{ kind }}_names
        {%- endfor %}
    from sides
    group by {{ look }}
),

times as (
    select {{ look }}, bool_or(coalesce(evidence_of_time = 'file_time', false)) as is_time_of_files
    from pairs
    group by {{ look }}
),

strata as (
    select
        {{ look }},
        {{ in_one_text('stratum_kind') }} as different_strata
    from {{ ref('int_comparison_strata_tests') }}
    where is_different
    group by {{ look }}
)

select
    names.*,
    times.is_time_of_files,
    strata.different_strata
from names
inner join times using ({{ look }})
left join strata using ({{ look }})
