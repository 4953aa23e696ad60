{%- set models = [
    'stg_xprof__samples', 'stg_gpu_monitoring__samples', 'stg_power_meters__readings', 'stg_prometheus__samples', 'stg_wandb__samples',
] %}
{%- set reaches = ['coalesce(sample_from_us, sample_to_us - 1)', 'sample_to_us - 1'] %}
{{ config(materialized='by_month', meta={'empty_without': models, 'days': 'usage_day', 'reaches': reaches}) }}
{#- of kinds that have counters of energy, the column that is one -#}
{%- set counters = {'stg_gpu_monitoring__samples': 'energy_mj', 'stg_power_meters__readings': 'counter_j'} %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

delivered as (
    {%- for model in models %}
    select
        {{ power_sample_columns() | join(', ') }},
        {%- if model == 'stg_prometheus__samples' %}
        spacing_us, is_moment,
        {%- else %}
        cast(null as bigint) as spacing_us,
        {{ 'is_moment' if model == 'stg_power_meters__readings' else 'sample_from_us is null and not is_sampled' }} as is_moment,
        {%- endif %}
        {%- if model in counters %}
        is_stuck, moment_from_us, moment_uw, case when is_counter then '{{ counters[model] }}' else 'power_w' end as column_name
        {%- elif model == 'stg_prometheus__samples' %}
        is_stuck, sample_from_us as moment_from_us, moment_uw, 'power_w' as column_name
        {%- else %}
        false as is_stuck, cast(null as bigint) as moment_from_us, cast(null as bigint) as moment_uw, 'power_w' as column_name
        {%- endif %}
    from {{ ref(model) }}
    where meter <> 'cloud_tpu'  -- use without power, which stg_tpu_monitoring__samples has
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
)

select
    months.usage_month,
    {{ day_of_month('delivered.sample_to_us') }} as usage_day,
    delivered.*
from delivered
inner join months on {{ is_power_of_month() }}
