{%- set look = 'quarter_end, workload_key, kpi, factor_view, basis_class' %}
{%- set providers = [('trainium', 'AWS'), ('tpu', 'Google Cloud')] %}

with look_pairs as (
    {{ pairs_behind_looks("looks.kpi like 'cost%'", ['first_cluster_start']) }}
),

types as (
    {%- for family, provider in providers %}
    select distinct
        {{ look }},
        first_cluster_start,
        '{{ provider }}' as provider_name,
        ', ' || {{ family }}_accelerator || ', ' as accelerator_types
    from look_pairs
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

matched as (
    select distinct
        types.quarter_end, types.workload_key, types.kpi, types.factor_view, types.basis_class, types.provider_name,
        months.billing_currency, months.usage_month, months.accelerator_type, months.accelerator_cost, months.residual_cost
    from types
    inner join {{ ref('int_accelerator_months') }} as months
        on
            types.provider_name = months.provider_name
            and months.usage_month >= date_trunc('month', types.first_cluster_start) and months.usage_month < types.quarter_end
            and (
                months.accelerator_type = ''
                or strpos(types.accelerator_types, ', ' || months.accelerator_type || ', ') > 0
            )
),

currencies as (
    select
        {{ look }}, provider_name, billing_currency,
        case
            when sum(accelerator_cost) > 0 then cast(sum(residual_cost) as double) / cast(sum(accelerator_cost) as double)
        end as share
    from matched
    group by {{ look }}, provider_name, billing_currency
)

select
    {{ look }}
    {%- for family, provider in providers %},
    min(case when provider_name = '{{ provider }}' then share end) as {{ family }}_least_share,
    max(case when provider_name = '{{ provider }}' then share end) as {{ family }}_share
    {%- endfor %}
from currencies
group by {{ look }}
