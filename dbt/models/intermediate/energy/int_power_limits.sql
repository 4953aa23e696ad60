{{ config(materialized='by_month', meta={'empty_without': ['stg_gpu_monitoring__samples', 'stg_prometheus__samples']}) }}
{%- set machine = 'usage_month, resource_id' %}
{%- set minute_us = 60000000 %}
{%- set hour_us = 3600000000 %}

with months as (
    {{ month_bounds() }}
    from ({{ months_to_build() }}) as months_to_build
),

nodes as (
    select distinct usage_month, resource_id, {{ machine_name('resource_id') }} as machine_name
    from {{ ref('int_machine_holdings') }}
    where resource_id is not null
),

stated as (
    {%- for model in ['stg_gpu_monitoring__samples', 'stg_prometheus__samples'] %}
    select
        {{ machine_name('host_id') }} as machine_name,
        sample_to_us,
        sample_to_us - 1 - (sample_to_us - 1) % {{ minute_us }} as minute_us,
        sample_from_us,
        power_limit_mw
    from {{ ref(model) }}
    where power_limit_mw is not null and host_id is not null
    {%- if not loop.last %}

    union all
    {% endif %}
    {%- endfor %}
),

-- of the chips of a machine the greatest limit: none of them draws more
minutes as (
    select
        nodes.usage_month,
        nodes.resource_id,
        stated.minute_us,
        min(least(stated.minute_us, coalesce(stated.sample_from_us, stated.minute_us))) as from_us,
        cast(max(stated.power_limit_mw) * 1000 as bigint) as limit_uw
    from stated
    inner join nodes on stated.machine_name = nodes.machine_name
    inner join months on nodes.usage_month = months.usage_month
    where stated.sample_to_us > months.month_from_us and stated.sample_to_us <= months.month_to_us
    group by nodes.usage_month, nodes.resource_id, stated.minute_us
),

-- a limit holds until another is stated, for an hour at the most
lasting as (
    select
        *,
        least(
            coalesce(lead(from_us) over (partition by {{ machine }} order by minute_us), minute_us + {{ hour_us }}),
            minute_us + {{ hour_us }}
        ) as to_us
    from minutes
),

marked as (
    select
        *,
        case
            when
                lag(to_us) over (partition by {{ machine }} order by minute_us) = from_us
                and lag(limit_uw) over (partition by {{ machine }} order by minute_us) = limit_uw
                then 0
            else 1
        end as is_first
    from lasting
),

numbered as (
    select
        *,
        sum(is_first) over (
            partition by {{ machine }} order by minute_us rows between unbounded preceding and current row
        ) as stretch
    from marked
)

select
    {{ machine }},
    min(from_us) as limited_from_us,
    max(to_us) as limited_to_us,
    max(limit_uw) as limit_uw
from numbered
group by {{ machine }}, stretch
